"""The discrete Laplace distribution, exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sordino.privacy.exact.uniform import Uniform
from sordino.privacy.randomness import IntArray, Randomness, Shape, WordArray

LARGEST_SCALE = 2**47

_BLOCK = 2**14  # values at a time, so that what is computed on the way stays in the cache
_REJECTED = np.iinfo(np.int64).min
_HIGH_BITS = 16
_LOW_BITS, _TEST_BITS = 31, 32
# For a word from _SURE_WORD on, -ln(U) in double precision is off by less than 2 ** -36: by
# 2 ** -38 from cutting U to 64 bits and as much from the bit that keeps it from 0, and by far less
# from rounding, whatever library computes the logarithm.
_SURE_WORD, _SLACK = np.uint64(2**38), 2.0**-35


def discrete_laplace(scale: Fraction | int, shape: Shape, randomness: Randomness) -> IntArray:
    """Whole numbers with probabilities proportional to exp(-|k| / scale).

    Args:
        scale: above 0 and at most 2 ** 47.
        shape: of the result.
        randomness: where bits come from.

    Returns:
        Independent numbers of exactly this distribution.

    Raises:
        ValueError: the scale is out of range.

    Example:
        >>> from sordino.privacy.randomness import SystemRandomness
        >>> discrete_laplace(Fraction(5, 2), (2, 3), SystemRandomness()).shape
        (2, 3)

    A geometric number is written as m * high + low with m a power of two: the two parts are
    independent, high is geometric too, and low almost uniform. high is an inverted uniform number
    (whose logarithm is computed in double precision, and with more digits where the next
    whole number is so near that rounding could matter), low is made by rejection.

    Source of the distribution and of the rejected second zero: C. Canonne, G. Kamath and T.
    Steinke, "The discrete Gaussian for differential privacy", 2020, algorithm 2.
    """
    scale = Fraction(scale)
    if not 0 < scale <= LARGEST_SCALE:
        raise ValueError(f"scale {float(scale):g} is not above 0 and at most 2 ** 47")
    count = math.prod(shape) if isinstance(shape, tuple) else shape
    values = np.empty(count, dtype=np.int64)
    for start in range(0, count, _BLOCK):
        block = values[start : start + _BLOCK]
        block[:] = _candidates(scale, block.size, randomness)
        while (again := np.flatnonzero(block == _REJECTED)).size:
            block[again] = _candidates(scale, again.size, randomness)
    return values.reshape(shape)


def _candidates(scale: Fraction, count: int, randomness: Randomness) -> IntArray:
    """Numbers, or _REJECTED."""
    shift = max(0, math.floor(scale).bit_length() - 1 - _HIGH_BITS)
    first, second = randomness.bits((2, count))
    size: IntArray = _geometric(scale / 2**shift, first, randomness) << shift
    low = second & np.uint64(2**shift - 1)
    size |= low.astype(np.int64)
    negative = (second >> np.uint64(_LOW_BITS) & np.uint64(1)).astype(np.bool_)
    rejected = negative & (size == 0)
    rejected |= ~_low_accepted(scale, shift, low, second >> np.uint64(_TEST_BITS), randomness)
    np.negative(size, out=size, where=negative)
    size[rejected] = _REJECTED
    return size


def _geometric(scale: Fraction, words: WordArray, randomness: Randomness) -> IntArray:
    """Whole numbers from 0 with probabilities proportional to exp(-k / scale)."""
    exact = (words | np.uint64(1)).astype(np.float64)
    exact *= 2.0**-64
    np.log(exact, out=exact)
    exact *= -float(scale)
    whole = np.floor(exact)
    exact -= whole
    slack = float(scale) * _SLACK
    unsure = (exact < slack) | (exact > 1 - slack) | (words < _SURE_WORD)
    result: IntArray = whole.astype(np.int64)
    for index in np.flatnonzero(unsure):
        result[index] = Uniform(int(words[index]), 64, randomness).geometric(scale)
    return result


def _low_accepted(
    scale: Fraction, shift: int, low: WordArray, tests: WordArray, randomness: Randomness
) -> npt.NDArray[np.bool_]:
    """Events of the probability exp(-low / scale), where low is below 2 ** shift."""
    surely = math.floor((1 - 2**shift / scale) * 2**_TEST_BITS) if shift else 2**_TEST_BITS
    accepted: npt.NDArray[np.bool_] = tests < np.uint64(surely)
    for index in np.flatnonzero(~accepted):
        uniform = Uniform(int(tests[index]), _TEST_BITS, randomness)
        accepted[index] = uniform.below_exp(int(low[index]) / scale)
    return accepted
