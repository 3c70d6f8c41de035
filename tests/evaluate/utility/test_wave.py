from __future__ import annotations

import numpy as np
import pytest

from sordino.audio.recording import Recording
from sordino.evaluate.utility.wave import RATE, wave_of


@pytest.mark.parametrize("rate", [8000, 16_000, 44_100])
def test_a_tone_keeps_its_frequency_and_level(rate):
    tone = 0.5 * np.sin(2 * np.pi * 440 * np.arange(rate) / rate)
    wave = wave_of(Recording(tone[None].astype(np.float32), rate))
    assert wave.shape == (RATE,)
    assert wave.dtype == np.float32
    spectrum = np.abs(np.fft.rfft(wave)) / RATE * 2
    assert spectrum.argmax() == 440
    assert spectrum.max() == pytest.approx(0.5, abs=0.01)


def test_channels_are_averaged():
    rng = np.random.default_rng(0)
    left, right = rng.uniform(-0.5, 0.5, (2, 1000)).astype(np.float32)
    wave = wave_of(Recording(np.stack([left, right]), RATE))
    assert wave == pytest.approx((left + right) / 2, abs=1e-7)
