"""Noise of any colour, and mixing at a signal-to-noise ratio."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.fft import next_fast_len

FloatArray = npt.NDArray[np.float32]


def coloured_noise(
    length: int, exponent: float, sample_rate: int, generator: np.random.Generator
) -> FloatArray:
    """Gaussian noise whose power falls with frequency as 1 / f ** exponent above 20 Hz.

    Args:
        length: in samples.
        exponent: 0 is white, 1 pink, 2 brown.
        sample_rate: in Hz.
        generator: source of randomness.

    Returns:
        Shape (length,), mean power 1.

    Example:
        >>> noise = coloured_noise(16000, 1.0, 16000, np.random.default_rng(0))
        >>> bool(abs((noise**2).mean() - 1) < 1e-3)
        True
    """
    size = next_fast_len(length, real=True)
    spectrum = np.fft.rfft(generator.standard_normal(size))
    frequency = np.maximum(np.fft.rfftfreq(size, 1 / sample_rate), 20.0)
    shaped = np.fft.irfft(spectrum * frequency ** (-exponent / 2), size)[:length]
    return np.asarray(shaped / np.sqrt(np.square(shaped).mean()), dtype=np.float32)


def mix(samples: FloatArray, noise: FloatArray, ratio_db: float) -> FloatArray:
    """Add noise to speech at a ratio of their mean powers.

    Args:
        samples: shape (n,).
        noise: shape (n,).
        ratio_db: speech over noise, in decibels.

    Returns:
        Shape (n,); the speech where either of the two is silent.

    Example:
        >>> mix(np.ones(2, dtype=np.float32), np.full(2, 5, dtype=np.float32), 20.0)
        array([1.1, 1.1], dtype=float32)
    """
    speech_power = float(np.square(samples).mean())
    noise_power = float(np.square(noise).mean())
    if speech_power == 0 or noise_power == 0:
        return samples
    gain = np.sqrt(speech_power / noise_power) * 10 ** (-ratio_db / 20)
    return np.asarray(samples + np.float32(gain) * noise, dtype=np.float32)
