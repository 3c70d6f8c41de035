from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.signal import butter, correlate, resample_poly, sosfiltfilt

from sordino.audio.resample import at_rate, resample_blocks

RATES = (8000, 11025, 16000, 22050, 32000, 44100, 48000, 96000, 192000)
PAIRS = [(a, b) for a in RATES for b in RATES if a != b]


def cut(samples: np.ndarray, sizes: list[int]) -> Iterator[np.ndarray]:
    """Pieces of these sizes, over and over."""
    start = number = 0
    while start < samples.shape[1]:
        size = sizes[number % len(sizes)]
        yield samples[:, start : start + size]
        start, number = start + size, number + 1


def resample(samples: np.ndarray, source: int, target: int, sizes: list[int]) -> np.ndarray:
    return np.concatenate(list(resample_blocks(cut(samples, sizes), source, target)), axis=1)


def tones(rate: int, seconds: float, highest: float) -> np.ndarray:
    """Sines of known phase, well below a frequency, shape (1, samples)."""
    time = np.arange(round(rate * seconds)) / rate
    parts = [np.sin(2 * np.pi * share * highest * time + share) for share in (0.05, 0.4, 0.8)]
    return 0.2 * np.sum(parts, axis=0, keepdims=True)


def band_noise(rate: int, seconds: float, highest: float) -> np.ndarray:
    noise = np.random.default_rng(0).standard_normal((1, round(rate * seconds)))
    return sosfiltfilt(butter(8, highest, fs=rate, output="sos"), noise)


@settings(max_examples=60, deadline=None)
@given(
    samples=st.integers(1, 3000),
    pair=st.sampled_from([*PAIRS, (8000, 48001), (44101, 16000), (9000, 9001)]),
    sizes=st.lists(st.integers(1, 1000), min_size=1, max_size=4),
)
@example(samples=1, pair=(8000, 192000), sizes=[1])
@example(samples=1, pair=(192000, 8000), sizes=[1])
def test_length_is_rounded_up(samples: int, pair: tuple[int, int], sizes: list[int]) -> None:
    source, target = pair
    found = resample(np.zeros((2, samples)), source, target, sizes)
    assert found.shape == (2, -(-samples * target // source))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_sines_are_the_sines_of_the_other_rate(source: int, target: int) -> None:
    highest = min(source, target) / 2
    found = resample(tones(source, 0.2, highest), source, target, [1000])
    expected = tones(target, 0.2, highest)
    edge = round(0.02 * target)
    length = min(found.shape[1], expected.shape[1])
    assert abs(found.shape[1] - expected.shape[1]) <= 1
    np.testing.assert_allclose(
        found[:, edge : length - edge], expected[:, edge : length - edge], atol=1e-3
    )


@pytest.mark.parametrize(
    ("source", "target"), [(16000, 8000), (8000, 16000), (44100, 16000), (16000, 48000)]
)
def test_speech_equals_another_resampler(
    speech_like: Callable[..., np.ndarray], source: int, target: int
) -> None:
    speech = speech_like(source, 1.0, 2).astype(float)
    speech = sosfiltfilt(butter(10, 0.35 * min(source, target), fs=source, output="sos"), speech)
    divisor = np.gcd(source, target)
    expected = resample_poly(speech, target // divisor, source // divisor, axis=1)
    found = resample(speech, source, target, [3000])
    assert found.shape == expected.shape
    middle = slice(target // 20, -target // 20)
    assert np.abs(found - expected)[:, middle].max() < 0.005 * np.abs(speech).max()


@pytest.mark.parametrize(("source", "target"), [(48000, 16000), (44100, 8000), (16000, 11025)])
def test_what_the_lower_rate_cannot_hold_is_gone(source: int, target: int) -> None:
    time = np.arange(source) / source
    too_high = np.sin(2 * np.pi * 0.55 * target * time)[None]
    found = resample(too_high, source, target, [1000])
    edge = target // 20
    assert np.abs(found[:, edge:-edge]).max() < 1e-4


@pytest.mark.parametrize(("source", "target"), [(44100, 16000), (8000, 48000), (16000, 22050)])
def test_there_is_no_delay(source: int, target: int) -> None:
    noise = band_noise(source, 0.5, 2000)
    divisor = np.gcd(source, target)
    reference = resample_poly(noise[0], target // divisor, source // divisor)
    found = resample(noise, source, target, [777])[0]
    likeness = correlate(found, reference, mode="full", method="fft")
    assert np.argmax(likeness) == len(reference) - 1


@settings(max_examples=25, deadline=None)
@given(
    pair=st.sampled_from([(16000, 8000), (44100, 16000), (8000, 48000), (11025, 16000)]),
    sizes=st.lists(st.integers(1, 2000), min_size=1, max_size=5),
)
def test_cutting_does_not_change_samples(pair: tuple[int, int], sizes: list[int]) -> None:
    noise = np.random.default_rng(0).standard_normal((2, 2500))
    whole = resample(noise, *pair, [2500])
    np.testing.assert_allclose(resample(noise, *pair, sizes), whole, atol=1e-9)


def test_channels_are_resampled_alone() -> None:
    noise = np.random.default_rng(0).standard_normal((8, 3000))
    together = resample(noise, 16000, 11025, [999])
    for channel, expected in zip(noise, together, strict=True):
        alone = resample(channel[None], 16000, 11025, [999])
        np.testing.assert_allclose(alone[0], expected, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_rate_changes_nothing(dtype: type) -> None:
    samples = np.random.default_rng(0).standard_normal((2, 1000)).astype(dtype)
    found = resample(samples, 16000, 16000, [300])
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, samples)


@pytest.mark.parametrize(("source", "target"), [(16000, 16000), (16000, 8000)])
def test_nothing_gives_nothing(source: int, target: int) -> None:
    assert not list(resample_blocks([], source, target))
    assert not list(at_rate([], source, target, lambda blocks: blocks))


def test_stream_comes_out_as_it_goes_in() -> None:
    ahead = 0

    def source() -> Iterator[np.ndarray]:
        nonlocal ahead
        for _ in range(100):
            ahead += 1
            yield np.zeros((1, 1000))

    out = 0
    for block in resample_blocks(source(), 44100, 16000):
        out += block.shape[1]
        assert ahead * 1000 * 16000 / 44100 - out < 4000
    assert out == -(-100_000 * 16000 // 44100)


# Work at another rate.


@settings(max_examples=60, deadline=None)
@given(
    samples=st.integers(1, 3000),
    pair=st.sampled_from([*PAIRS, (16000, 16000), (44101, 16000), (9001, 9000)]),
    sizes=st.lists(st.integers(1, 1000), min_size=1, max_size=4),
)
@example(samples=1, pair=(192000, 8000), sizes=[1])
@example(samples=3, pair=(44100, 16000), sizes=[1])
def test_number_of_samples_is_kept(samples: int, pair: tuple[int, int], sizes: list[int]) -> None:
    outer, inner = pair
    inside = 0

    def count(blocks: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
        nonlocal inside
        for block in blocks:
            inside += block.shape[1]
            yield block

    found = list(at_rate(cut(np.ones((2, samples)), sizes), outer, inner, count))
    assert sum(block.shape[1] for block in found) == samples
    assert {block.shape[0] for block in found} == {2}
    assert inside == -(-samples * inner // outer)


def _at_once(blocks: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    yield np.concatenate(list(blocks), axis=1)


def _in_pieces(blocks: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    for block in blocks:
        yield from cut(block, [7])


@pytest.mark.parametrize(
    ("outer", "inner"), [(8000, 16000), (44100, 16000), (48000, 16000), (11025, 16000)]
)
@pytest.mark.parametrize("function", [lambda blocks: blocks, _at_once, _in_pieces])
@pytest.mark.parametrize("size", [1, 50, 10**6])
def test_sound_comes_back_in_its_place(
    outer: int, inner: int, function: Callable, size: int
) -> None:
    samples = tones(outer, 0.1, min(outer, inner) / 2)
    found = np.concatenate(list(at_rate(cut(samples, [size]), outer, inner, function)), axis=1)
    assert found.shape == samples.shape
    edge = outer // 50
    np.testing.assert_allclose(found[:, edge:-edge], samples[:, edge:-edge], atol=2e-3)


def test_work_is_done_at_the_inner_rate() -> None:
    # A sine of the inner rate's own is added and heard at the outer rate.
    def add(blocks: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
        start = 0
        for block in blocks:
            time = (start + np.arange(block.shape[1])) / 16000
            start += block.shape[1]
            yield block + np.sin(2 * np.pi * 1000 * time)

    found = np.concatenate(list(at_rate([np.zeros((1, 4410))] * 10, 44100, 16000, add)), axis=1)
    expected = np.sin(2 * np.pi * 1000 * np.arange(44100) / 44100)
    np.testing.assert_allclose(found[0, 1000:-1000], expected[1000:-1000], atol=1e-3)
