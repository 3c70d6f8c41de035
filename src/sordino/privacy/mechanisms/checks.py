"""Arguments of mechanisms, checked."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.privacy.randomness import FloatArray

Neighbours = Literal["replace"]

SMALLEST_EPSILON = 2.0**-13
_SMALLEST_CLIP, _LARGEST_CLIP = 2.0**-900, 2.0**900


def checked_epsilon(epsilon: float | None, *, largest: float = math.inf) -> float:
    """An epsilon that noise can be made for.

    Raises:
        UsageError: it is missing, NaN, infinite, below 2 ** -13, or above the largest.
    """
    if epsilon is None or not math.isfinite(epsilon):
        raise UsageError(
            f"epsilon {epsilon} is not a finite number above 0; without noise there is no"
            " guarantee: see Unprotected"
        )
    if not SMALLEST_EPSILON <= epsilon <= largest:
        raise UsageError(f"epsilon {epsilon:g} is not between {SMALLEST_EPSILON:g} and {largest:g}")
    return float(epsilon)


def checked_delta(delta: float | None) -> float:
    """A delta strictly between 0 and 1.

    Raises:
        UsageError: it is not.
    """
    if delta is None or not 0 < delta < 1:  # refuses NaN too
        raise UsageError(f"delta {delta} is not between 0 and 1")
    return float(delta)


def checked_dimension(dimension: int | None) -> int:
    """A number of components in which there are directions.

    Raises:
        UsageError: it is missing, not whole, or below 2.
    """
    if dimension is None or not dimension >= 2 or dimension % 1 != 0:  # refuses NaN and infinity
        raise UsageError(f"dimension {dimension} is not a whole number from 2")
    return int(dimension)


def checked_clip(clip: float | None) -> float:
    """A bound on norms.

    Raises:
        UsageError: it is missing, NaN, infinite, not above 0, or beyond what floats can divide.
    """
    if clip is None or not _SMALLEST_CLIP <= clip <= _LARGEST_CLIP:
        raise UsageError(
            f"clip {clip} is not a number above 0: it bounds the norm of what is released,"
            " and the noise follows from it"
        )
    return float(clip)


def checked_neighbours(neighbours: str) -> Neighbours:
    """The relation that all mechanisms here protect.

    Raises:
        UsageError: it is another.
    """
    if neighbours != "replace":
        raise UsageError(
            f"neighbours {neighbours!r}: a template is protected on the device against any other in"
            ' its place, which is "replace"; nothing else holds here'
        )
    return "replace"


def finite_rows(x: npt.ArrayLike) -> FloatArray:
    """Vectors as rows in double precision.

    Args:
        x: shape (n, d), or (d,) for one.

    Returns:
        Shape (n, d).

    Raises:
        UsageError: these are not numbers in such a shape, or one is NaN or infinite.
    """
    given = np.asarray(x)
    if given.dtype.kind not in "fiu":
        raise UsageError(f"vectors are {given.dtype}; expected numbers")
    if given.ndim not in (1, 2) or given.shape[-1] == 0:
        raise UsageError(f"vectors have shape {given.shape}; expected (vectors, components)")
    rows = np.atleast_2d(given).astype(np.float64)
    if not np.isfinite(rows).all():
        raise UsageError("vectors hold NaN or infinity")
    return rows
