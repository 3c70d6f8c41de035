"""A crop as if somebody else had said it: a filter over the whole band."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]

_POINTS = 7
_LOWEST_HZ = 60.0


def tilted(
    samples: FloatArray, sample_rate: int, depth_db: float, generator: np.random.Generator
) -> FloatArray:
    """Speech through a smooth random filter, of the same mean power.

    The gain in decibels is normally distributed at seven frequencies, evenly spaced in octaves from
    60 Hz to half the rate, and goes in straight lines between them.

    Args:
        samples: shape (n,).
        sample_rate: in Hz.
        depth_db: standard deviation of the gain.
        generator: source of randomness.

    Returns:
        Shape (n,).

    Example:
        >>> tilted(np.ones(800, np.float32), 16000, 0.0, np.random.default_rng(0)).max().round(3)
        np.float32(1.0)
    """
    size = samples.size
    octaves = np.linspace(0, np.log2(sample_rate / 2 / _LOWEST_HZ), _POINTS)
    gains = depth_db * generator.standard_normal(_POINTS)
    frequency = np.maximum(np.fft.rfftfreq(size, 1 / sample_rate), _LOWEST_HZ)
    curve = np.interp(np.log2(frequency / _LOWEST_HZ), octaves, gains)
    changed = np.fft.irfft(np.fft.rfft(samples) * 10 ** (curve / 20), size)
    power = float(np.square(changed).mean())
    level = np.sqrt(float(np.square(samples).mean()) / power) if power > 0 else 1.0
    return np.asarray(level * changed, dtype=np.float32)
