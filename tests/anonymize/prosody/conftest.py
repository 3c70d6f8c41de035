"""Tracks and pseudo-speakers for tests of prosody."""

from __future__ import annotations

import numpy as np
import pytest

from sordino.anonymize.base import Draws
from sordino.privacy.keys import SecretKey


@pytest.fixture(scope="session")
def key() -> SecretKey:
    return SecretKey.from_secret(b"a key for tests of prosody")


@pytest.fixture(scope="session")
def draws(key) -> Draws:
    return Draws(key, ("neural", "speaker", "anna"))


@pytest.fixture(scope="session")
def track() -> np.ndarray:
    """Twenty seconds of somebody who speaks around 120 Hz: phrases that fall, accents, a shaking
    voice, pauses, and a few octave errors."""
    rng = np.random.default_rng(0)
    time = np.arange(2000) / 100
    semitones = 2.5 * np.sin(2 * np.pi * 0.9 * time) - 3 * (time % 2.5) / 2.5
    semitones += 0.3 * rng.standard_normal(time.size)
    f0 = 120 * 2 ** (semitones / 12)
    f0[rng.random(time.size) < 0.02] *= 2
    f0[np.sin(2 * np.pi * 2.3 * time) < -0.3] = 0
    f0[700:760] = 0
    return f0
