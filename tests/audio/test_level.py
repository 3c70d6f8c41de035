from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sordino.audio.level import MAX_GAIN_DB, LevelFollower, Limiter, restoring_gain

CEILING = 0.5
SIZES = st.lists(st.integers(0, 700), min_size=1, max_size=6)


def limit(samples: np.ndarray, rate: int = 16000, sizes: tuple[int, ...] = (10**9,)) -> np.ndarray:
    limiter = Limiter(CEILING, rate)
    parts, start = [], 0
    for size in [*sizes, samples.shape[1]]:
        parts.append(limiter.process(samples[:, start : start + size]))
        start += size
    return np.concatenate([*parts, limiter.flush()], axis=1)


def peaky(seed: int, samples: int, channels: int = 2) -> np.ndarray:
    """Noise, mostly under the ceiling, with bursts up to 20 times above it."""
    rng = np.random.default_rng(seed)
    burst = np.where(rng.random(samples) < 0.003, 20.0, 0.3)
    return rng.uniform(-CEILING, CEILING, (channels, samples)) * burst


# The gain that restores a loudness.


@pytest.mark.parametrize(
    ("wanted", "measured", "decibels"),
    [
        (-20.0, -20.0, 0.0),
        (-20.0, -26.0, 6.0),
        (-26.0, -20.0, -6.0),
        (-10.0, -69.9, 59.9),
        (0.0, -70.0, MAX_GAIN_DB),
        (-150.0, -10.0, -MAX_GAIN_DB),
        (-math.inf, -20.0, 0.0),
        (-20.0, -math.inf, 0.0),
        (-math.inf, -math.inf, 0.0),
    ],
)
def test_restoring_gain(wanted: float, measured: float, decibels: float) -> None:
    assert 20 * math.log10(restoring_gain(wanted, measured)) == pytest.approx(decibels, abs=1e-9)


# The limiter.


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), samples=st.integers(1, 1500), sizes=SIZES)
@example(seed=0, samples=1, sizes=[1])
def test_limiter_keeps_the_ceiling_and_the_length_for_any_cutting(
    seed: int, samples: int, sizes: list[int]
) -> None:
    signal = peaky(seed, samples)
    whole = limit(signal)
    assert whole.shape == signal.shape
    assert np.abs(whole).max() <= CEILING
    np.testing.assert_allclose(limit(signal, sizes=tuple(sizes)), whole, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rate", [8000, 44100, 192000])
@pytest.mark.parametrize("channels", [1, 8])
def test_limiter_keeps_the_ceiling_at_any_rate(rate: int, channels: int) -> None:
    signal = peaky(3, rate // 2, channels)
    found = limit(signal, rate, (1000,) * 20)
    assert np.abs(signal).max() > 10 * CEILING
    assert np.abs(found).max() <= CEILING


@settings(max_examples=25, deadline=None)
@given(sizes=SIZES)
def test_limiter_passes_what_is_below_the_ceiling(sizes: list[int]) -> None:
    signal = np.random.default_rng(0).uniform(-CEILING, CEILING, (2, 1500))
    signal[:, 700] = CEILING, -CEILING
    np.testing.assert_array_equal(limit(signal, sizes=tuple(sizes)), signal)


@pytest.mark.parametrize("rate", [8000, 16000, 48000])
def test_limiter_leaves_what_is_further_from_a_peak_than_its_reach(rate: int) -> None:
    signal = np.random.default_rng(0).uniform(-0.4, 0.4, (1, rate))
    signal[0, rate // 2] = 3.0
    found = limit(signal, rate, (777,) * 50)
    changed = np.flatnonzero(~np.isclose(found[0], signal[0], rtol=1e-9, atol=0))
    reach = round(0.01 * rate)
    assert changed.size > 2
    assert rate // 2 - reach <= changed.min() < rate // 2 < changed.max() <= rate // 2 + reach
    assert found[0, rate // 2] == pytest.approx(CEILING, rel=1e-6)


@pytest.mark.parametrize("rate", [8000, 16000, 44100])
@pytest.mark.parametrize("peak", [0.6, 5.0, 500.0])
def test_limiter_does_not_click(rate: int, peak: float) -> None:
    signal = np.full((1, rate // 2), 0.3)
    signal[0, [1, 1000, 1003, 2000, -1]] = peak
    gain = limit(signal, rate, (900,) * 30)[0] / signal[0]
    # 4 ms from full gain to none, at least, and no corners.
    assert np.abs(np.diff(gain)).max() <= 1 / (0.004 * rate)
    assert np.abs(np.diff(gain, 2)).max() <= 2 / (0.004 * rate) ** 2
    assert gain.min() == pytest.approx(CEILING / peak, rel=1e-6)
    assert (gain > 0).all()
    assert gain.max() <= 1 + 1e-12


def test_limiter_dips_all_channels_alike() -> None:
    signal = np.full((3, 4000), 0.3)
    signal[1, 2000] = 4.0
    gain = limit(signal) / signal
    np.testing.assert_allclose(gain, np.repeat(gain[:1], 3, axis=0), rtol=1e-12)
    assert gain.min() == pytest.approx(CEILING / 4)


def test_limiter_on_sound_that_is_too_loud_throughout_scales_it(
    speech_like: Callable[..., np.ndarray],
) -> None:
    square = np.where(np.arange(16000) // 40 % 2, 2.0, -2.0)[None]
    np.testing.assert_allclose(limit(square), square / 4, rtol=1e-9)
    speech = 2 * speech_like(16000, 1.0)
    found = limit(speech)
    assert np.corrcoef(found[0], speech[0])[0, 1] > 0.95


def test_limiter_can_be_used_again() -> None:
    limiter = Limiter(CEILING, 16000)
    signal = peaky(5, 3000)
    outputs = [np.concatenate([limiter.process(signal), limiter.flush()], axis=1) for _ in range(2)]
    np.testing.assert_array_equal(outputs[0], outputs[1])
    assert limiter.flush().size == 0


def test_limiter_holds_back_no_more_than_its_reach() -> None:
    limiter = Limiter(CEILING, 16000)
    given, taken = 0, 0
    for _ in range(50):
        taken += limiter.process(peaky(1, 300)).shape[1]
        given += 300
        assert given - taken <= 0.01 * 16000


@pytest.mark.parametrize("ceiling", [0.0, -0.5, 1.0001, math.nan])
def test_limiter_checks_its_ceiling(ceiling: float) -> None:
    with pytest.raises(ValueError, match="ceiling"):
        Limiter(ceiling, 16000)


# The follower.


def follow(
    source: np.ndarray, result: np.ndarray, rate: int, sizes: tuple[int, ...] = (10**9,)
) -> np.ndarray:
    follower = LevelFollower(rate)
    parts, start = [], 0
    for size in [*sizes, source.shape[1]]:
        part = slice(start, start + size)
        parts.append(follower.process(source[:, part], result[:, part]))
        start += size
    return np.concatenate(parts, axis=1)


def decibels(samples: np.ndarray) -> float:
    return float(10 * np.log10(np.mean(samples**2)))


@pytest.mark.parametrize("change", [-18.0, -6.0, 0.0, 6.0, 18.0])
@pytest.mark.parametrize("rate", [8000, 16000, 48000])
def test_follower_restores_a_constant_gain(
    speech_like: Callable[..., np.ndarray], rate: int, change: float
) -> None:
    source = speech_like(rate, 4.0, 2).astype(float)
    found = follow(source, 10 ** (change / 20) * source, rate)
    assert found.shape == source.shape
    late = slice(2 * rate, None)
    assert decibels(found[:, late]) == pytest.approx(decibels(source[:, late]), abs=1.0)


@pytest.mark.parametrize("change", [-80.0, 80.0])
def test_follower_goes_no_further_than_60_db(change: float) -> None:
    source = np.random.default_rng(0).uniform(-0.5, 0.5, (1, 64000))
    found = follow(source, 10 ** (change / 20) * source, 16000)
    left = change - math.copysign(60, change)
    assert decibels(found[:, 32000:]) - decibels(source[:, 32000:]) == pytest.approx(left, abs=0.1)


def test_follower_comes_after_a_change_of_gain() -> None:
    source = np.random.default_rng(0).uniform(-0.5, 0.5, (1, 96000))
    result = source * np.where(np.arange(96000) < 48000, 0.5, 2.0)
    found = follow(source, result, 16000)
    for start, limit_ in ((32000, 0.1), (80000, 0.5)):
        part = slice(start, start + 16000)
        assert decibels(found[:, part]) == pytest.approx(decibels(source[:, part]), abs=limit_)


@settings(max_examples=30, deadline=None)
@given(sizes=SIZES)
def test_follower_does_not_depend_on_cutting(sizes: list[int]) -> None:
    rng = np.random.default_rng(0)
    source, result = rng.uniform(-0.5, 0.5, (2, 3000)), rng.uniform(-0.1, 0.1, (2, 3000))
    whole = follow(source, result, 16000)
    np.testing.assert_allclose(
        follow(source, result, 16000, tuple(sizes)), whole, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("level", [0.0, 1e-12, 1e-160])
def test_follower_stays_calm_in_silence(level: float) -> None:
    silence = np.zeros((1, 40000))
    hiss = level * np.random.default_rng(0).standard_normal((1, 40000))
    for source, result in ((silence, hiss), (hiss, silence), (hiss, hiss)):
        found = follow(source, result, 16000)
        assert np.isfinite(found).all()
        assert np.abs(found).max() <= 10 * np.abs(result).max()


def test_follower_begins_without_gain() -> None:
    source = 1e-3 * np.random.default_rng(0).uniform(-1, 1, (1, 16000))
    found = follow(source, source / 5, 16000)
    gain = found / (source / 5)
    assert gain[0, 0] == pytest.approx(1.0, abs=0.01)
    assert gain[0, -1] > 1.05


def test_follower_takes_all_channels_together() -> None:
    source = np.random.default_rng(0).uniform(-0.5, 0.5, (2, 32000))
    source[1] *= 0.01
    found = follow(source, source / 2, 16000)
    np.testing.assert_allclose(found[1] / source[1], found[0] / source[0], rtol=1e-9)
