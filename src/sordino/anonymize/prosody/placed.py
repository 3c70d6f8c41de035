"""A pitch track relative to where its speaker speaks, as far as that has been heard."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.anonymize.prosody.statistics import RunningPitch

FloatArray = npt.NDArray[np.float64]

_DOUBT = 25.0


@dataclass(frozen=True)
class Placed:
    """Frames of a track, shape (frames,) each.

    Attributes:
        voiced: which are.
        offset: natural logarithm of F0 over the speaker's mean; 0 where unvoiced.
        deviation: the speaker's standard deviation; 1 where nobody has been heard.
    """

    voiced: npt.NDArray[np.bool_]
    offset: FloatArray
    deviation: FloatArray


class Placing:
    """Says of each frame where it lies in its speaker's register.

    The register is that of all voiced frames up to a fixed time after the frame, so that a
    stream gives the same as a file.

    Args:
        ahead: that time in frames, from 0.
    """

    def __init__(self, ahead: int) -> None:
        self._ahead = ahead
        self._running = RunningPitch(_DOUBT)
        self._track = np.zeros(0)
        # Of each waiting frame: how many frames were voiced up to there.
        self._heard = np.zeros(0, dtype=np.int64)
        self._voiced = 0
        # Statistics after so many voiced frames; the first row is after `_dropped` of them.
        self._rows = np.array([[0.0, 1.0]])
        self._dropped = 0

    def process(self, f0: npt.NDArray[np.floating], last: bool) -> Placed:
        """The next frames of which that is known; see `Contour.process`."""
        heard = self._voiced + np.cumsum(f0 > 0)
        self._voiced = int(heard[-1]) if heard.size else self._voiced
        rows = self._running.add(np.log(f0[f0 > 0].astype(np.float64)))
        self._rows = np.concatenate([self._rows, rows])
        self._heard = np.concatenate([self._heard, heard])
        self._track = np.concatenate([self._track, f0])
        waiting = self._track.size
        ready = waiting if last else max(waiting - self._ahead, 0)
        horizon = np.minimum(np.arange(ready) + self._ahead, waiting - 1)
        known = self._rows[self._heard[horizon] - self._dropped]
        track = self._track[:ready]
        if ready:
            done = int(self._heard[horizon[-1]])
            self._rows = self._rows[done - self._dropped :]
            self._dropped = done
        self._track, self._heard = self._track[ready:], self._heard[ready:]
        voiced = track > 0
        logs = np.log(np.where(voiced, track, 1.0))
        return Placed(voiced, np.where(voiced, logs - known[:, 0], 0.0), known[:, 1])
