from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BSpline

from sordino.anonymize.base import Draws
from sordino.anonymize.prosody.noise import seed_of, smooth_noise
from sordino.dsp.sequences import uniforms


def test_it_is_the_b_spline_with_random_coefficients():
    # The coefficient of the spline that is centred on whole number k is the k-th number.
    spline = BSpline(np.arange(-3, 45), uniforms(-1, 44, seed=9), 3)
    times = np.linspace(0, 39.9, 777)
    assert smooth_noise(times, seed=9) == pytest.approx(spline(times))


@given(st.floats(-1e4, 1e4), st.integers(0, 5), st.floats(1e-3, 3))
def test_it_stays_in_range_and_is_slow_and_the_same_from_anywhere(start, seed, step):
    times = start + step * np.arange(50)
    curve = smooth_noise(times, seed)
    assert curve.min() >= 0
    assert curve.max() <= 1
    assert np.abs(np.diff(curve)).max() <= step + 1e-9
    assert np.array_equal(smooth_noise(times[17:], seed), curve[17:])


def test_before_the_first_number_there_is_nothing():
    times = np.linspace(0, 10, 1001)
    curve = smooth_noise(times, seed=1, first=2)
    assert curve[0] == 0
    assert curve[:20].max() < 1e-3
    assert curve[400:] == pytest.approx(smooth_noise(times[400:], seed=1))
    assert smooth_noise(np.zeros(0), seed=1).shape == (0,)


def test_seeds_depend_on_key_labels_and_purpose(key):
    ann, bert = Draws(key, ("ann",)), Draws(key, ("bert",))
    seeds = {seed_of(ann, "a"), seed_of(ann, "b"), seed_of(bert, "a")}
    assert len(seeds) == 3
    assert all(2**100 < seed < 2**128 for seed in seeds)
