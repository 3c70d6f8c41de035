"""The smallest cohort, and what else would make a plan possible."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from sordino.federated.plan.signal import Signal
from sordino.privacy.accounting.rounding import rounded_up
from sordino.privacy.accounting.sampled_gaussian import (
    SMALLEST_NOISE,
    Accountant,
    accountant_for,
)
from sordino.privacy.mechanisms.calibration import gaussian_delta, turning_point

_MOST_USERS = 10**10
_FINENESS = 1.005
_DIGITS = 3
# Noise for more has no effect.
_MOST_EPSILON = 1e6


@dataclass(frozen=True)
class Wish:
    """A ratio of signal to noise within a budget.

    Attributes:
        signal: of the regime.
        snr: the wanted ratio.
        population: how many users there are.
        rounds: how many in all.
        delta: of the central guarantee.
        epsilon: of the whole training; None where the noise multiplier is fixed.
        noise_multiplier: the fixed one; None where it follows from epsilon.
        sampling: "poisson" or "fixed".
        relation: "add-remove" or "replace".
    """

    signal: Signal
    snr: float
    population: int
    rounds: int
    delta: float
    epsilon: float | None = None
    noise_multiplier: float | None = None
    sampling: str = "poisson"
    relation: str = "add-remove"

    def granted(self, cohort: int, accountant: Accountant = "pld") -> bool:
        """Whether a cohort suffices."""
        noise = self.signal.most_noise(cohort, self.snr)
        if self.signal.bound is None:
            return noise > 0
        if self.noise_multiplier is not None:
            return noise >= self.noise_multiplier
        assert self.epsilon is not None
        return self.epsilon_needed(cohort, accountant) <= self.epsilon

    def epsilon_needed(self, cohort: int, accountant: Accountant = "pld") -> float:
        """Epsilon of the whole training with as much noise as the ratio allows."""
        noise = self.signal.most_noise(cohort, self.snr)
        if noise < SMALLEST_NOISE:
            return math.inf
        spent = accountant_for(self.sampling, self.relation)
        rate = cohort / self.population
        return spent(noise, rate, self.rounds, self.delta, accountant=accountant)


def smallest_cohort(wish: Wish) -> int | None:
    """The smallest cohort that grants a wish, to half a per cent; None where all users do not.

    Args:
        wish: what is wanted.

    Example:
        >>> smallest_cohort(Wish(Signal(1.0, 1.0, 100, local_square=50.0), 2.0, 1000, 10, 1e-6))
        200
    """
    # Where it is quick, what Renyi divergences say is a start; they are never better.
    quick: Accountant = "rdp" if wish.sampling == "poisson" else "pld"
    enough = _first(lambda cohort: wish.granted(cohort, quick), wish.population)
    if enough is None:
        if not wish.granted(wish.population):
            return None
        enough = wish.population
    return _narrowed(wish.granted, enough)


def most_rounds(wish: Wish, cohort: int) -> int | None:
    """The largest number of rounds, below that of a wish, with which a cohort suffices."""

    def too_many(rounds: int) -> bool:
        return not replace(wish, rounds=rounds).granted(cohort)

    if too_many(1):
        return None
    few, many = 1, wish.rounds
    while many > max(few + 1, few * _FINENESS):
        middle = max(few + 1, min(many - 1, round(math.sqrt(few * many))))
        few, many = (few, middle) if too_many(middle) else (middle, many)
    return few


def smallest_population(wish: Wish, cohort: int) -> int | None:
    """The smallest population, above that of a wish, with which a cohort suffices."""

    def suffices(users: int) -> bool:
        return replace(wish, population=users).granted(cohort)

    enough = _first(suffices, _MOST_USERS, wish.population)
    return None if enough is None else _narrowed(suffices, enough, wish.population)


def ways_out(wish: Wish, cohort: int, wider: int | None) -> list[str]:
    """What would make a cohort's plan possible, each for itself; empty where nothing here would.

    Args:
        wish: what is wanted.
        cohort: which does not suffice.
        wider: what `smallest_cohort` says.
    """
    ways = [] if wider is None else [f"a cohort of {_up(wider):,}"]
    if wish.signal.bound is None:
        return [*ways, f"epsilon {_local_epsilon(wish, cohort):g} of an upload"]
    if wish.epsilon is None:
        return ways
    epsilon = wish.epsilon_needed(cohort)
    if math.isfinite(epsilon):
        ways.append(f"epsilon {rounded_up(epsilon, _DIGITS):g}")
    rounds = most_rounds(wish, cohort)
    if rounds is not None:
        ways.append(f"at most {rounds:,} rounds")
    users = smallest_population(wish, cohort)
    if users is not None:
        ways.append(f"a population of {_up(users):,}")
    return ways


def _first(suffices: Callable[[int], bool], most: int, start: int = 1) -> int | None:
    """The first number that suffices among a start and its doubles, up to the most."""
    number = start
    while not suffices(number):
        if number >= most:
            return None
        number = min(2 * number, most)
    return number


def _narrowed(suffices: Callable[[int], bool], enough: int, least: int = 1) -> int:
    """A number that suffices, hardly above one that does not."""
    too_few = enough
    while too_few > least and suffices(too_few):
        enough, too_few = too_few, max(least, too_few // 2)
    if too_few == least and suffices(least):
        return least
    while enough > max(too_few + 1, too_few * _FINENESS):
        middle = max(too_few + 1, min(enough - 1, round(math.sqrt(enough * too_few))))
        too_few, enough = (too_few, middle) if suffices(middle) else (middle, enough)
    return enough


def _local_epsilon(wish: Wish, cohort: int) -> float:
    """Epsilon of an upload by Gaussian noise with which a cohort suffices."""
    signal = wish.signal
    deviation = signal.mean_norm * math.sqrt(cohort / signal.dimension) / wish.snr
    # Any vector within the clip against any other: the noise is for twice the clip.
    epsilon = turning_point(
        lambda wanted: gaussian_delta(wanted, deviation / 2) <= wish.delta, 0.0, _MOST_EPSILON
    )
    return rounded_up(epsilon, _DIGITS)


def _up(number: int) -> int:
    """A number rounded up to a few digits."""
    unit = int(10 ** max(0, len(str(number)) - _DIGITS))
    return -(-number // unit) * unit
