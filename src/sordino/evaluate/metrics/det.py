"""A few points of the ROC, as a DET curve shows it: both error rates on a normal-deviate scale."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sordino.evaluate.metrics.scores import Scores, sorted_scores

Points = tuple[tuple[float, float], ...]


def det_points(targets: npt.ArrayLike, nontargets: npt.ArrayLike, most: int = 200) -> Points:
    """Points of the ROC that are evenly spread where both rates are normal deviates.

    Half of the thresholds are scores of targets whose rates of misses are evenly spaced deviates,
    half are scores of non-targets likewise. Each point is exact.

    Args:
        targets: scores of trials of the enrolled speaker, shape (targets,).
        nontargets: scores of trials of others, shape (nontargets,).
        most: the most points, at least 5.

    Returns:
        Pairs of the rates of false alarms and of misses, from (0, 1) to (1, 0).

    Raises:
        UsageError: a list is empty or holds NaN or infinity.

    Example:
        >>> det_points([2.0, 3.0], [1.0, 2.0])
        ((0.0, 1.0), (0.0, 0.5), (0.5, 0.0), (1.0, 0.0))

    Source: A. Martin et al., "The DET curve in assessment of detection task performance",
    Eurospeech 1997.
    """
    own, others = sorted_scores(targets, nontargets)
    chosen = [_spread(scores, (most - 1) // 2) for scores in (own, others)]
    thresholds = np.unique(np.concatenate(chosen))[::-1]
    misses = np.searchsorted(own, thresholds) / own.size
    alarms = 1 - np.searchsorted(others, thresholds) / others.size
    pairs = zip(alarms.tolist(), misses.tolist(), strict=True)
    return tuple(dict.fromkeys(((0.0, 1.0), *pairs)))


def _spread(ordered: Scores, most: int) -> Scores:
    """Scores that are evenly spaced as normal deviates of their ranks, with both ends."""
    from scipy.special import ndtr, ndtri

    if ordered.size <= most:
        return ordered
    end = -ndtri(0.5 / ordered.size)
    places = (ndtr(np.linspace(-end, end, most)) * ordered.size).astype(np.int64)
    places[[0, -1]] = 0, ordered.size - 1
    return ordered[places]
