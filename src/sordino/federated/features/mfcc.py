"""Mel-frequency cepstral coefficients of a recording."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.fft import dct
from scipy.signal import get_window

from sordino.errors import AudioError

FloatArray = npt.NDArray[np.float64]

RATE = 16_000
COEFFICIENTS = 26

_LENGTH, _HOP, _BINS = 400, 160, 512
_BANDS = 40
_LOWEST_HZ = 20.0
_LEAST_POWER = 1e-10
# Frames this much below the loudest hold pauses and little else.
_RANGE_DB = 40.0


def mfcc(wave: npt.NDArray[np.floating]) -> FloatArray:
    """26 mel-frequency cepstral coefficients, a frame every 10 ms.

    The loudness of the whole does not count; how loud a frame is within it does.

    Args:
        wave: at 16 kHz, at least 25 ms, shape (samples,).

    Returns:
        Shape (frames, 26).

    Raises:
        AudioError: it is too short, holds NaN or infinity, or is digital silence.

    Example:
        >>> mfcc(np.random.default_rng(0).normal(size=16000)).shape
        (98, 26)

    Source: S. Davis and P. Mermelstein, "Comparison of parametric representations for
    monosyllabic word recognition in continuously spoken sentences", IEEE TASSP 28(4), 1980.
    """
    if wave.ndim != 1 or wave.size < _LENGTH:
        raise AudioError("is too short: 25 ms at 16 kHz are needed for a frame")
    signal = wave.astype(np.float64)
    level = np.sqrt(np.mean(np.square(signal)))
    if not np.isfinite(level):
        raise AudioError("holds NaN or infinity")
    if level == 0:
        raise AudioError("is digital silence: it has no voice")
    frames = np.lib.stride_tricks.sliding_window_view(signal / level, _LENGTH)[::_HOP]
    spectra = np.fft.rfft(frames * get_window("hamming", _LENGTH), _BINS, axis=1)
    power = np.square(np.abs(spectra)) / _BINS
    bands = np.log(power @ mel_filters().T + _LEAST_POWER)
    cepstra: FloatArray = dct(bands, type=2, norm="ortho", axis=1)[:, :COEFFICIENTS]
    return cepstra


def spoken(cepstra: FloatArray) -> FloatArray:
    """The frames that are not pauses: those within 40 dB of the loudest.

    Args:
        cepstra: of `mfcc`, shape (frames, 26).

    Returns:
        At least one frame, shape (spoken frames, 26).

    Example:
        >>> rng = np.random.default_rng(0)
        >>> wave = np.concatenate([rng.normal(size=8000), 1e-4 * rng.normal(size=8000)])
        >>> 48 <= len(spoken(mfcc(wave))) <= 52
        True
    """
    # The first coefficient is the mean of the bands' logarithms times the root of their number.
    level = cepstra[:, 0] * (10 / np.log(10) / np.sqrt(_BANDS))
    kept: FloatArray = cepstra[level > level.max() - _RANGE_DB]
    return kept


def mel_filters() -> FloatArray:
    """40 triangles, equally wide on the mel scale from 20 Hz to 8 kHz, shape (40, 257)."""

    def mel(frequency: npt.ArrayLike) -> FloatArray:
        return 2595.0 * np.log10(1.0 + np.asarray(frequency) / 700.0)

    edges = np.linspace(mel(_LOWEST_HZ), mel(RATE / 2), _BANDS + 2)[:, None]
    places = mel(np.fft.rfftfreq(_BINS, 1 / RATE))
    width = edges[1, 0] - edges[0, 0]
    filters: FloatArray = np.clip(1.0 - np.abs(places - edges[1:-1]) / width, 0.0, None)
    return filters
