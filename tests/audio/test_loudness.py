from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyloudnorm
import pytest
import soundfile
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.signal import sosfreqz

from sordino.audio.loudness import LoudnessMeter, k_weighting

RATES = [8000, 11025, 16000, 22050, 32000, 44100, 48000, 96000, 192000]


def measure(samples: np.ndarray, rate: int, size: int = 10**9) -> float:
    meter = LoudnessMeter(rate)
    for start in range(0, samples.shape[1], size):
        meter.add(samples[:, start : start + size])
    return meter.loudness()


def reference(samples: np.ndarray, rate: int) -> float:
    return float(pyloudnorm.Meter(rate, filter_class="DeMan").integrated_loudness(samples.T))


def sine(level: float, seconds: float, rate: int, frequency: float = 997.0) -> np.ndarray:
    """A sine of this peak level in dB, shape (1, samples)."""
    time = np.arange(round(seconds * rate)) / rate
    return 10 ** (level / 20) * np.sin(2 * np.pi * frequency * time)[None]


def test_filters_are_those_of_the_standard_at_48_khz() -> None:
    # ITU-R BS.1770-4, annex 1, tables 1 and 2.
    shelf = [1.53512485958697, -2.69169618940638, 1.19839281085285]
    shelf += [1.0, -1.69065929318241, 0.73248077421585]
    high_pass = [1.0, -2.0, 1.0, 1.0, -1.99004745483398, 0.99007225036621]
    np.testing.assert_allclose(k_weighting(48000), [shelf, high_pass], atol=2e-6)


@pytest.mark.parametrize("rate", RATES)
def test_filters_weigh_alike_at_every_rate(rate: int) -> None:
    frequencies = np.array([30.0, 60.0, 200.0, 997.0, 2000.0])
    gains = [
        20 * np.log10(np.abs(sosfreqz(k_weighting(each), frequencies, fs=each)[1]))
        for each in (rate, 48000)
    ]
    np.testing.assert_allclose(gains[0], gains[1], atol=0.5 if rate < 16000 else 0.15)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("channels", [1, 2])
def test_equals_pyloudnorm_on_voices(
    speech_like: Callable[..., np.ndarray], rate: int, channels: int
) -> None:
    samples = speech_like(rate, 3.0, channels)
    assert measure(samples, rate) == pytest.approx(reference(samples, rate), abs=0.05)


@pytest.mark.parametrize(
    "corpus", ["librispeech", "vctk", "emodb", "commonvoice_es_mx", "aishell1"]
)
def test_equals_pyloudnorm_on_real_speech(speech_root: Path, corpus: str) -> None:
    for path in sorted((speech_root / corpus).rglob("*.flac"))[:2]:
        samples, rate = soundfile.read(path, always_2d=True)
        assert measure(samples.T, rate) == pytest.approx(reference(samples.T, rate), abs=0.05)


@pytest.mark.parametrize("frequency", [40.0, 100.0, 997.0, 3000.0, 7000.0])
def test_equals_pyloudnorm_on_sines(frequency: float) -> None:
    samples = sine(-20, 2.0, 48000, frequency)
    assert measure(samples, 48000) == pytest.approx(reference(samples, 48000), abs=0.05)


@pytest.mark.parametrize("level", [0.0, -23.0, -60.0])
@pytest.mark.parametrize("rate", [16000, 48000])
def test_sine_of_997_hz_reads_3_below_its_level(level: float, rate: int) -> None:
    assert measure(sine(level, 2.0, rate), rate) == pytest.approx(level - 3.01, abs=0.05)


@pytest.mark.parametrize("channels", [2, 4, 8])
def test_channels_add_up(channels: int) -> None:
    samples = np.repeat(sine(-30, 1.0, 48000), channels, axis=0)
    expected = -33.01 + 10 * math.log10(channels)
    assert measure(samples, 48000) == pytest.approx(expected, abs=0.05)


def test_long_silence_does_not_count(speech_like: Callable[..., np.ndarray]) -> None:
    speech = speech_like(16000, 4.0)
    silence = np.zeros((1, 16000 * 30))
    within = np.concatenate([silence, speech, silence], axis=1)
    assert measure(within, 16000) == pytest.approx(reference(within, 16000), abs=0.05)
    assert measure(within, 16000) == pytest.approx(measure(speech, 16000), abs=0.5)


def test_soft_part_counts_unless_ten_below() -> None:
    loud = sine(-20, 5.0, 48000)
    for level, expected in ((-26.0, None), (-50.0, -23.01)):
        both = np.concatenate([loud, sine(level, 5.0, 48000)], axis=1)
        found = measure(both, 48000)
        assert found == pytest.approx(reference(both, 48000), abs=0.05)
        power = (10**-2.0 + 10 ** (level / 10)) / 2
        assert found == pytest.approx(expected or 10 * math.log10(power) - 3.01, abs=0.2)


def test_part_below_the_absolute_gate_does_not_count() -> None:
    # 4.5 dB below the other part: only the absolute gate can leave it out.
    both = np.concatenate([sine(-64.0, 5.0, 48000), sine(-68.5, 5.0, 48000)], axis=1)
    assert measure(both, 48000) == pytest.approx(-67.01, abs=0.2)
    assert measure(both, 48000) == pytest.approx(reference(both, 48000), abs=0.05)


@pytest.mark.parametrize("samples", [0, 1, 100, 48000])
@pytest.mark.parametrize("channels", [1, 2])
def test_silence_has_no_loudness(samples: int, channels: int) -> None:
    assert measure(np.zeros((channels, samples)), 48000) == -math.inf


def test_meter_that_was_given_nothing_has_no_loudness() -> None:
    meter = LoudnessMeter(48000)
    assert meter.loudness() == -math.inf
    meter.add(np.zeros((2, 0)))
    assert meter.loudness() == -math.inf


@pytest.mark.parametrize("seconds", [0.05, 0.1, 0.25, 0.39])
def test_signal_shorter_than_a_block_gives_its_mean(seconds: float) -> None:
    assert measure(sine(-20, seconds, 48000), 48000) == pytest.approx(-23.01, abs=0.3)


@pytest.mark.parametrize("level", [-75.0, -100.0])
def test_signal_below_the_absolute_gate_gives_its_mean(level: float) -> None:
    assert measure(sine(level, 2.0, 48000), 48000) == pytest.approx(level - 3.01, abs=0.1)


@pytest.mark.parametrize("seconds", [0.4, 0.5, 0.8])
def test_few_blocks_are_gated(seconds: float, speech_like: Callable[..., np.ndarray]) -> None:
    samples = speech_like(16000, 1.0)[:, : round(16000 * seconds)]
    assert measure(samples, 16000) == pytest.approx(reference(samples, 16000), abs=0.05)


@settings(max_examples=40, deadline=None)
@given(sizes=st.lists(st.integers(0, 9000), min_size=1, max_size=8))
@example(sizes=[1599, 1, 1601])
@example(sizes=[0])
def test_cutting_does_not_change_the_loudness(
    speech_like: Callable[..., np.ndarray], sizes: list[int]
) -> None:
    samples = speech_like(16000, 1.0, 2)
    meter = LoudnessMeter(16000)
    start = 0
    for size in [*sizes, 16000]:
        meter.add(samples[:, start : start + size])
        start += size
    assert meter.loudness() == pytest.approx(measure(samples, 16000), abs=1e-9)


def test_loudness_can_be_asked_on_the_way(speech_like: Callable[..., np.ndarray]) -> None:
    samples = speech_like(16000, 2.0)
    meter = LoudnessMeter(16000)
    for start in range(0, 32000, 1000):
        meter.add(samples[:, start : start + 1000])
        so_far = measure(samples[:, : start + 1000], 16000)
        assert meter.loudness() == pytest.approx(so_far, abs=1e-9)
