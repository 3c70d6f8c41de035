"""Vectors of bounded norm as whole numbers of grid steps.

Noise is added to whole numbers: the low bits of a sum of floats tell what was added to what.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sordino.errors import UsageError
from sordino.privacy.randomness import FloatArray, IntArray


@dataclass(frozen=True)
class Grid:
    """A grid for vectors whose norm is at most a bound.

    Attributes:
        clip: the bound C.
        step: a power of two, so that dividing by it and multiplying with it are exact.
        bound: the bound as a whole number of steps, rounded down.
    """

    clip: float
    step: float
    bound: int

    @classmethod
    def for_clip(cls, clip: float, bits: int) -> Grid:
        """The grid on which the bound has so many bits.

        Example:
            >>> Grid.for_clip(3.0, bits=8)
            Grid(clip=3.0, step=0.015625, bound=192)
        """
        step = math.ldexp(1.0, math.frexp(clip)[1] - bits)
        return cls(clip, step, math.floor(clip / step))

    def l1(self, clipped: FloatArray) -> IntArray:
        """Nearest points of the grid whose L1 norm is at most the bound, checked exactly.

        Args:
            clipped: shape (n, d), with norms of at most the bound to within rounding.

        Returns:
            Whole numbers of steps, same shape. Where the nearest point lies beyond the bound, the
            vector is shortened first, by at most d / 2 steps.

        Raises:
            UsageError: vectors have too many components for the grid.
        """
        return self._within(
            clipped,
            clipped.shape[1] / 2 + 1,
            lambda points: np.abs(points).sum(axis=1) <= self.bound,
        )

    def l2(self, clipped: FloatArray) -> IntArray:
        """The same for the Euclidean norm; a vector is shortened by at most sqrt(d) / 2 steps."""
        return self._within(
            clipped,
            math.sqrt(clipped.shape[1]) / 2 + 1,
            lambda points: np.square(points).sum(axis=1) <= self.bound**2,
        )

    def vectors(self, points: IntArray) -> FloatArray:
        """What points of the grid stand for; beyond 2 ** 53 steps the nearest float."""
        return points.astype(np.float64) * self.step

    def _within(
        self, clipped: FloatArray, room: float, fits: Callable[[IntArray], np.ndarray]
    ) -> IntArray:
        if room > self.bound / 2:
            raise UsageError(f"vectors of {clipped.shape[1]} components are too long for the grid")
        steps = clipped / self.step
        points = np.rint(steps, out=steps).astype(np.int64)
        beyond = ~fits(points)
        if beyond.any():
            shorter = clipped[beyond] * ((1 - 1e-12) * (1 - room / self.bound))
            points[beyond] = np.rint(shorter / self.step).astype(np.int64)
            if not fits(points[beyond]).all():
                raise UsageError("vectors were not clipped to the bound of the grid")
        return points
