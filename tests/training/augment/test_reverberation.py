from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import convolve

from sordino.training.augment.reverberation import reverberate, room_response, simulate_rooms

RATE = 16000


def decay_time(response: np.ndarray, low: float = -5.0, high: float = -20.0) -> float:
    """Time to fall by 60 dB, from a line through Schroeder's backward integral."""
    energy = np.cumsum(np.square(response.astype(np.float64))[::-1])[::-1]
    decibel = 10 * np.log10(energy / energy[0] + 1e-20)
    part = np.flatnonzero((decibel < low) & (decibel > high))
    slope = np.polyfit(part / RATE, decibel[part], 1)[0]
    return float(-60 / slope)


@given(length=st.integers(1, 3000), taps=st.integers(1, 4000), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_equals_convolution_with_the_speech_power(length, taps, seed):
    rng = np.random.default_rng(seed)
    samples = rng.standard_normal(length).astype(np.float32)
    response = (rng.standard_normal(taps) * np.exp(-np.arange(taps) / 300)).astype(np.float32)
    response[0] = 1
    expected = convolve(samples.astype(float), response.astype(float), method="direct")[:length]
    expected *= np.sqrt(np.square(samples).mean() / np.square(expected).mean())
    heard = reverberate(samples, response)
    assert heard.dtype == np.float32
    assert heard.shape == samples.shape
    assert np.allclose(heard, expected, atol=1e-4 * np.abs(expected).max())


def test_silence_stays_silent():
    response = np.array([1.0, 0.5], dtype=np.float32)
    assert not reverberate(np.zeros(10, dtype=np.float32), response).any()


@pytest.fixture(scope="module")
def rooms():
    return simulate_rooms(12, RATE, 0)


@pytest.mark.skipif(
    importlib.util.find_spec("pyroomacoustics") is None,
    reason="pyroomacoustics is in the extra train, which is not installed",
)
class TestRooms:
    def test_direct_sound_comes_first_and_is_one(self, rooms):
        for response in rooms:
            assert response.dtype == np.float32
            assert response[0] == 1
            assert np.isfinite(response).all()

    def test_direct_sound_is_no_reflection(self):
        size = np.array([12.0, 10.0, 6.0])
        places = np.array([[3.0, 5.0, 3.0], [4.0, 5.0, 3.0]])
        response = room_response(size, 0.5, places, RATE)
        # Floor and ceiling send the first reflections, over sqrt(1 + 6 ** 2) m.
        first = round((np.sqrt(37) - 1) / 343 * RATE)
        assert np.abs(response[45 : first - 45]).max() < 0.05
        assert np.abs(response[first - 3 : first + 4]).max() > 0.1

    @pytest.mark.parametrize("time", [0.25, 0.35, 0.45])
    def test_decays_in_the_time_asked_for(self, time):
        rng = np.random.default_rng(1)
        size = np.array([7.0, 6.0, 3.0])
        found = [
            decay_time(room_response(size, time, rng.uniform(0.5, size - 0.5, (2, 3)), RATE))
            for _ in range(6)
        ]
        # Sabine's formula holds for even fields; a shoebox's is not.
        assert np.median(found) == pytest.approx(time, rel=0.25)

    def test_late_reflections_of_live_rooms_are_cut_off(self):
        size, places = np.array([2.5, 2.5, 2.4]), np.array([[0.5, 0.5, 1.2], [2.0, 1.8, 1.5]])
        assert decay_time(room_response(size, 0.7, places, RATE)) < 0.4

    def test_impossible_rooms_are_none(self):
        size, places = np.array([10.0, 8.0, 4.0]), np.array([[1.0, 1.0, 1.0], [5.0, 5.0, 2.0]])
        assert room_response(size, 0.1, places, RATE) is None

    def test_seed_decides_the_rooms(self, rooms):
        again = simulate_rooms(3, RATE, 0)
        assert all(np.array_equal(one, other) for one, other in zip(rooms, again, strict=False))
        assert not np.array_equal(simulate_rooms(1, RATE, 1)[0][:1000], rooms[0][:1000])

    def test_rooms_differ(self, rooms):
        times = [decay_time(response) for response in rooms]
        assert min(times) < 0.25 < max(times)

    def test_speech_in_a_room_goes_on_into_the_pauses(self, rooms):
        sound = np.random.default_rng(0).standard_normal(RATE).astype(np.float32)
        sound[RATE // 2 :] = 0
        heard = reverberate(sound, rooms[0])
        assert np.abs(heard[RATE // 2 : RATE // 2 + 500]).max() > 0.1
        assert np.abs(heard[-500:]).max() < 1e-3


def test_no_rooms_need_no_simulator():
    assert simulate_rooms(0, RATE, 0) == []
