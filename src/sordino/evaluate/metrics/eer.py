"""Error rates over all thresholds: the ROC, equal error rates and the detection cost.

A trial is accepted where its score is at least the threshold. Targets below it are misses,
non-targets at or above it are false alarms. Everything is counted in whole trials on the two
sorted lists of scores, so that ties and thresholds are exact.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.evaluate.metrics.ordered import OrderedTrials
from sordino.evaluate.metrics.scores import Scores, sorted_scores

FloatArray = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Score = np.floating[Any]


@dataclass(frozen=True, eq=False)
class Roc:
    """The corners of a receiver operating characteristic, from no trial accepted to all.

    Attributes:
        thresholds: falling, float64, shape (corners,); the first is infinite.
        false_alarms: rates of accepted non-targets, 0 to 1, shape (corners,).
        misses: rates of rejected targets, 1 to 0, shape (corners,).
    """

    thresholds: FloatArray
    false_alarms: FloatArray
    misses: FloatArray


@dataclass(frozen=True)
class EER:
    """An equal error rate.

    Attributes:
        rate: from 0 to 1.
        threshold: the score from which to accept, where the two rates come closest.
    """

    rate: float
    threshold: float


@dataclass(frozen=True)
class MinDCF:
    """A smallest detection cost.

    Attributes:
        cost: as a part of the cost of the better blind decision, from 0 to 1.
        threshold: the score from which to accept; infinite where rejecting all is cheapest.
    """

    cost: float
    threshold: float


@dataclass(frozen=True)
class _Point:
    """Numbers of trials on the wrong side of a threshold; as weights, whole numbers too."""

    threshold: float
    misses: int
    false_alarms: int


def roc(targets: npt.ArrayLike, nontargets: npt.ArrayLike) -> Roc:
    """The exact ROC, at the thresholds where it can bend.

    Between two corners it is straight: along an axis, or aslant where targets and non-targets
    share a score. Its size is at most twice the shorter list.

    Args:
        targets: scores of trials of the enrolled speaker, shape (targets,).
        nontargets: scores of trials of others, shape (nontargets,).

    Raises:
        UsageError: a list is empty or holds NaN or infinity.

    Example:
        >>> roc([2.0, 3.0], [1.0, 2.0]).misses.tolist()
        [1.0, 0.5, 0.0, 0.0]
    """
    own, others = sorted_scores(targets, nontargets)
    fewer = own if own.size <= others.size else others
    at = fewer[np.append(True, fewer[1:] > fewer[:-1])]
    below, beyond = (
        np.stack([np.searchsorted(scores, at, side) for side in ("left", "right")], axis=1).ravel()
        for scores in (own, others)
    )
    misses = np.concatenate([[0], below, [own.size]])
    rejected = np.concatenate([[0], beyond, [others.size]])
    moved = np.diff(misses + rejected, prepend=-1) > 0
    misses, rejected = misses[moved][::-1], rejected[moved][::-1]
    thresholds = np.minimum(np.append(own, np.inf)[misses], np.append(others, np.inf)[rejected])
    return Roc(
        thresholds.astype(np.float64),
        (others.size - rejected) / others.size,
        misses / own.size,
    )


def equal_error_rate(targets: npt.ArrayLike, nontargets: npt.ArrayLike) -> EER:
    """Where the rates of misses and of false alarms are equal on the ROC.

    The ROC is taken as straight between neighbouring scores, as `sklearn.metrics.roc_curve` and
    linear interpolation have it; the rate is that curve's, rounded once.

    Args:
        targets: scores of trials of the enrolled speaker, shape (targets,).
        nontargets: scores of trials of others, shape (nontargets,).

    Raises:
        UsageError: a list is empty or holds NaN or infinity.

    Example:
        >>> equal_error_rate([0.6, 0.8, 0.9, 0.3], [0.1, 0.2, 0.4, 0.5])
        EER(rate=0.25, threshold=0.5)
    """
    own, others = sorted_scores(targets, nontargets)

    def point(threshold: Score) -> _Point:
        rejected = int(np.searchsorted(others, threshold))
        return _Point(
            float(threshold), int(np.searchsorted(own, threshold)), others.size - rejected
        )

    def caught_up(threshold: Score) -> bool:
        at = point(threshold)
        return at.misses * others.size >= at.false_alarms * own.size

    # The first score, of either list, at which misses have caught up with false alarms.
    above = own.dtype.type(np.inf)
    for scores in (own, others):
        first = bisect_left(scores, True, key=caught_up)
        above = min(above, scores[first]) if first < scores.size else above
    # And the last score before it; there is one, since the lowest of all accepts everything.
    below = own.dtype.type(-np.inf)
    for scores in (own, others):
        before = int(np.searchsorted(scores, above)) - 1
        below = max(below, scores[before]) if before >= 0 else below
    return _between(point(above), point(below), own.size, others.size)


def equal_error_rate_convex_hull(targets: npt.ArrayLike, nontargets: npt.ArrayLike) -> EER:
    """Where the rates of misses and of false alarms are equal on the ROC's convex hull.

    The hull is what can be reached by choosing between two thresholds at random. Its equal error
    rate is never above the plain one, and equals the largest smallest Bayes error over all priors
    (N. Brümmer and E. de Villiers, "The BOSARIS Toolkit User Guide", 2011). The edge that crosses
    the diagonal is found by moving a line towards the origin, not by making the whole hull.

    Args:
        targets: scores of trials of the enrolled speaker, shape (targets,).
        nontargets: scores of trials of others, shape (nontargets,).

    Returns:
        The rate; its threshold is the better end of the edge.

    Raises:
        UsageError: a list is empty or holds NaN or infinity.

    Example:
        >>> equal_error_rate_convex_hull([1.0, 3.0], [0.0, 2.0]).rate
        0.25
    """
    own, others = sorted_scores(targets, nontargets)
    misses, alarms = _corners(own, others)
    lower = (0, others.size)
    upper = (own.size, 0)
    while True:
        fall, rise = lower[1] - upper[1], upper[0] - lower[0]
        distance = fall * misses + rise * alarms
        best = int(distance.argmin())
        if distance[best] >= fall * lower[0] + rise * lower[1]:
            break
        corner = int(misses[best]), int(alarms[best])
        if corner[0] * others.size >= corner[1] * own.size:
            upper = corner
            misses, alarms = misses[: best + 1], alarms[: best + 1]
        else:
            lower = corner
            misses, alarms = misses[best:], alarms[best:]
    above, below = (_Point(_threshold(own, others, *at), *at) for at in (upper, lower))
    return _between(above, below, own.size, others.size)


def min_dcf(
    targets: npt.ArrayLike,
    nontargets: npt.ArrayLike,
    *,
    p_target: float = 0.01,
    c_miss: float = 1.0,
    c_fa: float = 1.0,
) -> MinDCF:
    """The smallest detection cost over all thresholds, as NIST's speaker evaluations define it.

    `c_miss p_target P_miss + c_fa (1 - p_target) P_fa`, divided by the cost of accepting all or of
    rejecting all, whichever is less.

    Args:
        targets: scores of trials of the enrolled speaker, shape (targets,).
        nontargets: scores of trials of others, shape (nontargets,).
        p_target: how many trials are expected to be targets, between 0 and 1.
        c_miss: cost of a miss, above 0.
        c_fa: cost of a false alarm, above 0.

    Raises:
        UsageError: a list is empty or holds NaN or infinity, or a number is out of range.

    Example:
        >>> min_dcf([1.0, 3.0], [0.0, 2.0], p_target=0.5)
        MinDCF(cost=0.5, threshold=1.0)
    """
    if not 0 < p_target < 1:
        raise UsageError(f"p_target is {p_target}; it should lie between 0 and 1")
    if not (0 < c_miss < math.inf and 0 < c_fa < math.inf):
        raise UsageError(f"the costs are {c_miss} and {c_fa}; they should be above 0")
    own, others = sorted_scores(targets, nontargets)
    misses, alarms = _corners(own, others)
    reject, accept = c_miss * p_target, c_fa * (1 - p_target)
    costs = misses * (reject / own.size) + alarms * (accept / others.size)
    best = int(costs.argmin())
    threshold = _threshold(own, others, int(misses[best]), int(alarms[best]))
    return MinDCF(min(1.0, float(costs[best]) / min(reject, accept)), threshold)


class WeightedEER:
    """The equal error rate of trials that count more than once, or not at all.

    The scores are sorted once, so that many sets of weights are cheap; see `bootstrap`.

    Args:
        scores: shape (trials,).
        is_target: whether each is a score of the enrolled speaker, bool, shape (trials,).

    Raises:
        UsageError: there are no targets or no non-targets, a score is NaN or infinite, or the
            shapes differ.

    Example:
        >>> rate = WeightedEER(np.array([1.0, 3.0, 0.0, 2.0]), np.array([True, True, False, False]))
        >>> rate(np.array([1, 1, 1, 1])), rate(np.array([0, 2, 1, 1]))
        (0.5, 0.0)
    """

    def __init__(self, scores: npt.ArrayLike, is_target: npt.NDArray[np.bool_]) -> None:
        self._trials = OrderedTrials(scores, is_target)
        own, others = self._trials.targets, self._trials.nontargets
        # All thresholds, the last one above all scores, and how many scores are below each.
        thresholds = np.append(np.unique(np.concatenate([own, others])), np.inf)
        self._below = np.searchsorted(own, thresholds), np.searchsorted(others, thresholds)

    def __call__(self, weights: npt.NDArray[np.integer]) -> float:
        """The rate with each trial counted so many times; NaN where no target or non-target is.

        Args:
            weights: whole numbers from 0, shape (trials,).
        """
        missed, rejected = (_sums(part) for part in self._trials.split(weights))
        total, opposed = int(missed[-1]), int(rejected[-1])
        if not (total and opposed):
            return math.nan
        below_own, below_others = self._below

        def point(at: int) -> _Point:
            misses, alarms = missed[below_own[at]], opposed - rejected[below_others[at]]
            return _Point(math.nan, int(misses), int(alarms))

        def caught_up(at: int) -> bool:
            here = point(at)
            return here.misses * opposed >= here.false_alarms * total

        first = bisect_left(range(below_own.size), True, key=caught_up)
        return _between(point(first), point(first - 1), total, opposed).rate


def _between(upper: _Point, lower: _Point, total: int, opposed: int) -> EER:
    """Where the line between two points crosses the diagonal, exactly, then rounded."""
    fall = lower.false_alarms - upper.false_alarms
    rise = upper.misses - lower.misses
    rate = (upper.misses * fall + rise * upper.false_alarms) / (fall * total + rise * opposed)
    over = upper.misses * opposed - upper.false_alarms * total
    under = lower.false_alarms * total - lower.misses * opposed
    return EER(rate, upper.threshold if over < under else lower.threshold)


def _corners(own: Scores, others: Scores) -> tuple[Counts, Counts]:
    """Misses and false alarms at the corners of the ROC that point to the origin.

    Thresholds rise. Just at a target's score or just above a non-target's, by which are fewer.
    """
    if own.size <= others.size:
        misses = np.arange(own.size + 1, dtype=np.int64)
        alarms = others.size - np.append(np.searchsorted(others, own), others.size)
    else:
        misses = np.append(0, np.searchsorted(own, others, "right"))
        alarms = np.arange(others.size, -1, -1, dtype=np.int64)
    return misses, alarms


def _threshold(own: Scores, others: Scores, misses: int, alarms: int) -> float:
    """The lowest score that is accepted with so many misses and false alarms."""
    rejected = others.size - alarms
    return min(
        float(own[misses]) if misses < own.size else math.inf,
        float(others[rejected]) if rejected < others.size else math.inf,
    )


def _sums(weights: npt.NDArray[np.integer]) -> Counts:
    sums = np.zeros(weights.size + 1, dtype=np.int64)
    np.cumsum(weights, out=sums[1:])
    return sums
