"""Sound for all tests: real speech, where it lies beside the repository, and synthetic."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from scipy.signal import lfilter

# How long an example takes depends on who else uses the machine.
settings.register_profile("sordino", deadline=None)
settings.load_profile("sordino")

SPEECH = Path(__file__).resolve().parents[2] / "shared" / "speech"


@pytest.fixture(scope="session")
def speech_root() -> Path:
    """The folder of real speech."""
    if not SPEECH.is_dir():
        pytest.skip("no real speech at ../shared/speech")
    return SPEECH


@pytest.fixture(scope="session")
def speech_like() -> Callable[..., np.ndarray]:
    """Makes a voice that is nobody's: `speech_like(rate, seconds, channels=1)`.

    Harmonics of a gliding pitch through three moving resonances, with pauses and a little noise;
    float32, shape (channels, samples), peak 0.5, always the same.
    """
    return _speech_like


def _speech_like(rate: int, seconds: float, channels: int = 1) -> np.ndarray:
    samples = round(rate * seconds)
    return np.stack([_voice(rate, samples, seed) for seed in range(channels)]).astype(np.float32)


def _voice(rate: int, samples: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    time = np.arange(samples) / rate
    pitch = (110 + 25 * seed) * (1 + 0.15 * np.sin(2 * np.pi * 1.3 * time + seed))
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    highest = int(0.45 * rate // pitch.max(initial=1.0))
    pulses = sum(np.cos(k * phase) for k in range(1, min(highest, 40) + 1))
    voiced = np.clip(4 * np.sin(2 * np.pi * 2.1 * time + seed) + 2, 0, 1)
    signal = voiced * pulses + 0.1 * rng.standard_normal(samples)
    step = max(1, rate // 50)
    state = [np.zeros(2) for _ in range(3)]
    for number, start in enumerate(range(0, samples, step)):
        piece = signal[start : start + step]
        for index, (centre, width) in enumerate(((500, 90), (1400, 120), (2500, 180))):
            formant = centre * (1 + 0.2 * np.sin(0.4 * number + index + seed))
            radius = np.exp(-np.pi * width / rate)
            poles = [1, -2 * radius * np.cos(2 * np.pi * formant / rate), radius**2]
            piece, state[index] = lfilter([sum(poles)], poles, piece, zi=state[index])
        signal[start : start + step] = piece
    return 0.5 * signal / np.abs(signal).max(initial=1e-9)
