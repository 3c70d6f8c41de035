from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.anonymize.base import Draws
from sordino.anonymize.prosody import interpolate, warp_times
from sordino.errors import UsageError


@pytest.mark.parametrize("max_shift", [0.02, 0.06, 0.3])
def test_time_moves_a_little_and_never_back(draws, max_shift):
    places = warp_times(0, 60_000, draws, max_shift)
    shift = (places - np.arange(places.size)) / 100
    assert shift[0] == pytest.approx(0, abs=1e-4)
    assert shift.min() >= 0
    assert 0.6 * max_shift < shift.max() <= max_shift
    rate = np.diff(places)
    assert rate.min() >= 0.7 - 1e-9
    assert rate.max() <= 1.3 + 1e-9
    assert rate.std() > 0.05


def test_it_is_a_function_of_time_and_key(draws, key):
    whole = warp_times(0, 1000, draws)
    parts = [warp_times(start, 250, draws) for start in range(0, 1000, 250)]
    assert np.concatenate(parts) == pytest.approx(whole, abs=1e-9)
    other = warp_times(0, 1000, Draws(key, ("bert",)))
    assert np.abs(other - whole).max() > 1
    assert warp_times(5, 0, draws).shape == (0,)
    assert np.array_equal(warp_times(5, 3, draws, 0.0), [5, 6, 7])


def test_tracks_with_other_frames_get_the_same_times(draws):
    fine = warp_times(0, 2000, draws)
    coarse = warp_times(0, 1000, draws, frame_s=0.02)
    # Times of frame centres, in seconds.
    seconds = 0.01 * (fine + 0.5)
    at_coarse = np.interp(0.02 * (np.arange(1000) + 0.5), 0.01 * (np.arange(2000) + 0.5), seconds)
    assert 0.02 * (coarse + 0.5) == pytest.approx(at_coarse, abs=2e-4)


@pytest.mark.parametrize("max_shift", [-0.1, 0.6, float("nan")])
def test_a_shift_out_of_range_is_an_error(draws, max_shift):
    with pytest.raises(UsageError, match="max_shift is"):
        warp_times(0, 10, draws, max_shift)


@given(st.lists(st.floats(-2, 25), min_size=1, max_size=30))
def test_features_are_interpolated_straight_and_held_beyond_the_ends(positions):
    rng = np.random.default_rng(0)
    features = rng.standard_normal((20, 3)).astype(np.float32)
    found = interpolate(features, np.array(positions))
    expected = [np.interp(positions, np.arange(20), channel) for channel in features.T]
    assert found == pytest.approx(np.stack(expected, axis=1), abs=1e-6)


@given(st.lists(st.floats(-1, 7), min_size=1, max_size=30))
def test_pitch_never_mixes_with_silence(positions):
    f0 = np.array([0, 100.0, 121.0, 0, 0, 200.0, 180.0])
    found = interpolate(f0, np.array(positions))
    nearest = f0[np.clip(np.floor(np.array(positions) + 0.5), 0, 6).astype(int)]
    assert np.array_equal(found > 0, nearest > 0)
    voiced = found[found > 0]
    assert (((voiced >= 99.99) & (voiced <= 121.01)) | ((voiced > 179.9) & (voiced < 200.1))).all()
    assert interpolate(f0, np.array([1.5, 5.5])) == pytest.approx([110, np.sqrt(36_000)])
