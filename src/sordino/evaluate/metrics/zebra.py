"""ZEBRA: how much a recogniser's scores disclose, on average and at the worst."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.evaluate.metrics.ordered import Weights
from sordino.evaluate.metrics.pav import (
    FloatArray,
    Steps,
    WeightedCalibration,
    optimal_calibration,
    smoothed,
)

MOST_EXPECTED = 1 / math.log(4)
"""The expected disclosure of scores that are sure and right, in bits: 0.721."""

# Where each category begins, as a power of ten of the likelihood ratio.
_CATEGORIES = ((6.0, "F"), (5.0, "E"), (4.0, "D"), (2.0, "C"), (1.0, "B"), (0.0, "A"))

# Below this, in nats, a series is more exact than the closed form; its next term is below 1e-16.
_SMALL = 0.01
_SERIES = (1 / 6, -1 / 24, 1 / 360, 1 / 1440, -1 / 10080)


@dataclass(frozen=True)
class Disclosure:
    """What scores disclose.

    Attributes:
        expected: for an attacker of whom nothing is known, in bits, from 0 to 0.721.
        worst: of the strongest single score, as a power of ten of the likelihood ratio, from 0.
        category: of the worst: "0" (no evidence), "A" (below 1), "B" (below 2), "C" (below 4),
            "D" (below 5), "E" (below 6) or "F".
    """

    expected: float
    worst: float
    category: str


def disclosure(targets: npt.ArrayLike, nontargets: npt.ArrayLike) -> Disclosure:
    """Expected and worst-case disclosure by scores, for all that an attacker may know before.

    The expected disclosure is what scores that are calibrated best (`optimal_calibration`) spare
    an attacker of his doubt: the entropy of the prior less the empirical cross-entropy, averaged
    over all priors from 0 to 1, in closed form. The worst case is the largest absolute
    log-likelihood ratio of any trial. It is smoothed as in the public tool, so that it is finite,
    but for scores that tell nothing at all, which disclose 0. It grows with the number of trials,
    and so compares systems only on the same trials.

    Args:
        targets: scores of trials of the enrolled speaker, shape (targets,).
        nontargets: scores of trials of others, shape (nontargets,).

    Raises:
        UsageError: a list is empty or holds NaN or infinity.

    Example:
        >>> disclosure([0.1, 0.7], [0.1, 0.7])
        Disclosure(expected=0.0, worst=0.0, category='0')
        >>> found = disclosure(np.arange(100.0) + 100, np.arange(100.0))
        >>> round(found.expected, 3), round(found.worst, 3), found.category
        (0.721, 2.004, 'C')

    Source: A. Nautsch et al., "The Privacy ZEBRA: Zero Evidence Biometric Recognition Assessment",
    Interspeech 2020.
    """
    return disclosure_of(optimal_calibration(targets, nontargets))


def disclosure_of(steps: Steps) -> Disclosure:
    """The disclosure, from steps that are there already; see `disclosure`.

    Args:
        steps: of `optimal_calibration`, not smoothed.

    Example:
        >>> disclosure_of(optimal_calibration([0.1, 0.7], [0.1, 0.7])).category
        '0'
    """
    worst = 0.0
    if steps.ratios.any():
        worst = float(np.abs(smoothed(steps).ratios).max()) / math.log(10)
    return Disclosure(expected_disclosure(steps), worst, category(worst))


def expected_disclosure(steps: Steps) -> float:
    """The expected disclosure, from steps that are there already; see `disclosure`.

    With r = exp(-ratio) a target spares -x ln(x + r (1 - x)) at the prior x. The integral over x,
    `_spared`, is the same for a non-target with the sign of its ratio turned.

    Args:
        steps: of `optimal_calibration`, not smoothed.

    Returns:
        Bits, from 0 to 0.721.

    Example:
        >>> round(expected_disclosure(optimal_calibration([1.0, 2.0], [0.0, 0.5])), 3)
        0.721
    """
    total = 0.0
    for counts, sign in ((steps.targets, 1.0), (steps.nontargets, -1.0)):
        here = counts > 0
        total += float(counts[here] @ _spared(sign * steps.ratios[here])) / float(counts.sum())
    # Rounding can leave the ends by the last digit.
    return min(max(0.0, total / math.log(2)), MOST_EXPECTED)


def category(worst: float) -> str:
    """The category of a worst case.

    Args:
        worst: power of ten of the likelihood ratio, from 0.

    Example:
        >>> category(0.0), category(0.3), category(2.0)
        ('0', 'A', 'C')
    """
    return next((name for start, name in _CATEGORIES if worst >= start and worst > 0), "0")


class WeightedDisclosure:
    """The expected disclosure of trials that count more than once, or not at all; see `bootstrap`.

    There is none for the worst case: drawing trials anew tells nothing about a maximum.

    Args:
        scores: shape (trials,).
        is_target: whether each is a score of the enrolled speaker, bool, shape (trials,).

    Raises:
        UsageError: there are no targets or no non-targets, a score is NaN or infinite, or the
            shapes differ.

    Example:
        >>> expected = WeightedDisclosure([1.0, 1.0, 0.0], np.array([True, False, False]))
        >>> expected(np.array([1, 1, 0])), round(expected(np.array([1, 0, 1])), 3)
        (0.0, 0.721)
    """

    def __init__(self, scores: npt.ArrayLike, is_target: npt.NDArray[np.bool_]) -> None:
        self._calibration = WeightedCalibration(scores, is_target)

    def __call__(self, weights: Weights) -> float:
        """The disclosure with each trial counted so many times; NaN where one kind is missing.

        Args:
            weights: whole numbers from 0, shape (trials,).
        """
        steps = self._calibration(weights)
        return math.nan if steps is None else expected_disclosure(steps)


def _spared(ratios: FloatArray) -> FloatArray:
    """Nats: 1/4 + (a - b) / (2 b^2) for b = e^a - 1, for ratios a above minus infinity."""
    spared = np.empty_like(ratios)
    small, falling = np.abs(ratios) < _SMALL, ratios <= -_SMALL
    rising = ~(small | falling)
    a = ratios[small]
    spared[small] = a * np.polynomial.polynomial.polyval(a, _SERIES)
    a = ratios[falling]
    b = np.expm1(a)
    spared[falling] = 0.25 + 0.5 * (a - b) / b**2
    # The same in powers of e^-a, which is 0 for a sure score.
    a = ratios[rising]
    inverse, rest = np.exp(-a), -np.expm1(-a)
    spared[rising] = (
        0.25 + 0.5 * (np.where(inverse > 0, a, 0) * inverse**2 - inverse * rest) / rest**2
    )
    return spared
