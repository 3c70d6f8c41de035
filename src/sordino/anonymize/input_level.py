"""Speech brought to one level before networks hear it, however long it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from sordino.anonymize.windows import (
    FRAME,
    FRAMES,
    RATE,
    UNIT,
    WAVE,
    Piece,
    Tracks,
    Window,
    windowed,
)

FloatArray = npt.NDArray[np.float64]

OPEN = "open"
# The level of speech as networks hear it, root mean square of the louder frames, full scale 1.
TARGET = 0.08
# The amplitude at -70 dB of full scale. As in measuring loudness, less is no sound.
FLOOR = 10 ** (-70 / 20)

_MOST_GAIN = 10.0
_FORGET_S = 10.0


def levelled(pieces: Iterable[Piece], ahead: int) -> Iterator[Piece]:
    """Bring the track "wave" to the level `TARGET`, and add a track "open": where there is sound.

    The gain at any time follows from what was heard up to a fixed time after it, so that it does
    not depend on how a signal is cut; it changes smoothly, and is 20 dB at most. Frames
    count by their amplitude, so that pauses hardly do, nor short clicks.

    Args:
        pieces: a signal; every channel is levelled for itself.
        ahead: units that are heard before a gain is decided, at least 1.

    Yields:
        The signal; "open" is True for frames of 10 ms that are above -70 dB of full scale.

    Example:
        >>> from sordino.anonymize.windows import cells
        >>> quiet = 0.02 * np.sin(np.arange(32000) * 0.3)[None]
        >>> parts = list(levelled(cells([quiet], 10), ahead=5))
        >>> wave = np.concatenate([piece.tracks["wave"] for piece in parts], axis=1)
        >>> round(float(wave.std()), 3)
        0.08
    """
    return windowed(pieces, _Level(ahead), before=0, after=ahead, most=2**31)


def amplitudes(wave: npt.NDArray[np.floating]) -> FloatArray:
    """The standard deviation in frames of 10 ms.

    Args:
        wave: shape (channels, samples), whole frames at 16 kHz.

    Returns:
        Shape (channels, frames).
    """
    frames = wave.reshape(len(wave), -1, FRAME)
    mean = frames.mean(axis=2, dtype=np.float64)
    power = np.einsum("cfs,cfs->cf", frames, frames, dtype=np.float64) / FRAME
    deviation: FloatArray = np.sqrt(np.maximum(power - mean**2, 0.0))
    return deviation


class _Level:
    """The running gain of each channel."""

    def __init__(self, ahead: int) -> None:
        self._ahead = ahead
        self._keep = math.exp(-UNIT / (RATE * _FORGET_S))
        self._heard = 0
        self._sums: FloatArray | None = None
        # Gains by what had been heard after each unit; the first is that of unit `_first`.
        self._gains: list[FloatArray] = []
        self._first = 0

    def __call__(self, window: Window) -> Tracks:
        wave = window.tracks[WAVE]
        sound = amplitudes(wave)
        active = sound > FLOOR
        unheard = self._heard - window.start
        self._hear((sound * active).reshape(len(wave), -1, FRAMES)[:, unheard:])
        return {
            WAVE: window.kept(wave) * self._by_sample(window.start, window.keep),
            OPEN: window.kept(active),
        }

    def _hear(self, sound: FloatArray) -> None:
        new = np.stack([sound.sum(axis=2), (sound**2).sum(axis=2)])
        sums = np.zeros(new.shape[:2]) if self._sums is None else self._sums
        for unit in range(new.shape[2]):
            sums = new[:, :, unit] = self._keep * sums + new[:, :, unit]
        self._sums = sums.copy()
        heard = new[1] > 0
        level = new[1] / np.where(heard, new[0], 1.0)
        gain = np.where(heard, TARGET / np.where(heard, level, 1.0), 1.0)
        self._gains += list(np.minimum(gain, _MOST_GAIN).T)
        self._heard += new.shape[2]

    def _by_sample(self, start: int, units: int) -> npt.NDArray[np.float32]:
        # At the boundaries of units, by what has been heard up to `ahead` units later.
        wanted = np.arange(start, start + units + 1) + self._ahead - 1
        places = np.minimum(wanted, self._heard - 1) - self._first
        gains = np.stack([self._gains[place] for place in places], axis=1)
        forget = places[-1]
        self._gains, self._first = self._gains[forget:], self._first + int(forget)
        share = np.arange(UNIT) / UNIT
        steps = gains[:, :-1, None] * (1 - share) + gains[:, 1:, None] * share
        return steps.reshape(len(gains), -1).astype(np.float32)
