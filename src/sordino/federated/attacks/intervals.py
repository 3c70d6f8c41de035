"""Figures over users, and how far they would vary with other users."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.evaluate.metrics.attributes import WeightedArea
from sordino.evaluate.metrics.bootstrap import bootstrap_over_speakers
from sordino.privacy.audit.bounds import rate_at_least, rate_at_most

_LEVEL = 0.95


class Figure(NamedTuple):
    """A figure with its 95 % interval over users.

    Attributes:
        value: the figure.
        low: lower end.
        high: upper end.
    """

    value: float
    low: float
    high: float


def mean_over_users(values: npt.ArrayLike) -> Figure:
    """The mean, with an interval from drawing users anew.

    Args:
        values: shape (seeds, users): seeds of a user go together.

    Raises:
        UsageError: there is no user.

    Example:
        >>> mean_over_users([[1.0, 2.0, 3.0]]).value
        2.0
    """
    each = _by_user(values)
    users = np.arange(each.size)
    found = bootstrap_over_speakers(
        lambda weights: float(np.average(each, weights=weights)), users, users
    )
    return Figure(found.value, found.low, found.high)


def share_of_users(hits: npt.ArrayLike) -> Figure:
    """How large a part is hit, with an exact interval that is wide enough where none or all are.

    Args:
        hits: shape (seeds, users), bool. A user who is hit with half of the seeds counts half.

    Raises:
        UsageError: there is no user.

    Example:
        >>> [round(float(end), 3) for end in share_of_users(np.zeros((1, 20), dtype=bool))]
        [0.0, 0.0, 0.168]

    Source: C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits", 1934.
    """
    each = _by_user(hits)
    total, risk = float(each.sum()), (1 - _LEVEL) / 2
    low, high = rate_at_least(total, each.size, risk), rate_at_most(total, each.size, risk)
    return Figure(total / each.size, float(low), float(high))


def area_over_users(scores: npt.ArrayLike, is_member: npt.NDArray[np.bool_]) -> Figure:
    """How likely a member scores higher than another user: the AUC.

    Args:
        scores: shape (seeds, users).
        is_member: the same shape.

    Raises:
        UsageError: with a seed there are no members, or nobody else.

    Example:
        >>> members = np.array([[True] * 9 + [False] * 9])
        >>> area_over_users([np.arange(18.0)], members).value
        0.0
    """
    rows = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    areas = [WeightedArea(row, who) for row, who in zip(rows, is_member, strict=True)]
    users = np.arange(rows.shape[1])
    found = bootstrap_over_speakers(
        lambda weights: float(np.mean([area(weights) for area in areas])), users, users
    )
    return Figure(found.value, found.low, found.high)


def _by_user(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    rows = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if not rows.size:
        raise UsageError("an attack needs at least 1 user")
    means: npt.NDArray[np.float64] = rows.mean(axis=0)
    return means
