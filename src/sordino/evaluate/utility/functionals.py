"""Speech as one row of numbers: how pitch, level and spectrum lie and move in an utterance."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.fft import dct
from scipy.signal import get_window

from sordino.errors import AudioError
from sordino.evaluate.utility.wave import RATE, Wave
from sordino.speaker.waves import is_silent

HOP = 256
_FRAME = 512
_BANDS = 26
_CEPSTRA = 13
_LEAST_POWER = 1e-10
_PERCENTS = (5, 25, 50, 75, 95)

FloatArray = npt.NDArray[np.float64]


def functionals(wave: Wave, pitch: FloatArray) -> FloatArray:
    """Percentiles, spread and speed of pitch, level, cepstrum and spectral shape.

    The loudness of the whole does not count: recordings differ in it by more than emotions do.

    Args:
        wave: at 16 kHz, shape (samples,).
        pitch: in hertz, 0 where unvoiced, a frame every 16 ms, shape (frames,).

    Returns:
        Always the same numbers in the same order, shape (functionals,).

    Raises:
        AudioError: the wave is digital silence, or has no voiced frame.

    Example:
        >>> time = np.arange(16000) / 16000
        >>> tone = np.sin(2 * np.pi * 200 * time).astype(np.float32)
        >>> row = functionals(tone, np.full(62, 200.0))
        >>> row.shape == functionals(tone[:8000], np.full(31, 210.0)).shape
        True
    """
    if is_silent(wave):
        raise AudioError("is digital silence: no emotion can be heard in it")
    power = _power(wave / np.sqrt(np.mean(np.square(wave, dtype=np.float64))))
    frames = min(len(power), pitch.size)
    power, pitch = power[:frames], pitch[:frames]
    voiced = pitch > 0
    if not voiced.any():
        raise AudioError("has no voiced frame: no emotion can be heard in it")
    bands = np.log(power @ _mel_filters().T + _LEAST_POWER)
    level = 10 * np.log10(power.sum(axis=1) + _LEAST_POWER)
    level -= level.max()
    cepstra = dct(bands, type=2, norm="ortho", axis=1)[:, 1:_CEPSTRA]
    shape = _shape(power)
    tones = 12 * np.log2(pitch[voiced] / 55.0)
    return np.concatenate(
        [
            _laid(tones[:, None]),
            _moved(_filled(pitch, voiced)[:, None]),
            _rhythm(voiced),
            _laid(level[:, None]),
            _moved(level[:, None]),
            _spread(cepstra[voiced]),
            _moved(cepstra),
            _spread(shape[voiced]),
        ]
    )


def _power(wave: npt.NDArray[np.floating]) -> FloatArray:
    """Power spectra, a frame every 16 ms, shape (frames, bins)."""
    padded = np.pad(wave.astype(np.float64), (0, max(0, _FRAME - wave.size)))
    frames = np.lib.stride_tricks.sliding_window_view(padded, _FRAME)[::HOP]
    spectra = np.fft.rfft(frames * get_window("hann", _FRAME), axis=1)
    power: FloatArray = np.square(np.abs(spectra)) / _FRAME
    return power


def _mel_filters() -> FloatArray:
    """Triangles that are equally wide on the mel scale, from 50 Hz to 8 kHz, (bands, bins)."""

    def mel(frequency: npt.ArrayLike) -> FloatArray:
        return 2595.0 * np.log10(1.0 + np.asarray(frequency) / 700.0)

    edges = np.linspace(mel(50.0), mel(RATE / 2), _BANDS + 2)[:, None]
    places = mel(np.fft.rfftfreq(_FRAME, 1 / RATE))
    width = edges[1, 0] - edges[0, 0]
    filters: FloatArray = np.clip(1.0 - np.abs(places - edges[1:-1]) / width, 0.0, None)
    return filters


def _shape(power: FloatArray) -> FloatArray:
    """Of each frame: centre and width of the spectrum, its tilt, and its change, (frames, 4)."""
    frequency = np.fft.rfftfreq(_FRAME, 1 / RATE)
    share = power / (power.sum(axis=1, keepdims=True) + _LEAST_POWER)
    centre = share @ frequency
    width = np.sqrt(np.maximum(share @ frequency**2 - centre**2, 0.0))
    low = power[:, (frequency >= 50) & (frequency < 1000)].sum(axis=1)
    high = power[:, (frequency >= 1000) & (frequency < 5000)].sum(axis=1)
    tilt = 10 * np.log10((low + _LEAST_POWER) / (high + _LEAST_POWER))
    flux = np.abs(np.diff(share, axis=0, prepend=share[:1])).sum(axis=1)
    return np.stack([centre, width, tilt, flux], axis=1)


def _rhythm(voiced: npt.NDArray[np.bool_]) -> FloatArray:
    """Share of voiced frames, voiced stretches a second, and their mean length in seconds."""
    stretches = np.count_nonzero(np.diff(voiced.astype(int), prepend=0) == 1)
    seconds = voiced.size * HOP / RATE
    lasting = np.count_nonzero(voiced) * HOP / RATE
    return np.array([voiced.mean(), stretches / seconds, lasting / stretches])


def _filled(pitch: FloatArray, voiced: npt.NDArray[np.bool_]) -> FloatArray:
    """Pitch in semitones with straight lines over unvoiced frames."""
    places = np.flatnonzero(voiced)
    tones: FloatArray = np.interp(np.arange(pitch.size), places, 12 * np.log2(pitch[places] / 55.0))
    return tones


def _laid(columns: FloatArray) -> FloatArray:
    return np.concatenate([_spread(columns), np.percentile(columns, _PERCENTS, axis=0).ravel()])


def _spread(columns: FloatArray) -> FloatArray:
    return np.concatenate([columns.mean(axis=0), columns.std(axis=0)])


def _moved(columns: FloatArray) -> FloatArray:
    """How fast each column goes up and down, on average."""
    steps = np.diff(columns, axis=0, prepend=columns[:1])
    speeds: FloatArray = np.abs(steps).mean(axis=0)
    return speeds
