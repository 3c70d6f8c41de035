"""Keyed random movements: smooth, endless, and the same wherever one begins to look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sordino.dsp.sequences import uniforms

if TYPE_CHECKING:
    from sordino.anonymize.base import Draws

FloatArray = npt.NDArray[np.float64]


def seed_of(draws: Draws, purpose: str) -> int:
    """The seed of a keyed sequence: 128 bits, not to be computed without the key.

    Args:
        draws: the pseudo-speaker's random choices.
        purpose: tells sequences of one pseudo-speaker apart.
    """
    return int.from_bytes(draws.key.derive("sequence", *draws.labels, purpose)[:16], "big")


def smooth_noise(times: FloatArray, seed: int, *, first: int | None = None) -> FloatArray:
    """A random curve without corners, led by a random number at each whole number of time.

    Args:
        times: where to look, in rising order, shape (times,).
        seed: of the curve, from 0 to below 2 ** 128.
        first: numbers before this one are 0; None where there are random numbers everywhere.

    Returns:
        From 0 to 1, shape (times,); it moves by at most 1 in a unit of time.

    Example:
        >>> smooth_noise(np.array([0.0, 0.5]), seed=3, first=2).round(3)
        array([0.   , 0.008])

    Source: uniform cubic B-splines: C. de Boor, "A practical guide to splines", 1978. Their slope
    is an average of the differences between neighbouring numbers.
    """
    if not times.size:
        return np.zeros(0)
    whole = np.floor(times).astype(np.int64)
    start = int(whole[0]) - 1
    numbers = uniforms(start, int(whole[-1]) + 3 - start, seed)
    if first is not None:
        numbers[: max(first - start, 0)] = 0.0
    x = times - whole
    weights = ((1 - x) ** 3, 3 * x**3 - 6 * x**2 + 4, -3 * x**3 + 3 * x**2 + 3 * x + 1, x**3)
    place = whole - whole[0]
    curve = np.zeros(times.size)
    for offset, weight in enumerate(weights):
        curve += weight / 6 * numbers[place + offset]
    return curve
