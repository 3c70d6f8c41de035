"""Teachers for distillation: a classifier from limited central data, and one from users."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.federated.optimiser import ServerOptimiser
from sordino.federated.populations.base import HeldOut
from sordino.federated.populations.partition import by_speaker, resampled
from sordino.federated.populations.vectors import VectorPopulation
from sordino.federated.regimes import Regime
from sordino.federated.simulate.run import Plan, simulate
from sordino.federated.simulate.sampling import Sampling
from sordino.federated.task import ClassifierTask, Examples
from sordino.training.distil.data import SideData

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]

_CENTRAL_ROUNDS = 60


@dataclass(frozen=True)
class FederatedTraining:
    """How a teacher is trained on users.

    Attributes:
        regime: "none", "local", "central" or "central-local".
        users: how many; each is one of the speakers with utterances drawn anew.
        cohort: expected users in a round.
        rounds: how many.
        epsilon: of the central regimes for the whole training, of the local one for each upload.
        local_epsilon: of each upload under "central-local".
        delta: of the guarantee.
        clip: largest norm of an update.
        optimiser: of the server.

    Raises:
        UsageError: a number is out of range.
    """

    regime: str = "central-local"
    users: int = 20_000
    cohort: int = 500
    rounds: int = 20
    epsilon: float = 2.0
    local_epsilon: float = 25.5
    delta: float = 1e-6
    clip: float = 0.5
    optimiser: ServerOptimiser = field(default_factory=ServerOptimiser)

    def __post_init__(self) -> None:
        if self.cohort > self.users:
            raise UsageError(f"a cohort of {self.cohort} cannot be drawn from {self.users} users")

    def built(self, dimension: int) -> Regime:
        """The regime for so many parameters, its central noise by the accountant."""
        if self.regime == "none":
            return Regime.unprotected(dimension, self.clip)
        if self.regime == "local":
            return Regime.local(dimension, self.clip, self.epsilon, delta=self.delta)
        from sordino.privacy.accounting.sampled_gaussian import noise_multiplier_for

        rate = self.cohort / self.users
        noise = noise_multiplier_for(self.epsilon, rate, self.rounds, self.delta)
        if self.regime == "central":
            return Regime.central(dimension, self.clip, noise)
        if self.regime == "central-local":
            return Regime.central_local(dimension, self.clip, noise, self.local_epsilon)
        raise UsageError(
            f"there is no regime {self.regime!r}; there are none, local, central, central-local"
        )


def central_teacher(task: ClassifierTask, data: SideData, rows: Bools, seed: int) -> Floats:
    """Parameters from labels that are known centrally; each speaker counts the same.

    Args:
        task: what is learnt.
        data: vectors and labels.
        rows: which of them are known, shape (n,).
        seed: of the start.
    """
    examples = _examples(data, rows)
    parameters = task.initial(seed)
    for _ in range(_CENTRAL_ROUNDS):
        parameters = parameters + task.updates(parameters, examples).mean(axis=0)
    return np.asarray(parameters, dtype=np.float32)


def federated_teacher(
    task: ClassifierTask,
    data: SideData,
    training: FederatedTraining,
    seed: int,
    initial: npt.ArrayLike,
) -> Floats:
    """Parameters from users whose labels never leave them, by simulation.

    Args:
        task: what is learnt.
        data: vectors and labels; users are all who are not tried and have a label.
        training: how.
        seed: decides everything, noise too: a simulation guarantees nothing.
        initial: parameters to begin with, as the paper begins with the best central model.
    """
    rows = np.flatnonzero(data.users)
    speakers = data.speakers[rows].tolist()
    generator = np.random.default_rng([seed, 2])
    examples = int(np.median(np.unique(speakers, return_counts=True)[1]))
    users = resampled(speakers, training.users, max(2, examples), generator)
    held = np.flatnonzero(data.tried & (data.labels >= 0))
    if not len(held):
        held = rows
    population = VectorPopulation(
        data.vectors[rows],
        data.labels[rows],
        data.classes,
        users,
        HeldOut(data.vectors[held], data.labels[held], np.ones(len(held))),
    )
    plan = Plan(Sampling("poisson", training.cohort), training.rounds, training.optimiser)
    regime = training.built(task.dimension)
    return simulate(population, task, regime, plan, seed, initial=initial).parameters


def known_centrally(data: SideData, share: float, seed: int) -> Bools:
    """Rows of the few users whose labels are known centrally: a share of each class's speakers.

    Args:
        data: vectors and labels.
        share: of the speakers of each class, above 0; at least one.
        seed: of the draw.

    Raises:
        UsageError: the share is out of range.
    """
    if not 0 < share <= 1:
        raise UsageError(f"the share of users who are known centrally is {share}; expected 0 to 1")
    generator = np.random.default_rng([seed, 3])
    chosen: list[str] = []
    for label in range(len(data.classes)):
        names = np.unique(data.speakers[data.users & (data.labels == label)])
        chosen += generator.permutation(names)[: max(1, round(share * len(names)))].tolist()
    known: Bools = data.users & np.isin(data.speakers, chosen)
    return known


def _examples(data: SideData, rows: Bools) -> Examples:
    places = np.flatnonzero(rows)
    return Examples.stacked(
        [
            (data.vectors[places[own]], data.labels[places[own]])
            for own in by_speaker(data.speakers[places].tolist())
        ]
    )
