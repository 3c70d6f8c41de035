"""Smoothing of a contour that has gaps, piece by piece."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


class Smoothing:
    """A weighted mean of the voiced frames around each voiced frame.

    Args:
        reach: frames to each side that have weight (a Hann window).

    Example:
        >>> smoothing = Smoothing(1)
        >>> smoothing.process(np.array([0.0, 4, 9]), np.array([True, True, False]), last=True)[0]
        array([1.33333333, 2.66666667, 0.        ])
    """

    def __init__(self, reach: int) -> None:
        self._weights = np.sin(np.pi * np.arange(1, 2 * reach + 2) / (2 * reach + 2)) ** 2
        self._reach = reach
        self._values = np.zeros(reach)
        self._voiced = np.zeros(reach, dtype=np.bool_)

    def process(
        self, values: FloatArray, voiced: BoolArray, last: bool
    ) -> tuple[FloatArray, BoolArray]:
        """The next frames, `reach` behind those that came in; 0 where unvoiced."""
        ending = self._reach if last else 0
        self._values = np.concatenate([self._values, np.where(voiced, values, 0), np.zeros(ending)])
        self._voiced = np.concatenate([self._voiced, voiced, np.zeros(ending, dtype=np.bool_)])
        ready = max(self._values.size - 2 * self._reach, 0)
        # One addition for each weight, in the same order for every frame: pieces give exactly
        # what the whole gives.
        total, weight = np.zeros(ready), np.zeros(ready)
        for place, share in enumerate(self._weights):
            total += share * self._values[place : place + ready]
            weight += share * self._voiced[place : place + ready]
        centre = self._voiced[self._reach : self._reach + ready]
        self._values, self._voiced = self._values[ready:], self._voiced[ready:]
        return np.where(centre, total / np.where(centre, weight, 1.0), 0.0), centre
