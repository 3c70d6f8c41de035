"""D_sys: how surely scores link two records of one speaker, from histograms of the scores."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.evaluate.metrics.ordered import OrderedTrials, Weights
from sordino.evaluate.metrics.scores import Scores, sorted_scores

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Linkability:
    """Global and local linkability.

    Attributes:
        system: D_sys, from 0 (nothing can be linked) to 1 (every mated pair is sure).
        edges: scores between the bins, rising, shape (bins - 1,); a bin holds its upper edge.
        local: D of each bin, from 0 to 1, shape (bins,).
    """

    system: float
    edges: FloatArray
    local: FloatArray


def linkability(
    mated: npt.ArrayLike,
    nonmated: npt.ArrayLike,
    *,
    omega: float = 1.0,
    equal_width: bool = False,
) -> Linkability:
    """Linkability of records by their scores, without any assumption on where links score.

    With LR(s) = p(s | mated) / p(s | non-mated), a score links by D(s) = 2 w LR / (1 + w LR) - 1
    where w LR > 1, else by 0; D_sys is the mean of D over mated scores. The densities are those of
    a histogram, whose bins are chosen thus: they hold equal shares of the scores, mated and
    non-mated counting half each, and there are about n^(1/3) of them (an even number, n of the
    shorter list). So an outlier cannot empty them, any rising map of the scores gives the same
    figure, separate lists are parted at the middle edge however short they are, and noise, which
    only ever adds to D, adds little: 0.02 for 700 mated scores of no use, where bins of equal width
    as published add 0.06. With 20 it still adds 0.1, of which no interval tells.

    Args:
        mated: scores of two records of one speaker, shape (mated,).
        nonmated: scores of records of two speakers, shape (nonmated,).
        omega: w, how many times likelier a pair is mated than not, before its score, above 0.
        equal_width: the bins of published figures instead: of equal width, one for 10 mated
            scores, at least 1 and at most 100.

    Raises:
        UsageError: a list is empty or holds NaN or infinity, or omega is out of range.

    Example:
        >>> linkability([0.8, 0.9], [0.1, 0.2, 0.3]).system
        1.0
        >>> linkability([0.1, 0.5, 0.9], [0.1, 0.5, 0.9]).system
        0.0

    Source: M. Gomez-Barrero, J. Galbally, C. Rathgeb, C. Busch, "General framework to evaluate
    unlinkability in biometric template protection systems", IEEE TIFS 13(6), 2018, equations 4 to
    7; for speech M. Maouche et al., "A comparative study of speech anonymization metrics",
    Interspeech 2020, with the bins of equal width.
    """
    _check(omega)
    own, others = sorted_scores(mated, nonmated)
    edges = _equal_widths(own, others) if equal_width else _equal_shares(own, others)
    counts = [
        np.diff(np.concatenate([[0], np.searchsorted(scores, edges, "right"), [scores.size]]))
        for scores in (own, others)
    ]
    shares = [count / count.sum() for count in counts]
    local = _local(shares[0], shares[1], omega)
    return Linkability(float(shares[0] @ local), edges.astype(np.float64), local)


class WeightedLinkability:
    """D_sys of trials that count more than once, or not at all; see `bootstrap`.

    The bins are those of the trials as they are. Since noise only adds to D, draws lie somewhat
    above the figure where there are few speakers.

    Args:
        scores: shape (trials,).
        is_mated: whether each is of two records of one speaker, bool, shape (trials,).
        omega: as for `linkability`.

    Raises:
        UsageError: there are no mated or no non-mated scores, a score is NaN or infinite, the
            shapes differ, or omega is out of range.

    Example:
        >>> system = WeightedLinkability([2.0, 1.0, 1.0], np.array([True, True, False]))
        >>> system(np.array([1, 0, 1])), system(np.array([0, 1, 1]))
        (1.0, 0.0)
    """

    def __init__(
        self, scores: npt.ArrayLike, is_mated: npt.NDArray[np.bool_], *, omega: float = 1.0
    ) -> None:
        _check(omega)
        self._omega = omega
        self._trials = OrderedTrials(scores, is_mated)
        lists = self._trials.targets, self._trials.nontargets
        edges = _equal_shares(*lists)
        self._bins = edges.size + 1
        self._places = tuple(np.searchsorted(edges, values) for values in lists)

    def __call__(self, weights: Weights) -> float:
        """D_sys with each trial counted so many times; NaN where one kind is missing.

        Args:
            weights: whole numbers from 0, shape (trials,).
        """
        parts = self._trials.split(weights)
        if not all(part.any() for part in parts):
            return math.nan
        mated, nonmated = (
            np.bincount(places, part, self._bins) / part.sum()
            for places, part in zip(self._places, parts, strict=True)
        )
        return float(mated @ _local(mated, nonmated, self._omega))


def _check(omega: float) -> None:
    if not 0 < omega < math.inf:
        raise UsageError(f"omega is {omega}; it should be above 0")


def _local(mated: FloatArray, nonmated: FloatArray, omega: float) -> FloatArray:
    """D in bins with these shares of mated and of non-mated scores."""
    weighed = omega * mated
    gain = np.maximum(0.0, weighed - nonmated)
    total = weighed + nonmated
    return np.divide(gain, total, out=np.zeros_like(gain), where=total > 0)


def _equal_widths(own: Scores, others: Scores) -> Scores:
    bins = min(max(1, own.size // 10), 100)
    low, high = min(own[0], others[0]), max(own[-1], others[-1])
    return np.asarray(np.linspace(low, high, bins + 1)[1:-1], own.dtype)


def _equal_shares(own: Scores, others: Scores) -> Scores:
    """Scores at which whole parts of both lists, each counting half, have been reached."""
    bins = 2 * math.ceil(min(own.size, others.size) ** (1 / 3) / 2)
    whole = 2 * own.size * others.size

    def reached(score: np.floating) -> int:
        """Twice the share of all at or below a score, exactly, in parts of `whole`."""
        below = (
            int(np.searchsorted(own, score, "right")),
            int(np.searchsorted(others, score, "right")),
        )
        return below[0] * others.size + below[1] * own.size

    edges = []
    for part in range(1, bins):
        # Rounded up, so that a score reaches it in whole trials or not at all.
        sought = -(-part * whole // bins)
        firsts = [bisect_left(scores, sought, key=reached) for scores in (own, others)]
        edges.append(
            min(
                scores[first]
                for scores, first in zip((own, others), firsts, strict=True)
                if first < scores.size
            )
        )
    return np.unique(np.array(edges, own.dtype))
