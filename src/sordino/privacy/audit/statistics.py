"""Scores of released vectors that tell two inputs apart: high for the first, low for the second.

The best score for a mechanism is the log ratio of its two densities (Neyman and Pearson); where
the mechanism is not known, a score is learnt.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Statistic = Callable[[FloatArray], FloatArray]
"""Scores, shape (n,), of released vectors, shape (n, d)."""

_RIDGE = 1e-9
_DECIMALS = 6
NO_BITS = 2000
"""Where the lowest bit of zero is said to be: above that of any number."""


def laplace_ratio(first: npt.ArrayLike, second: npt.ArrayLike, scale: float) -> Statistic:
    """The log ratio of the densities of two inputs with Laplace noise, exact.

    Args:
        first, second: the inputs, clipped, shape (d,).
        scale: of the noise, above 0.

    Example:
        >>> laplace_ratio([1.0], [-1.0], 0.5)(np.array([[5.0], [0.0], [-5.0]])).tolist()
        [4.0, 0.0, -4.0]
    """
    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
    differ = one != other

    def statistic(released: FloatArray) -> FloatArray:
        seen = released[:, differ]
        far = np.abs(seen - other[differ]) - np.abs(seen - one[differ])
        # Rounded, or its last bits would tell what the low bits of the releases do.
        ratio: FloatArray = np.round(far.sum(axis=1) / scale, _DECIMALS)
        return ratio

    return statistic


def projection(first: npt.ArrayLike, second: npt.ArrayLike) -> Statistic:
    """The part along the line from the second input to the first.

    It orders outcomes as the ratio of the densities does for Gaussian noise, and for PrivUnit
    with opposite inputs.

    Example:
        >>> projection([1.0, 0.0], [-1.0, 0.0])(np.array([[3.0, 7.0]])).tolist()
        [6.0]
    """
    direction = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    return _along(direction, np.zeros_like(direction))


def two_caps(first: npt.ArrayLike, second: npt.ArrayLike, height: float) -> Statistic:
    """In the cap around the first input (1), around the second (-1), in none or both (0).

    It is the log ratio of PrivUnit's two densities, up to a factor.

    Args:
        first, second: the inputs, of norm 1, shape (d,).
        height: of the released vectors along the input, from which on they are in its cap.

    Example:
        >>> two_caps([1.0, 0.0], [0.0, 1.0], 2.0)(np.array([[3.0, 0], [0, 3], [3, 3]])).tolist()
        [1.0, -1.0, 0.0]
    """
    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)

    def statistic(released: FloatArray) -> FloatArray:
        inside = (released @ one >= height).astype(np.float64)
        return inside - (released @ other >= height)

    return statistic


def learn(first: FloatArray, second: FloatArray) -> Statistic:
    """The linear score that separates releases of two inputs best: Fisher's discriminant.

    It finds noise that is correlated between components, as known ratios do not.

    Args:
        first, second: releases of the two inputs, shape (n, d) each.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> shared = rng.normal(size=(50, 1)) * np.ones(3)
        >>> score = learn(shared[:25] + [0.1, 0, 0], shared[25:])
        >>> bool(score(shared + [0.1, 0, 0]).min() > score(shared).max())
        True
    """
    centres = first.mean(axis=0), second.mean(axis=0)
    within = (np.cov(first, rowvar=False) + np.cov(second, rowvar=False)) / 2
    within = np.atleast_2d(within)
    size = within.shape[0]
    # The ridge keeps directions without any noise finite; without any noise at all it is all.
    ridge = _RIDGE * float(np.trace(within)) / size or 1.0
    direction = np.linalg.solve(within + ridge * np.eye(size), centres[0] - centres[1])
    middle = (centres[0] + centres[1]) / 2
    return _along(direction, middle)


def lowest_bits(values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """The exponent of the lowest bit that is set: the finest power of two that a number uses.

    Args:
        values: finite, any shape. Zero uses no bit: `NO_BITS`.

    Example:
        >>> lowest_bits([1.0, 0.75, 6.0, 0.1]).tolist()
        [0, -2, 1, -55]
    """
    mantissa, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return np.where(whole == 0, NO_BITS, exponent.astype(np.int64) - 53 + lowest)


def _along(direction: FloatArray, middle: FloatArray) -> Statistic:
    def statistic(released: FloatArray) -> FloatArray:
        scores: FloatArray = (released - middle) @ direction
        return scores

    return statistic
