"""Bounding the norms of vectors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sordino.privacy.mechanisms.checks import checked_clip, finite_rows
from sordino.privacy.randomness import FloatArray


def clip_l1(x: npt.ArrayLike, clip: float) -> FloatArray:
    """Scale vectors down whose sum of absolute components is above a bound.

    Args:
        x: shape (n, d), or (d,) for one; not changed.
        clip: the bound C, above 0.

    Returns:
        x / max(1, |x| / C), float64, same shape; norms are at most C to within rounding.

    Raises:
        UsageError: the bound is not positive, or a component is NaN or infinite.

    Example:
        >>> clip_l1([[3.0, -1.0], [0.5, 0.5]], 2.0)
        array([[ 1.5, -0.5],
               [ 0.5,  0.5]])

    Source: M. Abadi et al., "Deep learning with differential privacy", 2016, algorithm 1.
    """
    return _clipped(x, clip, 1)


def clip_l2(x: npt.ArrayLike, clip: float) -> FloatArray:
    """The same for the Euclidean norm; see `clip_l1`.

    Example:
        >>> clip_l2([[3.0, -4.0]], 1.0)
        array([[ 0.6, -0.8]])
    """
    return _clipped(x, clip, 2)


def unit_rows(x: npt.ArrayLike) -> FloatArray:
    """Vectors scaled to Euclidean norm 1; zero stays zero.

    Args:
        x: shape (n, d), or (d,) for one; not changed.

    Returns:
        float64, same shape.

    Raises:
        UsageError: a component is NaN or infinite.

    Example:
        >>> unit_rows([[3e300, -4e300], [0.0, 0.0]])
        array([[ 0.6, -0.8],
               [ 0. ,  0. ]])
    """
    scaled, _ = _largest_one(finite_rows(x))
    norms = np.sqrt(np.square(scaled).sum(axis=1, keepdims=True))
    return (scaled / np.where(norms > 0, norms, 1.0)).reshape(np.shape(x))


def _clipped(x: npt.ArrayLike, clip: float, order: int) -> FloatArray:
    bound = checked_clip(clip)
    rows = finite_rows(x)
    scaled, sizes = _largest_one(rows)
    norms = (
        np.abs(scaled).sum(axis=1, keepdims=True)
        if order == 1
        else np.sqrt(np.square(scaled).sum(axis=1, keepdims=True))
    )
    with np.errstate(over="ignore"):  # a norm beyond all floats is beyond the bound
        beyond = (norms * sizes > bound)[:, 0]
    rows[beyond] = scaled[beyond] * (bound / norms[beyond])
    return rows.reshape(np.shape(x))


def _largest_one(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rows whose largest absolute component is 1, and what it was; zero rows stay, with 1."""
    sizes = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    sizes[sizes == 0] = 1.0
    return rows / sizes, sizes
