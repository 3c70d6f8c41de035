"""Silence stays silent: a gate that closes where the source had no sound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
from scipy.ndimage import maximum_filter1d, uniform_filter1d

from sordino.anonymize.input_level import OPEN
from sordino.anonymize.windows import FRAME, WAVE, Piece, Tracks, Window, windowed

FloatArray = npt.NDArray[np.float64]

# Together no more than the 8 frames that a window has on each side.
_HOLD_FRAMES = 4
_EDGE_FRAMES = 3


def gated(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Silence the track "wave" where the track "open" says that there is no sound.

    The gate is open for 35 ms around every sound, and shuts over the 30 ms after that. What is
    under the open gate is left as it is: the level of the source within speech does not matter.

    Args:
        pieces: a signal.

    Yields:
        The signal, without "open".

    Example:
        >>> quiet = np.zeros((1, 80), dtype=bool)
        >>> piece = Piece(10, {"wave": np.ones((1, 12800)), "open": quiet}, last=True)
        >>> float(next(gated([piece])).tracks["wave"].max())
        0.0
    """
    return windowed(pieces, _shut, before=1, after=1, most=2**31, drop=(OPEN,))


def gate_frames(opened: npt.NDArray[np.bool_]) -> FloatArray:
    """The gate at the centres of frames.

    Args:
        opened: which frames have sound, shape (channels, frames).

    Returns:
        Shape (channels, frames), 0 for shut and 1 for open.

    Example:
        >>> gate_frames(np.arange(12)[None] == 0).round(2).tolist()
        [[1.0, 1.0, 1.0, 1.0, 0.67, 0.33, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    """
    held = maximum_filter1d(opened.astype(np.float64), 2 * _HOLD_FRAMES + 1, axis=1, mode="nearest")
    smooth: FloatArray = uniform_filter1d(held, _EDGE_FRAMES, axis=1, mode="nearest")
    # A running mean leaves tiny remainders; silence has to be exactly that.
    return np.round(smooth, 9)


def _shut(window: Window) -> Tracks:
    gate = gate_frames(window.tracks[OPEN])
    wave = window.kept(window.tracks[WAVE])
    if (gate == 1).all():
        return {WAVE: wave}
    centres = np.arange(gate.shape[1]) + 0.5
    places = (np.arange(gate.shape[1] * FRAME) + 0.5) / FRAME
    gains = window.kept(np.stack([np.interp(places, centres, row) for row in gate]))
    return {WAVE: wave * gains.astype(wave.dtype)}
