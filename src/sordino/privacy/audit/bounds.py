"""What counts of outcomes prove about epsilon, with a stated probability of a false alarm."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError

FloatArray = npt.NDArray[np.float64]
Bound = Callable[[FloatArray, FloatArray], FloatArray]
"""What is proved where an event has at least the first rate on one input and at most the second
on the other; elementwise, never below 0."""

_HALVINGS = 60


def rate_at_least(hits: npt.ArrayLike, trials: int, false_alarm: float) -> FloatArray:
    """The smallest rate that makes so many hits as probable as `false_alarm` (Clopper, Pearson).

    Args:
        hits: numbers of trials with the outcome, 0 to `trials`, any shape.
        trials: at least 1.
        false_alarm: probability that the bound lies above the true rate, in (0, 1).

    Returns:
        Rates, of the same shape.

    Raises:
        UsageError: an argument is out of its range.

    Example:
        >>> round(float(rate_at_least(10, 10, 0.05)), 4)
        0.7411

    Source: C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits", 1934.
    """
    from scipy.special import betaincinv

    counts = _counts(hits, trials, false_alarm)
    inner = betaincinv(np.maximum(counts, 1), trials - counts + 1, false_alarm)
    return np.where(counts == 0, 0.0, inner)


def rate_at_most(hits: npt.ArrayLike, trials: int, false_alarm: float) -> FloatArray:
    """The largest rate that makes so few hits as probable as `false_alarm` (Clopper, Pearson).

    Args and raises: as `rate_at_least`.

    Example:
        >>> round(float(rate_at_most(0, 10, 0.05)), 4)
        0.2589
    """
    counts = _counts(hits, trials, false_alarm)
    return 1 - rate_at_least(trials - counts, trials, false_alarm)


def proved(
    bound: Bound,
    hits: tuple[npt.ArrayLike, npt.ArrayLike],
    trials: int,
    false_alarm: float,
) -> FloatArray:
    """What counts of one event on two inputs prove.

    Args:
        bound: `pure_bound` or `approximate_bound(delta)` or `gaussian_bound(delta)`.
        hits: how often the event occurred on the input that favours it, and on the other.
        trials: releases of each input.
        false_alarm: probability that the result lies above the truth.

    Example:
        >>> bound = proved(pure_bound, (900, 90), 1000, 0.05)
        >>> round(float(bound), 3)
        2.084
    """
    likely, rare = hits
    half = false_alarm / 2
    return bound(rate_at_least(likely, trials, half), rate_at_most(rare, trials, half))


def reach(bound: Bound, trials: int, false_alarm: float) -> float:
    """The most that `proved` can prove with so many trials: all hits on one side.

    Example:
        >>> round(reach(pure_bound, 50_000, 0.001), 1)
        8.8
    """
    return float(proved(bound, (trials, 0), trials, false_alarm))


def pure_bound(likely: FloatArray, rare: FloatArray) -> FloatArray:
    """Epsilon, for delta 0: the log ratio of the rates."""
    return approximate_bound(0.0)(likely, rare)


def approximate_bound(delta: float) -> Bound:
    """Epsilon for a given delta in [0, 1): log((likely - delta) / rare).

    Example:
        >>> round(float(approximate_bound(0.1)(np.array(0.6), np.array(0.05))), 4)
        2.3026
    """

    def bound(likely: FloatArray, rare: FloatArray) -> FloatArray:
        return np.log(np.maximum(likely - delta, rare) / rare)

    return bound


def gaussian_bound(delta: float) -> Bound:
    """Epsilon at `delta`, for mechanisms that claim to be Gaussian.

    Their claim is stronger than (epsilon, delta): it says how hard the two inputs are to tell
    apart at every rate of false alarms, not at rates near delta alone, which no audit can count.
    The rates prove a distance mu between two normal laws of variance 1, and mu gives epsilon.

    Source: J. Dong, A. Roth, W. J. Su, "Gaussian differential privacy", 2022, definition 4 and
    corollary 1.
    """
    from scipy.special import ndtri

    def bound(likely: FloatArray, rare: FloatArray) -> FloatArray:
        mu = np.nan_to_num(ndtri(likely) - ndtri(rare), nan=0.0, neginf=0.0)
        return _gaussian_epsilons(mu, delta)

    return bound


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The epsilon at delta of normal noise of deviation 1 on inputs that lie `mu` apart.

    Args:
        mu: distance of the inputs in deviations of the noise; at or below 0 nothing is spent.
        delta: in (0, 1).

    Raises:
        UsageError: delta is not in (0, 1).

    Example:
        >>> round(gaussian_epsilon(1 / 2.2305, 1e-6), 3)
        2.0

    Source: B. Balle, Y.-X. Wang, "Improving the Gaussian mechanism for differential privacy",
    2018, theorem 8.
    """
    return float(_gaussian_epsilons(np.array(mu, dtype=np.float64), delta))


def gaussian_distance(epsilon: float, delta: float) -> float:
    """How many deviations of the noise inputs may lie apart: what `gaussian_epsilon` inverts.

    Args:
        epsilon: above 0.
        delta: in (0, 1).

    Example:
        >>> round(1 / gaussian_distance(2.0, 1e-6), 3)
        2.23

    Source: as for `gaussian_epsilon`.
    """
    low, high = 0.0, 1.0
    while gaussian_epsilon(high, delta) < epsilon:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        within = gaussian_epsilon(middle, delta) <= epsilon
        low, high = (middle, high) if within else (low, middle)
    return low


def _gaussian_epsilons(mu: FloatArray, delta: float) -> FloatArray:
    """By halving; of the two ends the lower."""
    from scipy.special import log_ndtr, ndtr

    if not 0 < delta < 1:
        raise UsageError(f"a delta of {delta} for Gaussian noise is not in (0, 1)")
    distance = np.maximum(mu, np.finfo(np.float64).tiny ** 0.5)
    low: FloatArray = np.zeros_like(distance)
    # Here the first term alone is below delta.
    high = distance * (distance / 2 + math.sqrt(-2 * math.log(delta)) + 1)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        least = -distance / 2 - middle / distance
        spent = ndtr(distance / 2 - middle / distance) - np.exp(middle + log_ndtr(least))
        low, high = np.where(spent > delta, middle, low), np.where(spent > delta, high, middle)
    return low


def odds_bound(hits: int, trials: int, cap: float, false_alarm: float) -> float:
    """The epsilon of a draw that lies in a cap of the sphere with a probability p, uniform there
    and uniform elsewhere, from how often it lay there.

    It is the log ratio of the two densities, log(p (1 - q) / ((1 - p) q)), with the smallest p
    that the counts allow. Unlike a count of rare events it reaches any epsilon.

    Args:
        hits: draws inside, of `trials`.
        cap: the part q of the sphere's surface that the cap covers, in (0, 1).
        false_alarm: probability that the result lies above the truth.

    Example:
        >>> round(odds_bound(907_000, 1_000_000, 3.27e-3, 0.001), 2)
        7.99

    Source: A. Bhowmick et al., "Protection against reconstruction and its applications in private
    federated learning", 2018, whose conditions bound this ratio from above.
    """
    p = float(rate_at_least(hits, trials, false_alarm))
    if p <= cap:
        return 0.0
    return math.log(p) - math.log1p(-p) + math.log1p(-cap) - math.log(cap)


def _counts(hits: npt.ArrayLike, trials: int, false_alarm: float) -> FloatArray:
    counts = np.asarray(hits, dtype=np.float64)
    if trials < 1 or (counts < 0).any() or (counts > trials).any():
        raise UsageError(f"hits must lie between 0 and the number of trials ({trials})")
    if not 0 < false_alarm < 1:
        raise UsageError(f"a probability of false alarms of {false_alarm} is not in (0, 1)")
    return counts
