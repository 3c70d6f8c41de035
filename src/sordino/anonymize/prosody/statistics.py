"""Where a voice has spoken so far: mean and spread of its pitch, whatever the tracker mistakes."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_LOWEST = math.log(40)
_WIDTH = math.log(2) / 48
_BINS = 236
_CENTRE = math.log(160)
_SHARE = 0.05
# The variance of a standard normal variable that is held between its 5 % and 95 % quantiles.
_HELD_VARIANCE = 0.83125
_PRIOR = 0.2
_AT_ONCE = 256


class RunningPitch:
    """Mean and standard deviation of log F0 over everything so far, after each voiced frame.

    Both are winsorised: values beyond the 5 % and 95 % quantiles count as those quantiles, and
    the deviation is scaled to be right for normal distributions. Octave errors, a few per cent
    of the frames with most trackers, would pull a plain mean by half a semitone and nearly
    double a deviation; quantiles alone (median, interquartile range) would make more of where a
    few frames happen to lie. A histogram in quarters of a semitone finds the quantiles, so the
    work does not grow with time; sums are exact.

    Args:
        doubt: how many frames of a common deviation (0.2) a deviation is mixed with, since little
            speech says little about it.

    Example:
        >>> logs = np.log([100.0, 110, 120, 240])
        >>> RunningPitch().add(logs).shape
        (4, 2)
    """

    def __init__(self, doubt: float = 0.0) -> None:
        self._doubt = doubt
        self._frames = 0
        self._powers = np.zeros((3, _BINS))

    def add(self, logs: FloatArray) -> FloatArray:
        """Hear more voiced frames.

        Args:
            logs: natural logarithm of F0 in hertz, shape (frames,).

        Returns:
            Shape (frames, 2): mean and deviation after each.
        """
        starts = range(0, logs.size, _AT_ONCE)
        parts = [self._add(logs[start : start + _AT_ONCE]) for start in starts]
        return np.concatenate([np.zeros((0, 2)), *parts])

    def _add(self, logs: FloatArray) -> FloatArray:
        bins = np.clip((logs - _LOWEST) / _WIDTH, 0, _BINS - 1).astype(np.int64)
        # By frame and bin: how many values, their sum, the sum of their squares.
        tables = np.zeros((3, logs.size + 1, _BINS))
        tables[:, 0] = self._powers
        for power, table in enumerate(tables):
            table[np.arange(1, logs.size + 1), bins] = (logs - _CENTRE) ** power
        np.cumsum(tables, axis=1, out=tables)
        self._powers = tables[:, -1].copy()
        total = self._frames + np.arange(1, logs.size + 1)
        self._frames += logs.size
        mean, variance = _winsorised(tables[:, 1:], total)
        variance = (total * variance + self._doubt * _PRIOR**2) / (total + self._doubt)
        return np.stack([mean + _CENTRE, np.sqrt(variance)], axis=1)


def _winsorised(tables: FloatArray, total: npt.NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    """Mean and variance by frame from tables (3, frames, bins) of counts, sums and squares."""
    upto = np.cumsum(tables, axis=2)
    low = np.sum(upto[0] <= _SHARE * total[:, None], axis=1)[None, :, None]
    high = np.sum(upto[0] < (1 - _SHARE) * total[:, None], axis=1)[None, :, None]
    in_low = np.take_along_axis(tables, low, axis=2)[..., 0]
    in_high = np.take_along_axis(tables, high, axis=2)[..., 0]
    upto_low = np.take_along_axis(upto, low, axis=2)[..., 0]
    upto_high = np.take_along_axis(upto, high, axis=2)[..., 0]
    lowest, highest = in_low[1] / in_low[0], in_high[1] / in_high[0]
    below, above = upto_low[0] - in_low[0], total - upto_high[0]
    _, sums, squares = upto_high - upto_low + in_low
    mean = (sums + below * lowest + above * highest) / total
    square = (squares + below * lowest**2 + above * highest**2) / total
    return mean, np.maximum(square - mean**2, 0.0) / _HELD_VARIANCE
