"""Where random bits come from: the operating system, or a seed for simulations."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

WordArray = npt.NDArray[np.uint64]
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Shape = int | tuple[int, ...]

_WORDS = 2**64
_LARGEST = 2**63


class Randomness(ABC):
    """Random words, and what is made of them.

    Attributes:
        guarantee: whether nobody can predict the words, so that what is released with them keeps
            the guarantee of its mechanism.
    """

    guarantee: ClassVar[bool]

    @abstractmethod
    def bits(self, shape: Shape) -> WordArray:
        """Independent uniformly random 64-bit words of a shape."""

    def below(self, n: int, shape: Shape) -> IntArray:
        """Whole numbers from 0 to n - 1, exactly uniform.

        Raises:
            ValueError: n is not between 1 and 2 ** 63.

        Example:
            >>> SystemRandomness().below(1, 3)
            array([0, 0, 0])
        """
        if not 1 <= n <= _LARGEST:
            raise ValueError(f"no whole numbers from 0 to below {n}")
        words = self.bits(shape).ravel().copy()
        unfair = _WORDS % n  # so many words at the top would make low numbers more likely
        while unfair and (again := np.flatnonzero(words > np.uint64(_WORDS - unfair - 1))).size:
            words[again] = self.bits(again.size)
        numbers: IntArray = (words % np.uint64(n)).astype(np.int64).reshape(shape)
        return numbers

    def signs(self, shape: Shape) -> IntArray:
        """-1 or 1, each with probability one half."""
        signs: IntArray = (self.bits(shape) >> np.uint64(63)).astype(np.int64) * 2 - 1
        return signs

    def uniforms(self, shape: Shape) -> FloatArray:
        """Numbers between 0 and 1, neither of them, in steps of 2 ** -52.

        For what no guarantee rests on.
        """
        steps = (self.bits(shape) >> np.uint64(12)).astype(np.float64)
        result: FloatArray = (steps + 0.5) * 2.0**-52
        return result

    def normals(self, shape: Shape) -> FloatArray:
        """Standard normal numbers in double precision.

        For directions: noise that is added to a vector must be exact, see `sordino.privacy.exact`.

        Source: G. E. P. Box and M. E. Muller, "A note on the generation of random normal
        deviates", 1958.
        """
        count = math.prod(shape) if isinstance(shape, tuple) else shape
        half = (count + 1) // 2
        uniforms = self.uniforms((2, half))
        radius = np.sqrt(-2 * np.log(uniforms[0]))
        angle = 2 * np.pi * uniforms[1]
        both = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
        return both[:count].reshape(shape)


class SystemRandomness(Randomness):
    """The operating system's cryptographic generator; the only kind that protects people.

    Nothing is kept between calls, so that a process and its forks never share words.

    Example:
        >>> SystemRandomness().bits((2, 3)).shape
        (2, 3)
    """

    guarantee = True

    def bits(self, shape: Shape) -> WordArray:
        """Random words; the array cannot be written to."""
        count = math.prod(shape) if isinstance(shape, tuple) else shape
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64).reshape(shape)


class SeededRandomness(Randomness):
    """Words that a seed decides, for simulations and tests: protects nobody.

    Args:
        seed: from 0 to below 2 ** 128.

    Raises:
        ValueError: the seed is out of range.

    Example:
        >>> bool((SeededRandomness(7).bits(5) == SeededRandomness(7).bits(5)).all())
        True

    Source: the generator Philox: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
    2011.
    """

    guarantee = False

    def __init__(self, seed: int) -> None:
        if not 0 <= seed < 2**128:
            raise ValueError(f"seed {seed} is not between 0 and 2 ** 128")
        self._generator = np.random.Philox(key=seed)

    def bits(self, shape: Shape) -> WordArray:
        """The next words of the sequence."""
        count = math.prod(shape) if isinstance(shape, tuple) else shape
        words: WordArray = self._generator.random_raw(count).reshape(shape)
        return words
