"""What log-likelihood ratios cost, taken at their word (Cllr), and what they could cost at best."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sordino.evaluate.metrics.checks import Numbers, finite_numbers
from sordino.evaluate.metrics.ordered import OrderedTrials, Weights
from sordino.evaluate.metrics.pav import Steps, WeightedCalibration, optimal_calibration

# Scores worked on at once.
_BLOCK = 2**18


def cllr(targets: npt.ArrayLike, nontargets: npt.ArrayLike) -> float:
    """The cost of log-likelihood ratios, averaged over all priors and costs of decisions, in bits.

    `(mean log2(1 + exp(-target)) + mean log2(1 + exp(nontarget))) / 2`: 0 where every ratio is
    sure and right, 1 for ratios that say nothing (all 0), and above 1, without limit, for ratios
    that mislead. Scores of other kinds, such as cosines, have a Cllr too, but it tells about their
    scale only; see `min_cllr`.

    Args:
        targets: natural logarithms of likelihood ratios of trials of the enrolled speaker, shape
            (targets,).
        nontargets: the same of trials of others, shape (nontargets,).

    Raises:
        UsageError: a list is empty or holds NaN or infinity.

    Example:
        >>> cllr([0.0, 0.0], [0.0])
        1.0
        >>> round(cllr([3.0, 5.0], [-4.0]), 4)
        0.033

    Source: N. Brümmer and J. du Preez, "Application-independent evaluation of speaker detection",
    Computer Speech & Language 20(2-3), 2006.
    """
    own = finite_numbers(targets, "target ratios")
    others = finite_numbers(nontargets, "non-target ratios")
    return 0.5 * (_mean_cost(own, -1.0) + _mean_cost(others, 1.0))


def min_cllr(targets: npt.ArrayLike, nontargets: npt.ArrayLike) -> float:
    """The least Cllr that any calibration which keeps the order of the scores can reach, in bits.

    It tells how well scores of any scale keep targets and non-targets apart: 0 where they are
    separate, 1 where they are alike. It is 1 less the Jensen-Shannon divergence of the shares of
    targets and non-targets in the steps of `optimal_calibration`.

    Args:
        targets: scores of trials of the enrolled speaker, shape (targets,).
        nontargets: scores of trials of others, shape (nontargets,).

    Raises:
        UsageError: a list is empty or holds NaN or infinity.

    Example:
        >>> min_cllr([1.0, 2.0], [0.0, 0.5]), min_cllr([1.0, 2.0], [1.0, 2.0])
        (0.0, 1.0)

    Source: as for `cllr`.
    """
    return least_cost(optimal_calibration(targets, nontargets))


def calibration_loss(targets: npt.ArrayLike, nontargets: npt.ArrayLike) -> float:
    """How much of Cllr comes from the scale of the ratios, not from their order: bits, from 0.

    Args:
        targets: natural logarithms of likelihood ratios of trials of the enrolled speaker, shape
            (targets,).
        nontargets: the same of trials of others, shape (nontargets,).

    Raises:
        UsageError: a list is empty or holds NaN or infinity.

    Example:
        >>> round(calibration_loss([1.0, 2.0], [-1.0, -2.0]), 4)
        0.3175
    """
    # Rounding can bring the difference of equal costs below 0.
    return max(0.0, cllr(targets, nontargets) - min_cllr(targets, nontargets))


def least_cost(steps: Steps) -> float:
    """The Cllr of a calibration: `min_cllr`, from steps that are there already.

    Args:
        steps: of `optimal_calibration`, not smoothed.

    Example:
        >>> least_cost(optimal_calibration([1.0, 2.0], [0.0, 0.5]))
        0.0
    """
    cost = 0.0
    for counts, sign in ((steps.targets, -1.0), (steps.nontargets, 1.0)):
        here = counts > 0
        costs = np.logaddexp(0.0, sign * steps.ratios[here])
        cost += float(counts[here] @ costs) / float(counts.sum())
    return 0.5 * cost / math.log(2)


class WeightedCllr:
    """Cllr of trials that count more than once, or not at all; see `bootstrap`.

    Args:
        ratios: natural logarithms of likelihood ratios, shape (trials,).
        is_target: whether each is of the enrolled speaker, bool, shape (trials,).

    Raises:
        UsageError: there are no targets or no non-targets, a ratio is NaN or infinite, or the
            shapes differ.

    Example:
        >>> cost = WeightedCllr([0.0, 9.0, 0.0], np.array([True, True, False]))
        >>> cost(np.array([1, 0, 1]))
        1.0
    """

    def __init__(self, ratios: npt.ArrayLike, is_target: npt.NDArray[np.bool_]) -> None:
        self._trials = OrderedTrials(ratios, is_target)
        self._costs = tuple(
            np.logaddexp(0.0, sign * scores.astype(np.float64)) / math.log(2)
            for scores, sign in ((self._trials.targets, -1.0), (self._trials.nontargets, 1.0))
        )

    def __call__(self, weights: Weights) -> float:
        """The cost with each trial counted so many times; NaN where no target or non-target is.

        Args:
            weights: whole numbers from 0, shape (trials,).
        """
        parts = self._trials.split(weights)
        if not all(part.any() for part in parts):
            return math.nan
        means = [part @ costs / part.sum() for part, costs in zip(parts, self._costs, strict=True)]
        return float(0.5 * sum(means))


class WeightedMinCllr:
    """The least Cllr of trials that count more than once, or not at all; see `bootstrap`.

    Args:
        scores: shape (trials,).
        is_target: whether each is a score of the enrolled speaker, bool, shape (trials,).

    Raises:
        UsageError: there are no targets or no non-targets, a score is NaN or infinite, or the
            shapes differ.

    Example:
        >>> cost = WeightedMinCllr([1.0, 3.0, 0.0, 2.0], np.array([True, True, False, False]))
        >>> cost(np.array([1, 1, 1, 1])), cost(np.array([0, 2, 1, 1]))
        (0.5, 0.0)
    """

    def __init__(self, scores: npt.ArrayLike, is_target: npt.NDArray[np.bool_]) -> None:
        self._calibration = WeightedCalibration(scores, is_target)

    def __call__(self, weights: Weights) -> float:
        """The cost with each trial counted so many times; NaN where no target or non-target is.

        Args:
            weights: whole numbers from 0, shape (trials,).
        """
        steps = self._calibration(weights)
        return math.nan if steps is None else least_cost(steps)


def _mean_cost(ratios: Numbers, sign: float) -> float:
    total = math.fsum(
        float(np.logaddexp(0.0, sign * ratios[start : start + _BLOCK].astype(np.float64)).sum())
        for start in range(0, ratios.size, _BLOCK)
    )
    return total / ratios.size / math.log(2)
