from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr

from sordino.errors import UsageError
from sordino.evaluate.metrics.correlation import pitch_correlation


def track(seed=0, frames=300):
    """A pitch that wanders, with pauses."""
    rng = np.random.default_rng(seed)
    steps = np.convolve(rng.standard_normal(frames + 14), np.ones(15) / 15, "valid")
    pitch = 120 * np.exp(0.5 * steps)
    for start in rng.integers(0, frames - 20, 6):
        pitch[start : start + 12] = 0
    return pitch


@pytest.mark.parametrize("seed", range(5))
def test_correlation_is_that_of_scipy_over_frames_voiced_in_both(seed):
    first, second = track(seed), track(seed + 100)
    both = (first > 0) & (second > 0)
    found = pitch_correlation(first, second, most_lag=0)
    assert found.rho == pytest.approx(pearsonr(first[both], second[both]).statistic, abs=1e-12)
    assert (found.frames, found.lag) == (both.sum(), 0)


@pytest.mark.parametrize("lag", [-5, -2, 0, 3, 5])
def test_shifted_tracks_are_aligned(lag):
    whole = track(1, 320)
    first, second = whole[10:310], 30 + 1.2 * whole[10 - lag : 310 - lag]
    second[whole[10 - lag : 310 - lag] == 0] = 0
    found = pitch_correlation(first, second)
    assert (found.lag, found.rho) == (lag, pytest.approx(1.0, abs=1e-12))
    assert pitch_correlation(second, first).lag == -lag


def test_tracks_without_pauses_are_aligned_by_their_pitch():
    whole = 120 + 40 * np.sin(np.arange(44) / 3)
    found = pitch_correlation(whole[:40], whole[4:])
    assert (found.lag, found.rho) == (-4, pytest.approx(1.0))


def test_a_shift_out_of_range_is_not_found():
    whole = track(1, 320)
    found = pitch_correlation(whole[20:300], whole[10:290], most_lag=5)
    assert abs(found.lag) <= 5
    assert found.rho is not None
    assert found.rho < 0.9


def test_tracks_of_any_lengths_are_compared_where_both_are():
    whole = track(2)
    assert pitch_correlation(whole, whole[:200]).rho == pytest.approx(1.0)
    assert pitch_correlation(whole, np.append(whole, np.full(50, 99.0))).rho == pytest.approx(1.0)


def test_pauses_in_common_are_no_likeness():
    first, second = track(3), 200 * (track(3) > 0) + 0.0
    rng = np.random.default_rng(0)
    second[second > 0] += rng.standard_normal((second > 0).sum())
    found = pitch_correlation(first, second)
    assert abs(found.rho) < 0.2
    assert np.corrcoef(first, second)[0, 1] > 0.7


def test_little_correlation_is_found_by_seeking():
    sought = [pitch_correlation(track(seed), track(seed + 50)).rho for seed in range(50)]
    assert abs(np.mean(sought)) < 0.05


def test_turned_intonation_is_below_zero():
    first = track(4)
    turned = np.where(first > 0, 400 - first, 0)
    assert pitch_correlation(first, turned, most_lag=0).rho == pytest.approx(-1.0)


def test_unvoiced_may_be_zero_or_nan():
    first, second = track(5), track(6)
    marked = np.where(first > 0, first, np.nan)
    assert pitch_correlation(marked, second) == pitch_correlation(first, second)


@pytest.mark.parametrize("frames", [9, 10])
def test_few_frames_have_no_correlation(frames):
    first = np.zeros(100)
    first[40 : 40 + frames] = np.linspace(100, 120, frames)
    found = pitch_correlation(first, first)
    assert (found.rho is None) == (frames < 10)
    assert found.frames == frames


def test_nothing_voiced_and_pitch_that_stands_still_have_none():
    moving, silent, flat = track(7), np.zeros(300), np.full(300, 110.1)
    for pair in ((moving, silent), (silent, silent), (moving, flat), (flat, moving)):
        assert pitch_correlation(*pair).rho is None
    assert pitch_correlation(moving, silent).frames == 0
    # All lags are equally good, and the smallest is taken.
    for still in (flat, silent):
        assert pitch_correlation(still, still).lag == 0


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(1, 30), st.integers(1, 30))
def test_any_tracks_have_a_correlation_or_none(seed, first, second):
    rng = np.random.default_rng(seed)
    pair = [100 * rng.random(size) * (rng.random(size) < 0.7) for size in (first, second)]
    rho = pitch_correlation(*pair, most_lag=40, fewest_frames=3).rho
    assert rho is None or -1 <= rho <= 1


def test_what_is_no_track_is_refused():
    good = track(0)
    with pytest.raises(UsageError, match=r"the original track has shape \(0,\)"):
        pitch_correlation([], good)
    with pytest.raises(UsageError, match=r"the changed track has shape \(1, 300\)"):
        pitch_correlation(good, good[None])
    for bad in (-1.0, np.inf, -np.inf):
        with pytest.raises(UsageError, match="infinite or below 0"):
            pitch_correlation(good, [bad, 100.0])
    for changed in ({"most_lag": -1}, {"fewest_frames": 2}):
        with pytest.raises(UsageError, match="expected from 0 and from 3"):
            pitch_correlation(good, good, **changed)
