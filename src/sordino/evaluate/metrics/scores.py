"""Check and sort the scores of trials."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError

Scores = npt.NDArray[np.floating[Any]]


def sorted_scores(targets: npt.ArrayLike, nontargets: npt.ArrayLike) -> tuple[Scores, Scores]:
    """Ascending copies of target and non-target scores.

    Args:
        targets: scores of trials of the enrolled speaker, shape (targets,).
        nontargets: scores of trials of others, shape (nontargets,).

    Returns:
        Both in one dtype: float32 where both are, else float64.

    Raises:
        UsageError: a list is empty, holds NaN or infinity, or is no list of numbers.
    """
    lists = {"target": np.asarray(targets), "non-target": np.asarray(nontargets)}
    single = all(values.dtype in (np.float16, np.float32) for values in lists.values())
    first, second = (
        _sorted(kind, values, np.float32 if single else np.float64)
        for kind, values in lists.items()
    )
    return first, second


def finite_scores(*lists: Scores) -> tuple[Scores, ...]:
    """The same lists; where a score is infinite, the ranks of all scores among each other.

    Whatever depends on the order of scores only stays as it is.

    Args:
        lists: scores without NaN, of any shape, at least one each.

    Example:
        >>> [scores.tolist() for scores in finite_scores(np.array([0.5, np.inf]), np.array([0.2]))]
        [[1.0, 2.0], [0.0]]
    """
    if all(np.isfinite([scores.min(), scores.max()]).all() for scores in lists):
        return lists
    distinct = np.unique(np.concatenate([scores.ravel() for scores in lists]))
    return tuple(np.searchsorted(distinct, scores).astype(np.float64) for scores in lists)


def _sorted(kind: str, values: npt.NDArray[Any], dtype: npt.DTypeLike) -> Scores:
    if values.ndim != 1:
        raise UsageError(f"the {kind} scores have shape {values.shape}; expected (trials,)")
    if not values.size:
        raise UsageError(f"there are no {kind} scores")
    if not np.issubdtype(values.dtype, np.floating) and not np.issubdtype(values.dtype, np.integer):
        raise UsageError(f"the {kind} scores are {values.dtype}; expected numbers")
    ordered: Scores = values.astype(dtype)
    ordered.sort()
    # NaN sorts last, so that the ends tell of all.
    if not np.isfinite(ordered[[0, -1]]).all():
        raise UsageError(f"the {kind} scores hold NaN or infinity")
    return ordered
