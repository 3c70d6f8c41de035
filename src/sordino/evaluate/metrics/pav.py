"""The calibration that suits given trials best, by pooling adjacent violators (PAV).

Of all log-likelihood ratios that do not fall while the scores rise, these have the least cost,
whatever the prior. They come in steps: runs of neighbouring scores in which targets and
non-targets are counted, one for each edge of the convex hull of the ROC.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.evaluate.metrics.ordered import OrderedTrials, Weights
from sordino.evaluate.metrics.scores import Scores, sorted_scores

FloatArray = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Steps:
    """Runs of scores with one log-likelihood ratio each, from the lowest scores on.

    Attributes:
        lowest: the lowest score of each run, rising, float64, shape (steps,).
        targets: number of targets in each, int64, shape (steps,).
        nontargets: number of non-targets in each, int64, shape (steps,).
        ratios: log-likelihood ratio of each in nats, not falling, shape (steps,); infinite in a
            run of targets only or of non-targets only, unless smoothed.
    """

    lowest: FloatArray
    targets: Counts
    nontargets: Counts
    ratios: FloatArray

    def __call__(self, scores: npt.ArrayLike) -> FloatArray:
        """Log-likelihood ratios, in nats, of scores of any shape; not falling in the score."""
        step = np.searchsorted(self.lowest, np.asarray(scores), "right") - 1
        return np.asarray(self.ratios[np.maximum(step, 0)], np.float64)


def optimal_calibration(
    targets: npt.ArrayLike, nontargets: npt.ArrayLike, *, smoothed: bool = False
) -> Steps:
    """The steps by which these scores become log-likelihood ratios at the least cost.

    In a step with t of T targets and n of N non-targets the ratio is `ln (t/T) - ln (n/N)`. Only
    runs that can become steps are looked at, at most one for each score of the shorter list.

    Args:
        targets: scores of trials of the enrolled speaker, shape (targets,).
        nontargets: scores of trials of others, shape (nontargets,).
        smoothed: add in thought a target and a non-target below all scores, and one of each above
            all (a rule of succession), so that no ratio is infinite.

    Raises:
        UsageError: a list is empty or holds NaN or infinity.

    Example:
        >>> steps = optimal_calibration([1.0, 3.0, 4.0], [0.0, 2.0])
        >>> steps.lowest.tolist(), steps.targets.tolist(), steps.nontargets.tolist()
        ([0.0, 1.0, 3.0], [0, 1, 2], [1, 1, 0])
        >>> steps([-1.0, 2.5, 9.0]).round(3).tolist()
        [-inf, -0.405, inf]

    Source: B. Zadrozny and C. Elkan, "Transforming classifier scores into accurate multiclass
    probability estimates", KDD 2002; for trials and with the smoothing N. Brümmer and E. de
    Villiers, "The BOSARIS Toolkit User Guide", 2011.
    """
    own, others = sorted_scores(targets, nontargets)
    own_edges, other_edges = _edges(own, others)
    lowest = _lowest(own, others, own_edges, other_edges)
    return _pool(lowest, np.diff(own_edges), np.diff(other_edges), smoothed)


def smoothed(steps: Steps) -> Steps:
    """The steps of the same scores with `smoothed=True`.

    Scores that are pooled stay pooled when others come before or after them, so that the steps
    hold all that is needed.

    Args:
        steps: of `optimal_calibration`, not smoothed.

    Example:
        >>> steps = optimal_calibration([1.0, 3.0, 4.0], [0.0, 2.0])
        >>> smoothed(steps).ratios.round(3).tolist()
        [-1.099, -0.405, 0.693]
    """
    return _pool(steps.lowest, steps.targets, steps.nontargets, True)


class WeightedCalibration:
    """The calibration of trials that count more than once, or not at all.

    The scores are sorted once, so that many sets of weights are cheap; see `bootstrap`.

    Args:
        scores: shape (trials,).
        is_target: whether each is a score of the enrolled speaker, bool, shape (trials,).

    Raises:
        UsageError: there are no targets or no non-targets, a score is NaN or infinite, or the
            shapes differ.

    Example:
        >>> calibration = WeightedCalibration([1.0, 0.0, 2.0], np.array([True, False, False]))
        >>> calibration(np.array([2, 1, 1])).targets.tolist()
        [0, 2]
        >>> calibration(np.array([0, 1, 1])) is None
        True
    """

    def __init__(self, scores: npt.ArrayLike, is_target: npt.NDArray[np.bool_]) -> None:
        self._trials = OrderedTrials(scores, is_target)
        own, others = self._trials.targets, self._trials.nontargets
        self._edges = _edges(own, others)
        self._lowest = _lowest(own, others, *self._edges)

    def __call__(self, weights: Weights) -> Steps | None:
        """The steps with each trial counted so many times; None where no target or non-target is.

        Args:
            weights: whole numbers from 0, shape (trials,).
        """
        targets, nontargets = (
            np.diff(np.append(0, np.cumsum(part, dtype=np.int64))[edges])
            for part, edges in zip(self._trials.split(weights), self._edges, strict=True)
        )
        counted = targets + nontargets > 0
        if not (targets.any() and nontargets.any()):
            return None
        return _pool(self._lowest[counted], targets[counted], nontargets[counted], False)


def _edges(own: Scores, others: Scores) -> tuple[Counts, Counts]:
    """Where runs begin in both lists, and their sizes at the end; shapes (runs + 1,) twice.

    A run can begin only at a target whose next lower score is of a non-target; all else would be
    pooled anyhow. Equal scores are never parted.
    """
    below = np.searchsorted(others, own)
    begin = np.flatnonzero(np.diff(below, prepend=0))
    return (
        np.concatenate([[0], begin, [own.size]]),
        np.concatenate([[0], below[begin], [others.size]]),
    )


def _lowest(own: Scores, others: Scores, own_edges: Counts, other_edges: Counts) -> FloatArray:
    first = [
        np.where(edges < scores.size, scores[np.minimum(edges, scores.size - 1)], np.inf)
        for scores, edges in ((own, own_edges[:-1]), (others, other_edges[:-1]))
    ]
    return np.minimum(*first).astype(np.float64)


def _pool(lowest: FloatArray, targets: Counts, nontargets: Counts, smoothed: bool) -> Steps:
    from scipy.optimize import isotonic_regression

    prior = float(targets.sum()), float(nontargets.sum())
    if smoothed:
        lowest = np.concatenate([lowest[:1], lowest, [np.inf]])
        targets, nontargets = (
            np.pad(counts, 1, constant_values=1) for counts in (targets, nontargets)
        )
    trials = targets + nontargets
    # Its blocks are used and not its values, which are rounded.
    starts = isotonic_regression(targets / trials, weights=trials).blocks[:-1]
    lowest = lowest[starts]
    targets, nontargets = (np.add.reduceat(counts, starts) for counts in (targets, nontargets))
    with np.errstate(divide="ignore"):
        ratios = np.log((targets * prior[1]) / (nontargets * prior[0]))
    if not smoothed:
        return Steps(lowest, targets, nontargets, ratios)
    for counts in (targets, nontargets):
        counts[0] -= 1
        counts[-1] -= 1
    real = targets + nontargets > 0
    return Steps(lowest[real], targets[real], nontargets[real], ratios[real])
