"""Laplace noise on vectors of bounded L1 norm."""

from __future__ import annotations

import math
from fractions import Fraction

from sordino.privacy.exact import discrete_laplace
from sordino.privacy.mechanisms.base import Additive
from sordino.privacy.mechanisms.checks import (
    Neighbours,
    checked_clip,
    checked_epsilon,
    checked_neighbours,
)
from sordino.privacy.mechanisms.clip import clip_l1
from sordino.privacy.mechanisms.grid import Grid
from sordino.privacy.randomness import FloatArray, Randomness

# The largest scale is then 2 ** 33 / epsilon = 2 ** 46 steps, within what the sampler makes.
_BITS = 32


class Laplace(Additive):
    """Clips the L1 norm to C and adds noise of scale 2 C / epsilon to every component.

    The clipped vector is put on a grid of about C / 2 ** 32, its norm is checked there, and
    discrete Laplace noise is added to whole numbers: epsilon holds as it is, rounding included.

    Args:
        clip: C, above 0.
        epsilon: from 2 ** -13.
        neighbours: only "replace": any vector against any other, so that the sensitivity is 2 C.

    Attributes:
        grid: what results are multiples of.
        scale: of the noise, about 2 C / epsilon.

    Raises:
        UsageError: an argument is missing or out of range.

    Example:
        >>> mechanism = Laplace(clip=18.35, epsilon=15)
        >>> mechanism.release(np.zeros((3, 64))).shape
        (3, 64)
        >>> round(mechanism.scale, 3)
        2.447

    Source: C. Dwork et al., "Calibrating noise to sensitivity in private data analysis", 2006; on
    the grid: I. Mironov, "On significance of the least significant bits for differential
    privacy", 2012.
    """

    name = "laplace"

    def __init__(
        self,
        clip: float | None = None,
        epsilon: float | None = None,
        neighbours: Neighbours = "replace",
    ) -> None:
        checked_neighbours(neighbours)
        self.clip = checked_clip(clip)
        self.epsilon = checked_epsilon(epsilon)
        self.grid = Grid.for_clip(self.clip, _BITS)
        self._steps = 2 * self.grid.bound / Fraction(self.epsilon)

    @property
    def scale(self) -> float:
        """Scale of the noise, in units of the vectors."""
        return float(self._steps) * self.grid.step

    def mean_squared_error(self, dimension: int) -> float:
        """Expected squared Euclidean distance of one release from its clipped vector.

        Args:
            dimension: number of components.

        Example:
            >>> round(Laplace(clip=0.5, epsilon=2).mean_squared_error(64), 6)  # 2 scale ** 2 each
            32.0
        """
        return dimension * self.grid.step**2 / (2 * math.sinh(1 / (2 * float(self._steps))) ** 2)

    def _released(self, rows: FloatArray, randomness: Randomness) -> FloatArray:
        points = self.grid.l1(clip_l1(rows, self.clip))
        points += discrete_laplace(self._steps, points.shape, randomness)
        return self.grid.vectors(points)

    def _terms(self) -> dict[str, object]:
        return {
            "clip": self.clip,
            "norm": "l1",
            "grid": self.grid.step,
            "scale": self.scale,
        }
