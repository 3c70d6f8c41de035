"""Gaussian noise on vectors of bounded Euclidean norm."""

from __future__ import annotations

import math
from fractions import Fraction

from sordino.privacy.exact import discrete_gaussian
from sordino.privacy.mechanisms.base import Additive
from sordino.privacy.mechanisms.calibration import gaussian_noise_multiplier
from sordino.privacy.mechanisms.checks import (
    Neighbours,
    checked_clip,
    checked_delta,
    checked_epsilon,
    checked_neighbours,
)
from sordino.privacy.mechanisms.clip import clip_l2
from sordino.privacy.mechanisms.grid import Grid
from sordino.privacy.randomness import FloatArray, Randomness

# Squares of so many bits add up in 64.
_BITS = 26
_ROUNDING_VARIANCE = 4


class Gaussian(Additive):
    """Clips the Euclidean norm to C and adds Gaussian noise for a sensitivity of 2 C.

    The clipped vector is put on a grid of about C / 2 ** 26, its norm is checked there, and
    discrete Gaussian noise is added to whole numbers.

    On the grid the guarantee is that of continuous noise. Round continuous Gaussian noise x of
    variance v to a whole number k with probability proportional to exp(-(k - x) ** 2 / (2 * 4)):
    that is discrete Gaussian noise of variance v + 4, up to a factor within 1 +- 1e-33 for each
    component, since the sum of these exponentials over all k depends on x by less. Rounding
    cannot weaken a guarantee. So noise of variance v + 4 is drawn, where v is what continuous noise
    needs; rounding v up outweighs the factors by far.

    Args:
        clip: C, above 0.
        epsilon: from 2 ** -13.
        delta: between 0 and 1; far below one over the number of people.
        neighbours: only "replace": any vector against any other, so that the sensitivity is 2 C.

    Attributes:
        grid: what results are multiples of.
        standard_deviation: of the noise.

    Raises:
        UsageError: an argument is missing or out of range.

    Example:
        >>> mechanism = Gaussian(clip=1.0, epsilon=2, delta=1e-6)
        >>> mechanism.release(np.zeros((3, 64))).shape
        (3, 64)
        >>> round(mechanism.standard_deviation, 3)
        4.461

    Source: B. Balle and Y.-X. Wang, "Improving the Gaussian mechanism for differential privacy",
    2018; C. Canonne, G. Kamath and T. Steinke, "The discrete Gaussian for differential
    privacy", 2020; on the rounding: C. Peikert, "An efficient and parallel Gaussian sampler for
    lattices", 2010, theorem 3.1.
    """

    name = "gaussian"

    def __init__(
        self,
        clip: float | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        neighbours: Neighbours = "replace",
    ) -> None:
        checked_neighbours(neighbours)
        self.clip = checked_clip(clip)
        self.epsilon = checked_epsilon(epsilon)
        self.delta = checked_delta(delta)
        self.grid = Grid.for_clip(self.clip, _BITS)
        steps = Fraction(gaussian_noise_multiplier(self.epsilon, self.delta)) * 2 * self.grid.bound
        self._variance = steps**2 + _ROUNDING_VARIANCE

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the noise, in units of the vectors."""
        return math.sqrt(self._variance) * self.grid.step

    def mean_squared_error(self, dimension: int) -> float:
        """Expected squared Euclidean distance of one release from its clipped vector.

        Args:
            dimension: number of components.

        Example:
            >>> round(Gaussian(clip=1.0, epsilon=8, delta=1e-6).mean_squared_error(64), 1)
            109.1
        """
        return dimension * float(self._variance) * self.grid.step**2

    def _released(self, rows: FloatArray, randomness: Randomness) -> FloatArray:
        points = self.grid.l2(clip_l2(rows, self.clip))
        points += discrete_gaussian(self._variance, points.shape, randomness)
        return self.grid.vectors(points)

    def _terms(self) -> dict[str, object]:
        return {
            "clip": self.clip,
            "norm": "l2",
            "grid": self.grid.step,
            "standard_deviation": self.standard_deviation,
        }
