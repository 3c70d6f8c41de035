"""How far speech stands out of the noise around it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

# The power of rounding to 16 bits: less than this counts as no sound at all.
SILENCE = 2.0**-30 / 12
LOWEST_SNR = -20.0

_LOWEST_HZ = 100
_QUANTILE = 0.1
# That quantile as a share of the mean, for white noise and the mean power of four bins in a row.
# Hann windows correlate a bin with the next (-2/3) and the one after (1/6), so that it is
# distributed like a sum of four exponential variables, weighted by the correlation's eigenvalues.
_BINS = 4
_QUANTILE_SHARE = 0.3327
_FRAMES_AT_ONCE = 2048


def signal_to_noise(
    signal: npt.NDArray[np.floating], active: npt.NDArray[np.bool_], sample_rate: int
) -> float:
    """Ratio of the power of speech, while it is spoken, to that of steady noise.

    The noise is taken as what a band of frequencies falls to for a tenth of the time. Between
    harmonics and formants that happens during speech too, so no pause is needed. What comes and
    goes like speech does, such as a second talker, does not count as noise. Frames of digital
    silence are left out. Where speech leaves few gaps it reads low: on the average of real speech
    by 1 dB at 20 dB and 3 dB at 30 dB.

    Args:
        signal: shape (samples,), full scale 1.
        active: shape (frames,), which of the frames, of equal length and without overlap, are
            speech; samples beyond the last frame are not looked at.
        sample_rate: in Hz.

    Returns:
        In dB, above 100 Hz, at least -20.

    Raises:
        ValueError: no frame is speech, or the frames are shorter than 16 samples.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> burst = np.repeat(rng.random(100) < 0.5, 512)
        >>> tone = burst * np.sin(2 * np.pi * 1000 * np.arange(51200) / 16000)
        >>> noise = rng.normal(0, math.sqrt(0.05), 51200)
        >>> round(signal_to_noise(tone + noise, burst[::512], 16000))
        10

    Source: the noise as a quantile of each band's power over time, from V. Stahl, A. Fischer,
    R. Bippus, "Quantile based noise estimation for spectral subtraction and Wiener filtering",
    ICASSP 2000.
    """
    length = signal.size // max(active.size, 1)
    if not active.any() or length < 16:
        raise ValueError("no frame is speech, or frames are too short")
    bands = _band_powers(signal[: length * active.size].reshape(-1, length).T, sample_rate)
    sounding = bands.mean(axis=0) > SILENCE
    if not (sounding & active).any():
        return LOWEST_SNR
    quantile = np.quantile(bands[:, sounding], _QUANTILE, axis=1)
    noise = max(float(quantile.mean()) / _QUANTILE_SHARE, SILENCE)
    speech = float(bands[:, active].mean()) - noise
    return max(10 * math.log10(max(speech, 1e-9 * noise) / noise), LOWEST_SNR)


def _band_powers(frames: npt.NDArray[np.floating], sample_rate: int) -> npt.NDArray[np.float32]:
    # Shape (bands, frames); white noise has its own power in each band.
    length = frames.shape[0]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)
    lowest = math.ceil(_LOWEST_HZ * length / sample_rate)
    highest = lowest + (length // 2 - lowest) // _BINS * _BINS
    if highest == lowest:
        lowest, highest = 1, 1 + _BINS
    parts = []
    for start in range(0, frames.shape[1], _FRAMES_AT_ONCE):
        piece = frames[:, start : start + _FRAMES_AT_ONCE] * window[:, None]
        power = np.abs(np.fft.rfft(piece, axis=0)[lowest:highest]) ** 2 / np.sum(window**2)
        grouped = power.reshape(-1, _BINS, power.shape[1]).mean(axis=1)
        parts.append(grouped.astype(np.float32))
    return np.concatenate(parts, axis=1)
