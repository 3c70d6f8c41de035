"""What is planned."""

from __future__ import annotations

from dataclasses import dataclass

from sordino.errors import UsageError
from sordino.federated.regimes import REGIMES
from sordino.privacy.accounting.sampled_gaussian import accountant_for
from sordino.privacy.mechanisms.checks import checked_delta, checked_dimension, checked_epsilon

LOCAL_EPSILON = 25.5
"""Of an upload in regime central-local, if nothing else is said; about that of the paper."""

DIMENSION = 5000
"""Number of parameters, if nothing else is said."""

_MOST_USERS = 10**10


@dataclass(frozen=True)
class Question:
    """A federated training that somebody thinks of.

    Attributes:
        population: how many users there are.
        rounds: how many in all.
        delta: for all central releases together, and for each local one by Gaussian noise; below
            one over the population.
        cohort: how many users are expected in a round; None to find the smallest for `snr`.
        epsilon: of the whole training against those who see its models; in regime local, of each
            upload. Or None with a noise multiplier.
        noise_multiplier: standard deviation of the central noise over the norm uploaded; or None.
        regimes: some of `REGIMES`, in this order.
        dimension: number of parameters of the model.
        local_epsilon: of each upload in regime central-local.
        sampling: "poisson" or "fixed".
        relation: "add-remove" or "replace".
        snr: the wanted ratio of the mean update's norm to that of all noise in it; None for any.
        norm: of a usual update after clipping, as a part of the clip.
        alignment: norm of the mean update over that of single ones, above 0 and at most 1, where
            all point the same way.

    Raises:
        UsageError: the numbers are out of range, or contradict each other.

    Example:
        >>> Question(population=10**6, rounds=100, delta=1e-7, cohort=500, epsilon=2.0).dimension
        5000
    """

    population: int
    rounds: int
    delta: float
    cohort: int | None = None
    epsilon: float | None = None
    noise_multiplier: float | None = None
    regimes: tuple[str, ...] = REGIMES
    dimension: int = DIMENSION
    local_epsilon: float = LOCAL_EPSILON
    sampling: str = "poisson"
    relation: str = "add-remove"
    snr: float | None = None
    norm: float = 1.0
    alignment: float = 1.0

    def __post_init__(self) -> None:
        self._check_people()
        self._check_noise()
        checked_dimension(self.dimension)
        for what, value in (("norm", self.norm), ("alignment", self.alignment)):
            if not 0 < value <= 1:  # refuses NaN too
                raise UsageError(f"{what} {value} is not above 0 and at most 1")
        if self.snr is not None and not 0 < self.snr < 1e6:
            raise UsageError(f"an SNR of {self.snr} is not between 0 and a million")

    def _check_people(self) -> None:
        if not 1 <= self.population <= _MOST_USERS:
            raise UsageError(f"population {self.population} is not from 1 to {_MOST_USERS:,}")
        if self.rounds < 1:
            raise UsageError(f"rounds {self.rounds} is not a whole number from 1")
        if self.cohort is None:
            if self.snr is None:
                raise UsageError("how many users a round has is open: give a cohort, or an SNR")
        elif not 1 <= self.cohort <= self.population:
            raise UsageError(
                f"a cohort of {self.cohort:,} cannot come from {self.population:,} users: use a"
                f" cohort of at most {self.population:,}, or a larger population"
            )

    def _check_noise(self) -> None:
        for name in self.regimes:
            if name not in REGIMES:
                raise UsageError(f"regime {name!r} is not one of: {', '.join(REGIMES)}")
        checked_delta(self.delta)
        accountant_for(self.sampling, self.relation)
        checked_epsilon(self.local_epsilon)
        if self.epsilon is not None:
            checked_epsilon(self.epsilon)
        if (self.epsilon is None) == (self.noise_multiplier is None):
            raise UsageError("give either an epsilon or a noise multiplier")
        open_local = self.regimes == ("local",) or ("local" in self.regimes and self.cohort is None)
        if self.epsilon is None and open_local:
            raise UsageError(
                "a noise multiplier is of central noise: for regime local give the epsilon of an"
                " upload, or plan for another regime"
            )
