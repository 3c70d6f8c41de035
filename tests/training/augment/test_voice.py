from __future__ import annotations

import numpy as np
import pytest

from sordino.training.augment.voice import tilted

RATE = 16000


def test_power_and_length_stay():
    samples = np.random.default_rng(0).standard_normal(12345).astype(np.float32)
    out = tilted(samples, RATE, 6.0, np.random.default_rng(1))
    assert out.shape == samples.shape
    assert out.dtype == np.float32
    assert np.square(out).mean() == pytest.approx(np.square(samples).mean(), rel=1e-4)


def test_no_depth_changes_nothing():
    samples = np.random.default_rng(0).standard_normal(800).astype(np.float32)
    assert np.allclose(tilted(samples, RATE, 0.0, np.random.default_rng(1)), samples, atol=1e-5)


def test_silence_stays_silent():
    assert not tilted(np.zeros(800, np.float32), RATE, 6.0, np.random.default_rng(1)).any()


def test_gain_is_smooth_and_of_the_asked_depth():
    impulse = np.zeros(4096, np.float32)
    impulse[0] = 1
    generator = np.random.default_rng(2)
    curves = []
    for _ in range(300):
        spectrum = np.abs(np.fft.rfft(tilted(impulse, RATE, 6.0, generator)))
        curves.append(20 * np.log10(spectrum))
    # Each filter is brought to the same power, so that levels are compared within it.
    points = np.array([curve[[16, 128, 1024, 2048]] for curve in curves])
    steps = np.diff(points, axis=1).std(axis=0)
    assert np.all(np.abs(steps - 6 * np.sqrt(2)) < 2.5)
    octave = 1024 // 64
    assert np.abs(np.diff(np.array(curves)[:, 1024::octave], axis=1)).max() < 2.0


def test_same_generator_state_gives_the_same():
    samples = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    one, two = (tilted(samples, RATE, 6.0, np.random.default_rng(5)) for _ in range(2))
    assert np.array_equal(one, two)
