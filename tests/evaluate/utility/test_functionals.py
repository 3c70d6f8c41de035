from __future__ import annotations

import numpy as np
import pytest

from sordino.errors import AudioError
from sordino.evaluate.utility.functionals import functionals


def buzz(frequency, seconds=1.0, level=0.3):
    time = np.arange(int(16_000 * seconds)) / 16_000
    wave = sum(np.cos(2 * np.pi * frequency * number * time) for number in range(1, 10))
    return (level * wave / 9).astype(np.float32)


def test_level_and_length_do_not_count_but_pitch_does():
    pitch = 150 * 2 ** (0.2 * np.sin(np.arange(124) / 5))
    low = functionals(buzz(150, 2), pitch)
    louder = functionals(buzz(150, 2, level=0.9), pitch)
    assert louder == pytest.approx(low, rel=1e-3, abs=1e-3)
    octave = functionals(buzz(150, 2), 2 * pitch)
    # Mean and five percentiles of the pitch go up by twelve semitones, its spread stays.
    assert octave[[0, 2, 3, 4, 5, 6]] - low[[0, 2, 3, 4, 5, 6]] == pytest.approx(12.0)
    assert np.delete(octave, [0, 2, 3, 4, 5, 6]) == pytest.approx(
        np.delete(low, [0, 2, 3, 4, 5, 6]), abs=1e-9
    )


def test_rhythm_is_that_of_the_voicing():
    pitch = np.zeros(125)
    pitch[10:30] = pitch[60:80] = 120.0
    row = functionals(buzz(120, 2.016), pitch)
    share, rate, lasting = row[8:11]
    assert share == pytest.approx(40 / 125)
    assert rate == pytest.approx(1.0, rel=0.01)
    assert lasting == pytest.approx(20 * 0.016)


def test_a_brighter_sound_has_a_higher_centre_and_less_tilt():
    rng = np.random.default_rng(0)
    bright = rng.standard_normal(32_000).astype(np.float32)
    dark = np.convolve(bright, np.ones(32) / 32, "same").astype(np.float32)
    pitch = np.full(124, 100.0)
    (centre_b, _, tilt_b, _), (centre_d, _, tilt_d, _) = (
        functionals(wave, pitch)[-8:-4] for wave in (bright, dark)
    )
    assert 3500 < centre_b < 4500
    assert centre_d < 1000
    assert tilt_d > tilt_b + 10


def test_always_as_many_numbers_and_all_finite(speech_like):
    sizes = set()
    for samples in (1, 400, 16_000):
        row = functionals(speech_like(16_000, 1)[0, -samples - 100 :], np.full(62, 110.0))
        assert np.isfinite(row).all()
        sizes.add(row.size)
    assert len(sizes) == 1


def test_nothing_to_hear_is_an_error():
    with pytest.raises(AudioError, match="digital silence"):
        functionals(np.zeros(16_000, dtype=np.float32), np.full(62, 110.0))
    with pytest.raises(AudioError, match="no voiced frame"):
        functionals(buzz(120), np.zeros(62))
