"""Epsilon of rounds in which a random part of the users is summed up with Gaussian noise.

The noise multiplier z is the standard deviation of the noise in the sum over the clip: the bound
on the norm of what one user adds. It is the same number under both relations; that replacing a user
moves the sum by up to twice the clip is counted here.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal, Protocol

import numpy as np

from sordino.errors import UsageError
from sordino.privacy.accounting.rounding import rounded_up
from sordino.privacy.mechanisms.checks import checked_delta, checked_epsilon

Accountant = Literal["pld", "rdp"]

ACCOUNTANTS = ("pld", "rdp")
"""Privacy loss distributions, which are tight, and Renyi divergences, the papers' moments."""

SAMPLINGS = ("poisson", "fixed")
"""Every user with the same chance; or always the same number of users, without replacement."""

RELATIONS = ("add-remove", "replace")
"""What two populations that must look alike differ in: one user more, or another user."""

SMALLEST_NOISE, LARGEST_NOISE = 0.05, 1e6
"""Between these noise multipliers epsilon is computed."""

_SMALLEST_DELTA = 1e-12
_MOST_ROUNDS = 10**7
_NOISE_DIGITS = 4
_STEP = math.log(1.5)
# Losses are rounded up to multiples of an interval. It has to be small beside how much the loss
# of a round varies, unless that takes too many points.
_PART_OF_DEVIATION = 0.2
_MOST_POINTS = 20_000
_WIDEST_INTERVAL = 1e-2


class EpsilonOf(Protocol):
    """What `epsilon_of` and `epsilon_of_fixed_size` are."""

    def __call__(
        self,
        noise_multiplier: float,
        sampling_rate: float,
        rounds: int,
        delta: float,
        *,
        accountant: Accountant = "pld",
    ) -> float:
        """Epsilon of all rounds together."""
        ...


def epsilon_of(
    noise_multiplier: float,
    sampling_rate: float,
    rounds: int,
    delta: float,
    *,
    accountant: Accountant = "pld",
) -> float:
    """Epsilon of all rounds together; users are drawn independently, and one is added or removed.

    Args:
        noise_multiplier: standard deviation of the noise in the sum over the clip, from 0.05.
        sampling_rate: chance of each user to be in a round, above 0 and at most 1.
        rounds: from 1.
        delta: from 1e-12 to below 1.
        accountant: "pld" (tight) or "rdp" (what papers call the moments accountant).

    Returns:
        Rounded up to six digits, of an upper bound.

    Raises:
        UsageError: an argument is out of range, or the package dp-accounting is missing.

    Example:
        >>> round(epsilon_of(0.6, 400 / 1e6, 1000, 1e-6, accountant="rdp"), 3)
        2.513

    Source: A. Koskela, J. Jälkö and A. Honkela, "Computing tight differential privacy guarantees
    using FFT", 2020; I. Mironov, K. Talwar and L. Zhang, "Renyi differential privacy of the sampled
    Gaussian mechanism", 2019; both as in Google's dp-accounting.
    """
    _check(noise_multiplier, sampling_rate, rounds, delta, accountant)
    accounting = _dp_accounting()
    if accountant == "rdp":
        gaussian = accounting.GaussianDpEvent(noise_multiplier)
        event = accounting.PoissonSampledDpEvent(sampling_rate, gaussian)
        return _renyi(event, rounds, delta, accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    with np.errstate(all="ignore"):
        one = accounting.pld.privacy_loss_distribution.from_gaussian_mechanism(
            noise_multiplier,
            sampling_prob=sampling_rate,
            value_discretization_interval=_interval(noise_multiplier, sampling_rate),
            use_connect_dots=True,
        )
        return _composed(one, rounds, delta)


def epsilon_of_fixed_size(
    noise_multiplier: float,
    sampling_rate: float,
    rounds: int,
    delta: float,
    *,
    accountant: Accountant = "pld",
) -> float:
    """Epsilon of all rounds together; a round has a fixed number of users, and one is replaced.

    Args:
        noise_multiplier: standard deviation of the noise in the sum over the clip, from 0.05.
        sampling_rate: the fixed number over the number of users, above 0 and at most 1.
        rounds: from 1.
        delta: from 1e-12 to below 1.
        accountant: "pld" or "rdp".

    Returns:
        Rounded up to six digits, of an upper bound. More than for `epsilon_of`: a replaced user
        moves the sum twice as far.

    Raises:
        UsageError: an argument is out of range, or the package dp-accounting is missing.

    Example:
        >>> epsilon_of_fixed_size(4.0, 0.01, 100, 1e-6) > epsilon_of(4.0, 0.01, 100, 1e-6)
        True

    Source: B. Balle, G. Barthe and M. Gaboardi, "Privacy amplification by subsampling", 2018,
    theorem 11; Y. Zhu, J. Dong and Y.-X. Wang, "Optimal accounting of differential privacy via
    characteristic function", 2022, on composing it; Y.-X. Wang, B. Balle and S. Kasiviswanathan,
    "Subsampled Renyi differential privacy and analytical moments accountant", 2019.
    """
    _check(noise_multiplier, sampling_rate, rounds, delta, accountant)
    accounting = _dp_accounting()
    if accountant == "rdp":
        gaussian = accounting.GaussianDpEvent(noise_multiplier / 2)
        event = accounting.SampledWithoutReplacementDpEvent(1.0, sampling_rate, gaussian)
        return _renyi(event, rounds, delta, accounting.NeighboringRelation.REPLACE_ONE)
    with np.errstate(all="ignore"):
        return _composed(_fixed_size_losses(noise_multiplier / 2, sampling_rate), rounds, delta)


def accountant_for(sampling: str, relation: str) -> EpsilonOf:
    """The function that counts what a sampler does; the others are refused.

    Args:
        sampling: one of `SAMPLINGS`.
        relation: one of `RELATIONS`.

    Raises:
        UsageError: no accountant here holds for both together.

    Example:
        >>> accountant_for("poisson", "add-remove").__name__
        'epsilon_of'
    """
    for value, known, what in (
        (sampling, SAMPLINGS, "sampling"),
        (relation, RELATIONS, "relation"),
    ):
        if value not in known:
            raise UsageError(f"{what} {value!r} is not one of: {', '.join(known)}")
    if (sampling, relation) == ("poisson", "add-remove"):
        return epsilon_of
    if (sampling, relation) == ("fixed", "replace"):
        return epsilon_of_fixed_size
    raise UsageError(
        f"{sampling} sampling is not accounted under {relation}: use poisson with add-remove, or"
        " fixed with replace"
    )


def noise_multiplier_for(
    epsilon: float,
    sampling_rate: float,
    rounds: int,
    delta: float,
    *,
    accountant: Accountant = "pld",
    sampling: str = "poisson",
    relation: str = "add-remove",
) -> float:
    """The least noise multiplier with which all rounds together keep to an epsilon.

    Args:
        epsilon: above 0.
        sampling_rate: above 0 and at most 1.
        rounds: from 1.
        delta: from 1e-12 to below 1.
        accountant: "pld" or "rdp".
        sampling: one of `SAMPLINGS`.
        relation: one of `RELATIONS`.

    Returns:
        Rounded up to four digits: its epsilon is at most the given one.

    Raises:
        UsageError: an argument is out of range, or sampling and relation do not fit.

    Example:
        >>> z = noise_multiplier_for(2.0, 0.01, 100, 1e-6, accountant="rdp")
        >>> epsilon_of(z, 0.01, 100, 1e-6, accountant="rdp") <= 2
        True
    """
    checked_epsilon(epsilon)
    spent = accountant_for(sampling, relation)

    @cache
    def excess(log_noise: float) -> float:
        noise = min(max(math.exp(log_noise), SMALLEST_NOISE), LARGEST_NOISE)
        found = spent(noise, sampling_rate, rounds, delta, accountant=accountant)
        return math.log(min(max(found, 1e-9), 1e9) / epsilon)

    start = 1.0
    if accountant == "pld" and sampling == "poisson":
        # Quick, and not far above.
        start = noise_multiplier_for(epsilon, sampling_rate, rounds, delta, accountant="rdp")
    log_noise = _root(excess, math.log(start))
    if log_noise <= math.log(SMALLEST_NOISE):
        return SMALLEST_NOISE
    noise = rounded_up(math.exp(log_noise), _NOISE_DIGITS)
    while excess(math.log(noise)) > 0:
        if noise >= LARGEST_NOISE:
            raise UsageError(
                f"epsilon {epsilon:g} over {rounds} rounds needs a noise multiplier above"
                f" {LARGEST_NOISE:g}: allow a larger epsilon or fewer rounds"
            )
        noise = rounded_up(noise * (1 + 10.0**-_NOISE_DIGITS), _NOISE_DIGITS)
    return noise


def _root(excess: Callable[[float], float], start: float) -> float:
    """Where a falling function of the noise's logarithm is about 0: a bracket, then Brent."""
    from scipy.optimize import brentq

    low, high = math.log(SMALLEST_NOISE), math.log(LARGEST_NOISE)
    below = above = start
    if excess(start) > 0:
        while above < high and excess(above) > 0:
            below, above = above, min(above + _STEP, high)
        if excess(above) > 0:
            return above
    else:
        while below > low and excess(below) <= 0:
            above, below = below, max(below - _STEP, low)
        if excess(below) <= 0:
            return below
    return float(brentq(excess, below, above, xtol=10.0**-_NOISE_DIGITS / 2))


def _check(z: float, rate: float, rounds: int, delta: float, accountant: str) -> None:
    if not SMALLEST_NOISE <= z <= LARGEST_NOISE:  # refuses NaN too
        raise UsageError(
            f"noise multiplier {z:g} is not between {SMALLEST_NOISE:g} and {LARGEST_NOISE:g}"
        )
    if not 0 < rate <= 1:
        raise UsageError(f"sampling rate {rate:g} is not above 0 and at most 1")
    if not 1 <= rounds <= _MOST_ROUNDS or rounds % 1 != 0:
        raise UsageError(f"rounds {rounds} is not a whole number from 1 to {_MOST_ROUNDS:,}")
    if checked_delta(delta) < _SMALLEST_DELTA:
        raise UsageError(f"delta {delta:g} is below {_SMALLEST_DELTA:g}, where sums are not exact")
    if accountant not in ACCOUNTANTS:
        raise UsageError(f"accountant {accountant!r} is not one of: {', '.join(ACCOUNTANTS)}")


def _dp_accounting() -> Any:
    try:
        import dp_accounting.pld.pld_pmf
        import dp_accounting.pld.privacy_loss_distribution
        import dp_accounting.pld.privacy_loss_mechanism
        import dp_accounting.rdp
    except ImportError as error:
        raise UsageError(
            f"accounting needs the package dp-accounting ({error}):"
            ' pip install "sordino[federated]"'
        ) from error
    return dp_accounting


def _renyi(event: Any, rounds: int, delta: float, relation: Any) -> float:
    accounting = _dp_accounting()
    accountant = accounting.rdp.RdpAccountant(neighboring_relation=relation)
    with np.errstate(all="ignore"), _quiet():
        accountant.compose(accounting.SelfComposedDpEvent(event, int(rounds)))
        return rounded_up(float(accountant.get_epsilon(delta)))


def _composed(losses: Any, rounds: int, delta: float) -> float:
    all_losses = losses.self_compose(int(rounds)) if rounds > 1 else losses
    return rounded_up(max(0.0, float(all_losses.get_epsilon_for_delta(delta))))


def _fixed_size_losses(z: float, rate: float) -> Any:
    """Losses of one round of `epsilon_of_fixed_size`; z is over how far a replaced user moves.

    From an epsilon of 0, delta is that of the sum with a sampled user against the sum without;
    below 0, with the two exchanged. Both orders of any two neighbours keep below this curve.
    """
    pld = _dp_accounting().pld
    kinds = pld.privacy_loss_mechanism.AdjacencyType
    removed, added = (
        pld.privacy_loss_mechanism.GaussianPrivacyLoss(
            z, sampling_prob=rate, adjacency_type=adjacency
        )
        for adjacency in (kinds.REMOVE, kinds.ADD)
    )
    interval = _interval(z, rate)
    highest = math.ceil(removed.connect_dots_bounds().epsilon_upper / interval)
    lowest = math.floor(added.connect_dots_bounds().epsilon_lower / interval)
    steps = np.arange(lowest, highest + 1)
    epsilons = steps * interval
    deltas = np.where(
        steps >= 0,
        removed.get_delta_for_epsilon(np.maximum(epsilons, 0.0)),
        added.get_delta_for_epsilon(np.minimum(epsilons, 0.0)),
    )
    # Rounding must not make a falling curve rise.
    falling = np.maximum.accumulate(deltas[::-1])[::-1]
    losses = pld.pld_pmf.create_pmf_pessimistic_connect_dots(interval, steps, falling)
    return pld.privacy_loss_distribution.PrivacyLossDistribution(losses)


def _interval(z: float, rate: float) -> float:
    """What losses of one round are rounded to multiples of."""
    deviation = rate * math.sqrt(math.expm1(min(z**-2, 100.0)))
    # About twelve standard deviations of the noise.
    largest = math.log1p(rate * math.expm1(min(0.5 * z**-2 + 12 / z, 700.0)))
    return max(min(_PART_OF_DEVIATION * deviation, _WIDEST_INTERVAL), largest / _MOST_POINTS)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings of Renyi orders that are left out, which only makes epsilon larger."""
    logger = logging.getLogger("absl")
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before
