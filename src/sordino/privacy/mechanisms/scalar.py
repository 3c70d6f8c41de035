"""Lengths of vectors, for mechanisms that release directions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.privacy.exact import bernoulli
from sordino.privacy.mechanisms.checks import checked_clip, checked_epsilon, finite_rows
from sordino.privacy.mechanisms.clip import clip_l2, unit_rows
from sordino.privacy.randomness import FloatArray, Randomness, SystemRandomness

_WORDS = 2**64
_MOST_LEVELS = 2**32


class ScalarDP:
    """Unbiased releases of numbers from 0 to C, by randomised response on a few levels.

    A number is rounded at random to one of k + 1 levels; this level is kept with the probability
    p = exp(epsilon) / (exp(epsilon) + k), else any other is released.

    Args:
        clip: C, above 0; larger numbers count as C.
        epsilon: from 2 ** -13; k is exp(epsilon / 3), rounded up, at most 2 ** 32.

    Attributes:
        levels: k.
        keep: p, rounded down.

    Raises:
        UsageError: an argument is missing or out of range.

    Example:
        >>> scalar = ScalarDP(clip=2.0, epsilon=8)
        >>> scalar.levels
        15
        >>> scalar.release([0.5, 2.0]).shape
        (2,)

    Source: A. Bhowmick et al., "Protection against reconstruction and its applications in private
    federated learning", 2018, algorithm 4.
    """

    def __init__(self, clip: float | None = None, epsilon: float | None = None) -> None:
        self.clip = checked_clip(clip)
        self.epsilon = checked_epsilon(epsilon)
        self.levels = math.ceil(math.exp(min(self.epsilon / 3, math.log(_MOST_LEVELS))))
        # What is left to 1 is rounded up to a random word's, and by more than exp is off.
        left = self.levels / (self.levels + math.exp(min(self.epsilon, 700.0))) * (1 + 1e-12)
        self._keep = 1 - Fraction(math.ceil(Fraction(left) * _WORDS), _WORDS)
        self.keep = float(self._keep)

    def release(self, numbers: npt.ArrayLike, randomness: Randomness | None = None) -> FloatArray:
        """Make protected numbers; each spends epsilon of its own.

        Args:
            numbers: shape (n,), from 0.
            randomness: where random bits come from; the operating system by default.

        Returns:
            float64, shape (n,); below 0 or above C too.

        Raises:
            UsageError: a number is negative, NaN or infinite.
        """
        given = np.asarray(numbers)
        values = finite_rows(given)
        if given.ndim != 1 or (values < 0).any():
            raise UsageError("lengths are not a row of numbers from 0")
        source = SystemRandomness() if randomness is None else randomness
        exact = np.minimum(values[0] / self.clip, 1.0) * self.levels
        level = np.floor(exact)
        level += source.uniforms(level.shape) < exact - level
        # Levels other than the own one are those from 0 to k - 1, with k in the place of the own.
        other = source.below(self.levels, level.shape).astype(np.float64)
        other[other == level] = self.levels
        released = np.where(bernoulli(self._keep, level.shape, source), level, other)
        return self.number_of(released)

    def number_of(self, level: npt.ArrayLike) -> FloatArray:
        """What is released for a level, right on average.

        Args:
            level: 0 to k, any shape.

        Returns:
            float64, same shape.

        Example:
            >>> ScalarDP(clip=1.0, epsilon=2).number_of([0, 2]).round(3)
            array([-0.235,  1.235])
        """
        numbers: FloatArray = (np.asarray(level) - self._offset) / self._slope
        return numbers * (self.clip / self.levels)

    def mean_squared_error(self, number: float) -> float:
        """Expected squared difference of one release from the number.

        Args:
            number: from 0 to C.
        """
        k, p = self.levels, self.keep
        exact = min(number / self.clip, 1.0) * k
        part = exact - math.floor(exact)
        rounded_square = exact**2 + part * (1 - part)
        others_square = k * (k + 1) * (2 * k + 1) / 6 - rounded_square
        square = p * rounded_square + (1 - p) * others_square / k
        mean = self._slope * exact + self._offset
        return (square - mean**2) / self._slope**2 * (self.clip / k) ** 2

    @property
    def _slope(self) -> float:
        return self.keep - (1 - self.keep) / self.levels

    @property
    def _offset(self) -> float:
        return (1 - self.keep) * (self.levels + 1) / 2


class SignFlip:
    """Puts the length of a vector into how often its direction is turned around; spends nothing.

    Of a vector of length r, the direction is turned around with the probability (1 - r / C) / 2:
    C times the mean of what comes out is the vector.

    Args:
        clip: C, above 0; longer vectors are shortened.

    Raises:
        UsageError: the clip is missing or out of range.

    Example:
        >>> SignFlip(clip=5.0).directions([[3.0, 4.0]])
        array([[0.6, 0.8]])
    """

    def __init__(self, clip: float | None = None) -> None:
        self.clip = checked_clip(clip)

    def directions(self, x: npt.ArrayLike, randomness: Randomness | None = None) -> FloatArray:
        """Directions for a mechanism to protect; they are not protected themselves.

        Args:
            x: shape (n, d); not changed.
            randomness: where random bits come from; the operating system by default.

        Returns:
            float64, same shape: rows of length 1, or of zeros where the vector is.

        Raises:
            UsageError: a component is NaN or infinite, or the shape is wrong.
        """
        rows = clip_l2(finite_rows(x), self.clip) / self.clip
        source = SystemRandomness() if randomness is None else randomness
        lengths = np.linalg.norm(rows, axis=1)
        turned = source.uniforms(len(rows)) < (1 - lengths) / 2
        return np.where(turned, -1.0, 1.0)[:, None] * unit_rows(rows)
