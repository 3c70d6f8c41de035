from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.dsp.excitation import harmonic, noise
from sordino.dsp.sequences import normals

RATE, HOP = 16_000, 160


def summed(frequency: np.ndarray, phase: float = 0.0) -> np.ndarray:
    """The same by adding cosines one by one; frequency by sample, 0 where unvoiced."""
    cycles = phase + np.concatenate([[0.0], np.cumsum(frequency)[:-1]]) / RATE
    room = RATE / 2 / np.where(frequency > 0, frequency, 1.0)
    total, power = np.zeros(frequency.size), np.zeros(frequency.size)
    for number in range(1, int(room[frequency > 0].max()) + 1):
        weight = np.clip(room - np.floor(room), 0, 1) * (number == np.floor(room))
        weight += number < np.floor(room)
        total += weight * np.cos(2 * np.pi * number * cycles)
        power += weight**2 / 2
    return np.where(frequency > 0, total / np.sqrt(np.where(power > 0, power, 1)), 0.0)


def between_centres(f0: np.ndarray) -> np.ndarray:
    """F0 at each sample, where all frames are voiced."""
    centres = HOP * np.arange(f0.size) + HOP / 2
    return np.interp(np.arange(HOP * f0.size), centres, f0)


@pytest.mark.parametrize("frequency", [50.0, 61.3, 100.0, 200.0, 333.3, 600.0, 999.0, 2700.0])
@pytest.mark.parametrize("phase", [0.0, 0.37])
def test_it_is_the_sum_of_cosines(frequency, phase):
    wave, _ = harmonic(np.full(50, frequency), hop=HOP, sample_rate=RATE, phase=phase)
    assert wave == pytest.approx(summed(np.full(50 * HOP, frequency), phase), abs=2e-5)


def test_it_is_the_sum_of_cosines_of_a_pitch_that_moves():
    f0 = 180 * 2 ** (0.5 * np.sin(np.arange(200) / 9))
    wave, _ = harmonic(f0, hop=HOP, sample_rate=RATE)
    assert wave == pytest.approx(summed(between_centres(f0)), abs=5e-5)


def test_pitch_is_held_at_the_edges_of_voicing():
    f0 = np.array([0, 0, 150.0, 180.0, 0, 0, 90.0, 0])
    wave, _ = harmonic(f0, hop=HOP, sample_rate=RATE)
    assert not wave[: 2 * HOP].any()
    assert not wave[4 * HOP : 6 * HOP].any()
    assert not wave[7 * HOP :].any()
    frequency = np.zeros(8 * HOP)
    frequency[2 * HOP : 4 * HOP] = between_centres(np.array([150.0, 180.0]))
    frequency[6 * HOP : 7 * HOP] = 90.0
    assert wave == pytest.approx(summed(frequency), abs=5e-5)


@pytest.mark.parametrize("frequency", [70.0, 180.0, 450.0])
def test_power_is_one_and_the_spectrum_flat(frequency):
    wave, _ = harmonic(np.full(400, frequency), hop=HOP, sample_rate=RATE)
    assert np.mean(wave**2) == pytest.approx(1, abs=0.01)
    spectrum = np.abs(np.fft.rfft(wave * np.hanning(wave.size)))
    numbers = np.arange(1, int(RATE / 2 / frequency - 0.5))
    peaks = spectrum[np.rint(numbers * frequency * wave.size / RATE).astype(int)]
    assert peaks == pytest.approx(peaks.mean(), rel=0.01)


def test_a_harmonic_sets_in_without_a_click():
    # Just below 400 Hz the twentieth harmonic comes in under 8000 Hz.
    f0 = np.linspace(402, 398, 100)
    wave, _ = harmonic(f0, hop=HOP, sample_rate=RATE)
    # With 19 of 20 harmonics and the last fading, neighbouring samples still follow each other.
    smooth = summed(between_centres(f0))
    assert np.abs(np.diff(wave - smooth)).max() < 1e-4
    power = np.convolve(wave**2, np.ones(40 * 40) / 1600, "valid")
    assert power == pytest.approx(1, abs=0.06)


tracks = st.lists(st.one_of(st.just(0.0), st.floats(50, 1000)), min_size=1, max_size=30)


@settings(max_examples=60)
@given(tracks, st.data())
def test_pieces_are_exactly_the_whole(track, data):
    f0 = np.array(track)
    whole, end = harmonic(f0, hop=HOP, sample_rate=RATE, phase=0.6)
    cuts = sorted(data.draw(st.sets(st.integers(0, f0.size), max_size=5)) | {0, f0.size})
    phase, parts = 0.6, []
    for start, stop in pairwise(cuts):
        part, phase = harmonic(
            f0[start:stop],
            hop=HOP,
            sample_rate=RATE,
            before=f0[start - 1] if start else 0.0,
            after=f0[stop] if stop < f0.size else 0.0,
            phase=phase,
        )
        parts.append(part)
    assert np.array_equal(np.concatenate(parts), whole)
    assert phase == end


def test_phases_do_not_drift():
    _, phase = harmonic(np.full(3_001, 250.0), hop=HOP, sample_rate=RATE, phase=0.25)
    assert phase == pytest.approx((0.25 + 3_001 * 2.5) % 1, abs=1e-6)


@pytest.mark.parametrize("pitch", [-1.0, 4000.0, np.nan, np.inf])
def test_what_is_no_pitch_is_refused(pitch):
    with pytest.raises(ValueError, match="below 4000 Hz"):
        harmonic(np.array([100.0, pitch]), hop=HOP, sample_rate=RATE)


def test_no_frames_leave_the_phase_as_it_is():
    wave, phase = harmonic(np.zeros(0), hop=HOP, sample_rate=RATE, phase=1.25)
    assert wave.shape == (0,)
    assert phase == 0.25


def test_noise_is_the_endless_sequence():
    assert np.array_equal(noise(-30, 5000, seed=3), normals(-30, 5000, seed=3))
