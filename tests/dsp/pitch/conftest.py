"""Voices whose pitch is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

RATE, HOP = 16_000, 160


@pytest.fixture
def buzz() -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Makes a signal with harmonics and its pitch by frame: `buzz(frequency by sample)`."""
    return _buzz


def _buzz(frequency: np.ndarray, level: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    phase = 2 * np.pi * np.cumsum(frequency) / RATE
    wave = np.zeros(frequency.size)
    for number in range(1, 60):
        at = number * frequency
        wave += np.where((at < 4000) & (frequency > 0), np.cos(number * phase) / number, 0)
    wave *= level / np.abs(wave).max()
    wave += 1e-3 * level * np.random.default_rng(0).standard_normal(wave.size)
    return wave, frequency[HOP // 2 :: HOP]
