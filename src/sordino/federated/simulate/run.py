"""One simulated training: rounds over a population, and what was measured in each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.federated.files import load_arrays, save_arrays
from sordino.federated.optimiser import ServerOptimiser
from sordino.federated.populations.base import Population
from sordino.federated.regimes import Regime
from sordino.federated.server import Server
from sordino.federated.simulate.sampling import Sampling
from sordino.federated.simulate.totals import uploaded_sum
from sordino.federated.task import ClassifierTask
from sordino.privacy.randomness import SeededRandomness

_KIND = "federated simulation"
# Numbers of updates that are held at a time: memory stays flat however large a cohort is.
_BLOCK = 2**23


@dataclass(frozen=True)
class Plan:
    """What all simulated trainings of a comparison have in common.

    Attributes:
        sampling: who takes part.
        rounds: how many.
        optimiser: how the model moves.
    """

    sampling: Sampling
    rounds: int
    optimiser: ServerOptimiser = field(default_factory=ServerOptimiser)

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise UsageError(f"training has at least 1 round, not {self.rounds}")


@dataclass(frozen=True)
class Round:
    """What was measured in a round; only a simulation sees it.

    Attributes:
        round: its number, from 0.
        users: how many took part.
        refused: of whom the update was NaN or infinite.
        accuracy: on the held-out examples, after the round.
        clip: of the round.
        norm: mean norm of updates after clipping.
        alignment: norm of the mean update over `norm`, as `sordino federate plan` takes it, without
            what a mean of few has by chance: the root of the mean cosine of two users' updates.
        signal: norm of the mean update before any noise.
        noise: norm of what noise added to it.
        noise_expected: what the regime says it would be.
    """

    round: int
    users: int
    refused: int
    accuracy: float
    clip: float
    norm: float
    alignment: float
    signal: float
    noise: float
    noise_expected: float

    @property
    def snr(self) -> float:
        """Norm of the mean update over that of its noise; infinite without noise."""
        return self.signal / self.noise if self.noise > 1e-6 * self.signal else float("inf")


@dataclass(frozen=True, eq=False)
class Simulated:
    """What a simulated training ended in.

    Attributes:
        rounds: what was measured.
        parameters: of the model.
        seed: that decided everything.
        start: accuracy before the first round.
    """

    rounds: tuple[Round, ...]
    parameters: npt.NDArray[np.float32]
    seed: int
    start: float


def simulate(
    population: Population,
    task: ClassifierTask,
    regime: Regime,
    plan: Plan,
    seed: int,
    *,
    initial: npt.ArrayLike | None = None,
    checkpoint: Path | None = None,
    every: int = 10,
    tell: Callable[[Round], None] | None = None,
) -> Simulated:
    """Train on a population under a regime.

    All randomness follows from the seed, round by round: a training that goes on from its
    checkpoint learns what it would have learnt.

    Args:
        population: the users.
        task: what is learnt.
        regime: what updates go through.
        plan: rounds and cohorts.
        seed: from 0.
        initial: parameters to start with; those of the seed by default.
        checkpoint: where to go on from if it is there, and to be able to; ends in ".npz".
        every: so many rounds a checkpoint is written.
        tell: is told of every round.

    Raises:
        UsageError: things do not fit together, or the checkpoint is of another training.
        OutputError: the checkpoint cannot be written.

    Example:
        >>> from sordino.federated.populations.synthetic import SyntheticPopulation
        >>> population = SyntheticPopulation(users=500, inputs=8, classes=2)
        >>> task = ClassifierTask(8, population.classes, hidden=())
        >>> plan = Plan(Sampling("poisson", 50), rounds=3)
        >>> regime = Regime.central(task.dimension, clip=1.0, noise_multiplier=0.5)
        >>> done = simulate(population, task, regime, plan, seed=1)
        >>> done.rounds[-1].accuracy > 0.8
        True
    """
    if task.inputs != population.inputs or task.classes != population.classes:
        raise UsageError("the task is for other vectors or classes than those of the population")
    plan.sampling.rate(population.users)
    stamp = _stamp(population, task, regime, plan, seed)
    start = np.asarray(task.initial(seed) if initial is None else initial, dtype=np.float32)
    cohort = plan.sampling.cohort
    rounds: list[Round] = []
    server = Server(start, regime, cohort, optimiser=plan.optimiser)
    if checkpoint is not None and checkpoint.exists():
        server, rounds = _resumed(checkpoint, stamp, regime, plan)
    while server.round < plan.rounds:
        rounds.append(_round(population, task, server, plan, seed))
        if tell is not None:
            tell(rounds[-1])
        last = server.round == plan.rounds
        if checkpoint is not None and (last or server.round % every == 0):
            settings = {"kind": _KIND, "stamp": stamp, "rounds": [asdict(one) for one in rounds]}
            save_arrays(checkpoint, {**settings, "clip": server.regime.clip}, server.state())
    return Simulated(tuple(rounds), server.parameters, seed, _accuracy(population, task, start))


def _round(
    population: Population, task: ClassifierTask, server: Server, plan: Plan, seed: int
) -> Round:
    """Draw users, train, protect, add up, close, measure."""
    regime, cohort = server.regime, plan.sampling.cohort
    number = server.round
    # A generator of its own for each round, so that a resumed training draws the same.
    randomness = SeededRandomness((seed << 64) + number)
    server.use(randomness)
    chosen = plan.sampling.draw(population.users, randomness)
    server.open()
    clean = np.zeros(task.dimension)
    norms, squares, refused = 0.0, 0.0, 0
    size = max(1, _BLOCK // task.dimension)
    for begin in range(0, len(chosen), size):
        updates = task.updates(server.parameters, population.cohort(chosen[begin : begin + size]))
        sound = np.isfinite(updates).all(axis=1)
        refused += int((~sound).sum())
        updates = updates[sound]
        total, below = uploaded_sum(regime, updates, randomness)
        server.add(total, below, len(updates))
        scales = np.linalg.norm(updates, axis=1)
        kept = np.minimum(scales, regime.clip)
        clean += (kept / np.where(scales > 0, scales, 1.0)).astype(np.float32) @ updates
        norms += float(kept.sum())
        squares += float(np.square(kept).sum())
    report = server.close()
    counted = len(chosen) - refused
    signal = clean / cohort
    norm = norms / max(counted, 1)
    agreed, pairs = float(np.square(clean).sum()) - squares, norms**2 - squares
    return Round(
        round=number,
        users=len(chosen),
        refused=refused,
        accuracy=_accuracy(population, task, server.parameters),
        clip=regime.clip,
        norm=norm,
        alignment=math.sqrt(max(0.0, agreed / pairs)) if pairs > 0 else 0.0,
        signal=float(np.linalg.norm(signal)),
        noise=float(np.linalg.norm(report.mean - signal)),
        noise_expected=regime.noise_norm(cohort, reports=counted, norm=norm),
    )


def _accuracy(
    population: Population, task: ClassifierTask, parameters: npt.NDArray[np.float32]
) -> float:
    held_out = population.held_out
    if not np.isfinite(parameters).all():
        return 0.0
    return held_out.accuracy(task.logits(parameters, held_out.vectors).argmax(axis=1))


def _stamp(
    population: Population, task: ClassifierTask, regime: Regime, plan: Plan, seed: int
) -> dict[str, Any]:
    """What a checkpoint has to agree with."""
    return {
        "population": population.facts(),
        "task": task.terms(),
        "regime": regime.terms(),
        "sampling": asdict(plan.sampling),
        "rounds": plan.rounds,
        "optimiser": plan.optimiser.terms(),
        "seed": seed,
    }


def _resumed(
    checkpoint: Path, stamp: Mapping[str, Any], regime: Regime, plan: Plan
) -> tuple[Server, list[Round]]:
    import json

    settings, arrays = load_arrays(checkpoint, _KIND)
    if settings.get("stamp") != json.loads(json.dumps(stamp)):
        raise UsageError(
            f"{checkpoint}: is of a training with other settings; choose another folder"
        )
    rounds = [Round(**one) for one in settings["rounds"]]
    server = Server.restored(
        arrays,
        regime.with_clip(settings["clip"]),
        plan.sampling.cohort,
        len(rounds),
        optimiser=plan.optimiser,
    )
    return server, rounds
