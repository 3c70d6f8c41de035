"""The discrete Gaussian distribution, exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sordino.privacy.exact.laplace import discrete_laplace
from sordino.privacy.exact.uniform import Uniform
from sordino.privacy.randomness import IntArray, Randomness, Shape

LARGEST_VARIANCE = 2**93

_BLOCK = 2**14
# A probability in double precision is off by far less.
_SLACK = 2.0**-35


def discrete_gaussian(variance: Fraction | int, shape: Shape, randomness: Randomness) -> IntArray:
    """Whole numbers with probabilities proportional to exp(-k ** 2 / (2 variance)).

    Args:
        variance: above 0 and below 2 ** 93; the distribution's own is a little different where
            it is below about 1.
        shape: of the result.
        randomness: where bits come from.

    Returns:
        Independent numbers of exactly this distribution.

    Raises:
        ValueError: the variance is out of range.

    Example:
        >>> from sordino.privacy.randomness import SystemRandomness
        >>> discrete_gaussian(Fraction(5, 2), (2, 3), SystemRandomness()).shape
        (2, 3)

    Source: C. Canonne, G. Kamath and T. Steinke, "The discrete Gaussian for differential
    privacy", 2020, algorithm 3: discrete Laplace numbers, of which some are kept.
    """
    variance = Fraction(variance)
    if not 0 < variance < LARGEST_VARIANCE:
        raise ValueError(f"variance {float(variance):g} is not above 0 and below 2 ** 93")
    count = math.prod(shape) if isinstance(shape, tuple) else shape
    values = np.empty(count, dtype=np.int64)
    done = 0
    while done < count:
        kept = _candidates(variance, min(_BLOCK, 2 * (count - done) + 16), randomness)
        kept = kept[: count - done]
        values[done : done + kept.size] = kept
        done += kept.size
    return values.reshape(shape)


def _candidates(variance: Fraction, count: int, randomness: Randomness) -> IntArray:
    """About three quarters of so many numbers."""
    scale = math.isqrt(math.floor(variance)) + 1
    values = discrete_laplace(scale, count, randomness)
    return values[_kept(values, variance, scale, randomness)]


def _kept(
    values: IntArray, variance: Fraction, scale: int, randomness: Randomness
) -> npt.NDArray[np.bool_]:
    """Events of the probability exp(-(|value| - variance / scale) ** 2 / (2 variance))."""
    words = randomness.bits(values.size)
    distance = np.abs(values).astype(np.float64)
    distance -= float(variance / scale)
    distance /= math.sqrt(variance)
    np.square(distance, out=distance)
    probability = np.exp(-0.5 * distance)
    probability -= words * 2.0**-64
    kept: npt.NDArray[np.bool_] = probability > 0
    for index in np.flatnonzero(np.abs(probability) < _SLACK):
        rate = (abs(int(values[index])) - variance / scale) ** 2 / (2 * variance)
        kept[index] = Uniform(int(words[index]), 64, randomness).below_exp(rate)
    return kept
