from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import welch

from sordino.training.augment.noise import coloured_noise, mix

RATE = 16000


@pytest.mark.parametrize("exponent", [-0.5, 0.0, 1.0, 2.0])
def test_power_falls_by_three_decibel_an_octave_for_each_unit(exponent):
    noise = coloured_noise(20 * RATE, exponent, RATE, np.random.default_rng(0))
    frequency, power = welch(noise.astype(np.float64), RATE, nperseg=4096)
    used = (frequency > 100) & (frequency < 7000)
    octaves = np.log2(frequency[used])
    slope = np.polyfit(octaves, 10 * np.log10(power[used]), 1)[0]
    assert slope == pytest.approx(-exponent * 10 * np.log10(2), abs=0.15)


def test_power_is_even_below_20_hz():
    noise = coloured_noise(60 * RATE, 2.0, RATE, np.random.default_rng(1))
    frequency, power = welch(noise.astype(np.float64), RATE, nperseg=8 * RATE, detrend=False)
    lowest = power[(frequency > 1) & (frequency < 18)]
    assert 10 * np.log10(lowest[:60].mean() / lowest[-60:].mean()) == pytest.approx(0, abs=1)


@given(
    length=st.integers(2, 20000),
    exponent=st.floats(-0.5, 2.0),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=40, deadline=None)
def test_has_the_length_and_power_one(length, exponent, seed):
    noise = coloured_noise(length, exponent, RATE, np.random.default_rng(seed))
    assert noise.shape == (length,)
    assert noise.dtype == np.float32
    assert np.square(noise.astype(np.float64)).mean() == pytest.approx(1, rel=1e-4)


@given(
    ratio=st.floats(-10, 40),
    gains=st.tuples(st.floats(1e-3, 1), st.floats(1e-3, 1)),
    seed=st.integers(0, 99),
)
@settings(max_examples=40, deadline=None)
def test_ratio_of_powers_is_the_one_asked_for(ratio, gains, seed):
    rng = np.random.default_rng(seed)
    speech = (gains[0] * rng.standard_normal(4000)).astype(np.float32)
    noise = (gains[1] * rng.standard_normal(4000)).astype(np.float32)
    added = mix(speech, noise, ratio).astype(np.float64) - speech
    found = 10 * np.log10(np.square(speech, dtype=np.float64).mean() / np.square(added).mean())
    assert found == pytest.approx(ratio, abs=0.02)
    assert np.corrcoef(added, noise)[0, 1] > 0.999


@pytest.mark.parametrize("silent", [0, 1])
def test_with_silence_nothing_is_added(silent):
    both = [np.ones(10, dtype=np.float32), np.ones(10, dtype=np.float32)]
    both[silent] = np.zeros(10, dtype=np.float32)
    assert np.array_equal(mix(*both, 10.0), both[0])
