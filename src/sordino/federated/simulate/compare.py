"""Several regimes beside each other, each with several seeds."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sordino.errors import UsageError
from sordino.federated.model import save_model
from sordino.federated.plan import Question, planned
from sordino.federated.populations.base import Population
from sordino.federated.regimes import Regime
from sordino.federated.simulate.run import Plan, Round, Simulated, simulate
from sordino.federated.simulate.sampling import Sampling
from sordino.federated.statement import privacy_statement
from sordino.federated.task import ClassifierTask
from sordino.privacy.accounting.sampled_gaussian import noise_multiplier_for

COMPARED = ("none", "central", "central-local", "local", "local-laplace")
"""What can be compared: regimes, and the local one with Laplace noise."""

_PILOT_USERS, _PILOT_ROUNDS = 200, 3


@dataclass(frozen=True)
class Budget:
    """How much privacy there is to spend.

    Attributes:
        epsilon: of the whole training in the central regimes, of each upload in the local ones.
        delta: of the whole training, and of each upload with Gaussian noise.
        local_epsilon: of each upload in regime central-local.
        relation: "add-remove" or "replace".
        noise_multiplier: instead of what epsilon asks for in the central regimes.
    """

    epsilon: float = 2.0
    delta: float = 1e-6
    local_epsilon: float = 25.5
    relation: str = "add-remove"
    noise_multiplier: float | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    """What came of it.

    Attributes:
        trained: by name of what was compared, one for each seed.
        statements: of privacy, by the same names.
        chance: accuracy of the best constant guess, mean over seeds.
        facts: settings and the population of the first seed.
    """

    trained: Mapping[str, Sequence[Simulated]]
    statements: Mapping[str, Mapping[str, Any]]
    chance: float
    facts: Mapping[str, Any]

    def to_json(self) -> str:
        """All of it but the parameters."""
        content = {
            "facts": dict(self.facts),
            "chance": self.chance,
            "regimes": {
                name: {
                    "statement": dict(self.statements[name]),
                    "seeds": [_recorded(one) for one in runs],
                }
                for name, runs in self.trained.items()
            },
        }
        return json.dumps(content, indent=1, allow_nan=False) + "\n"


def regime_of(
    name: str,
    task: ClassifierTask,
    clip: float,
    plan: Plan,
    users: int,
    budget: Budget,
    *,
    norm: float | None = None,
) -> Regime:
    """A regime with the noise that a budget asks for.

    Args:
        name: one of `COMPARED`.
        task: what is learnt.
        clip: bound on the norm of an update.
        plan: rounds and cohorts.
        users: how many there are.
        budget: what may be spent.
        norm: what updates usually have, for "privunit"; the clip by default.

    Raises:
        UsageError: there is no such regime, or sampling and relation do not fit.
    """
    if name == "none":
        return Regime.unprotected(task.dimension, clip)
    if name in ("local", "local-laplace"):
        mechanism = "gaussian" if name == "local" else "laplace"
        return Regime.local(
            task.dimension, clip, budget.epsilon, delta=budget.delta, mechanism=mechanism
        )
    if name not in COMPARED:
        raise UsageError(f"regime {name!r} is not one of: {', '.join(COMPARED)}")
    z = budget.noise_multiplier
    if z is None:
        z = noise_multiplier_for(
            budget.epsilon,
            plan.sampling.rate(users),
            plan.rounds,
            budget.delta,
            sampling=plan.sampling.name,
            relation=budget.relation,
        )
    if name == "central":
        return Regime.central(task.dimension, clip, z)
    return Regime.central_local(task.dimension, clip, z, budget.local_epsilon, norm=norm)


def asked_cohort(
    population: Population,
    task: ClassifierTask,
    clip: float,
    rounds: int,
    budget: Budget,
    snr: float,
    *,
    sampling: str = "poisson",
    seed: int = 0,
) -> int:
    """The smallest cohort with which regime central has a signal as strong as is wanted.

    A pilot of a few rounds without noise tells how long updates are and how much they agree.

    Args:
        population: the users.
        task: what is learnt.
        clip: bound on the norm of an update.
        rounds: how many in all.
        budget: what may be spent.
        snr: the wanted ratio of the mean update's norm to its noise's.
        sampling: "poisson" or "fixed".
        seed: of the pilot.

    Raises:
        UsageError: no cohort of this population is large enough; the message says what would help.
    """
    pilot = Plan(Sampling("fixed", min(_PILOT_USERS, population.users)), _PILOT_ROUNDS)
    silent = Regime.unprotected(task.dimension, clip)
    seen = simulate(population, task, silent, pilot, seed).rounds
    alignment = float(np.mean([one.alignment for one in seen]))
    question = Question(
        population=population.users,
        rounds=rounds,
        delta=budget.delta,
        epsilon=None if budget.noise_multiplier is not None else budget.epsilon,
        noise_multiplier=budget.noise_multiplier,
        regimes=("central",),
        dimension=task.dimension,
        sampling=sampling,
        relation=budget.relation,
        snr=snr,
        norm=min(1.0, float(np.mean([one.norm for one in seen])) / clip),
        alignment=min(1.0, max(alignment, 1e-4)),
    )
    cohort = planned(question).regimes[0].cohort
    assert cohort is not None
    return cohort


def compare(
    population_of: Callable[[int], Population],
    task: ClassifierTask,
    clip: float,
    plan: Plan,
    budget: Budget,
    names: Sequence[str],
    seeds: Sequence[int],
    folder: Path,
    *,
    tell: Callable[[str, int, Round], None] | None = None,
) -> Comparison:
    """Train every regime with every seed, from where an earlier call was cut short.

    Args:
        population_of: the users for a seed.
        task: what is learnt.
        clip: bound on the norm of an update.
        plan: rounds and cohorts.
        budget: what may be spent.
        names: some of `COMPARED`.
        seeds: each decides its users, its initial parameters and its noise.
        folder: where models and checkpoints go.
        tell: is told of every round.

    Raises:
        UsageError: things do not fit together.
        OutputError: the folder cannot be written.
    """
    trained: dict[str, list[Simulated]] = {name: [] for name in names}
    statements: dict[str, Mapping[str, Any]] = {}
    chances: list[float] = []
    facts: dict[str, Any] = {}
    for seed in seeds:
        population = population_of(seed)
        chances.append(population.held_out.chance)
        facts = facts or population.facts()
        # All of them before the first round: a budget that one cannot keep leaves nothing behind.
        regimes = {
            name: regime_of(name, task, clip, plan, population.users, budget) for name in names
        }
        for name, regime in regimes.items():
            if name not in statements:
                statements[name] = _stated(regime, plan, population.users, budget)
        for name, regime in regimes.items():

            def told(one: Round, name: str = name, seed: int = seed) -> None:
                if tell is not None:
                    tell(name, seed, one)

            checkpoint = folder / "checkpoints" / f"{name}-{seed}.npz"
            done = simulate(population, task, regime, plan, seed, checkpoint=checkpoint, tell=told)
            trained[name].append(done)
            model = folder / "models" / f"{name}-{seed}.npz"
            save_model(model, task, done.parameters, statements[name])
    settings = {
        "population": facts,
        "task": task.terms(),
        "clip": clip,
        "cohort": plan.sampling.cohort,
        "sampling": plan.sampling.name,
        "rounds": plan.rounds,
        "optimiser": plan.optimiser.terms(),
        "budget": asdict(budget),
        "seeds": list(seeds),
    }
    return Comparison(trained, statements, float(np.mean(chances)), settings)


def _stated(regime: Regime, plan: Plan, users: int, budget: Budget) -> Mapping[str, Any]:
    return privacy_statement(
        regime,
        population=users,
        sampling_rate=plan.sampling.rate(users),
        rounds=plan.rounds,
        delta=budget.delta,
        relation=budget.relation,
        sampling=plan.sampling.name,
        simulation=True,
    )


def _recorded(one: Simulated) -> dict[str, Any]:
    rounds = [
        {**asdict(each), "snr": each.snr if math.isfinite(each.snr) else "inf"}
        for each in one.rounds
    ]
    return {"seed": one.seed, "start": one.start, "rounds": rounds}
