from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import get_window

from sordino.dsp.frames import overlap_add, sqrt_hann


def cut(signal: np.ndarray, cuts: list[int]) -> list[np.ndarray]:
    """A signal (channels, samples) in pieces, some of them perhaps empty."""
    edges = [0, *sorted(min(place, signal.shape[1]) for place in cuts), signal.shape[1]]
    return [signal[:, start:end] for start, end in pairwise(edges)]


def joined(blocks: list[np.ndarray], hop: int, function=None, max_frames: int = 8) -> np.ndarray:
    parts = overlap_add(blocks, hop, function or (lambda frames: frames), max_frames=max_frames)
    return np.concatenate(list(parts), axis=1)


def bent(frames: np.ndarray) -> np.ndarray:
    """Not linear, and different for each frame."""
    return frames**3 / (0.1 + np.abs(frames).max(axis=0))


@pytest.mark.parametrize("hop", [1, 2, 80, 110, 160])
def test_window_is_the_root_of_a_periodic_hann(hop: int) -> None:
    window = sqrt_hann(hop)
    np.testing.assert_allclose(window**2, get_window("hann", 2 * hop), atol=1e-12)
    np.testing.assert_allclose(window[:hop] ** 2 + window[hop:] ** 2, 1.0, atol=1e-12)


@settings(max_examples=150, deadline=None)
@given(
    samples=st.integers(1, 400),
    channels=st.integers(1, 3),
    hop=st.integers(1, 40),
    cuts=st.lists(st.integers(0, 400), max_size=8),
    max_frames=st.integers(1, 20),
)
def test_doing_nothing_gives_the_signal_back(
    samples: int, channels: int, hop: int, cuts: list[int], max_frames: int
) -> None:
    signal = np.random.default_rng(samples).normal(size=(channels, samples))
    output = joined(cut(signal, cuts), hop, max_frames=max_frames)
    np.testing.assert_allclose(output, signal, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    samples=st.integers(1, 400),
    hop=st.integers(1, 40),
    cuts=st.lists(st.integers(0, 400), max_size=8),
    max_frames=st.integers(1, 20),
)
def test_neither_cutting_nor_the_number_of_frames_at_once_changes_the_result(
    samples: int, hop: int, cuts: list[int], max_frames: int
) -> None:
    signal = np.random.default_rng(samples).normal(size=(2, samples))
    expected = joined([signal], hop, bent, max_frames=10**6)
    output = joined(cut(signal, cuts), hop, bent, max_frames=max_frames)
    np.testing.assert_allclose(output, expected, atol=1e-12)


@pytest.mark.parametrize("samples", [1, 7, 160, 1000])
def test_channels_do_not_mix(samples: int) -> None:
    signal = np.random.default_rng(7).normal(size=(3, samples))
    alone = [joined([signal[channel : channel + 1]], 16, bent) for channel in range(3)]
    output = joined([signal], 16, bent)
    np.testing.assert_allclose(output, np.concatenate(alone), atol=1e-12)


def test_every_sample_lies_under_two_whole_windows() -> None:
    seen = []

    def note(frames: np.ndarray) -> np.ndarray:
        seen.append(frames.copy())
        return frames

    joined([np.ones((1, 21))], 10, note)
    frames = np.concatenate(seen, axis=1)
    window = sqrt_hann(10)
    assert frames.shape == (20, 4)
    np.testing.assert_allclose(frames[:, 0], np.r_[np.zeros(10), window[10:]], atol=1e-12)
    np.testing.assert_allclose(frames[:, 1], window, atol=1e-12)
    np.testing.assert_allclose(frames[:, 3], np.r_[window[:1], np.zeros(19)], atol=1e-12)


@pytest.mark.parametrize("channels", [1, 2])
def test_frames_at_once_are_bounded(channels: int) -> None:
    counts = []

    def note(frames: np.ndarray) -> np.ndarray:
        counts.append(frames.shape[1])
        return frames

    joined([np.ones((channels, 10000))], 10, note, max_frames=64)
    assert len(counts) > 10
    assert max(counts) <= 64


@pytest.mark.parametrize("block", [1, 10, 37, 500])
def test_samples_come_out_as_soon_as_they_can(block: int) -> None:
    received = sent = 0

    def arriving():
        nonlocal received
        for _ in range(100):
            received += block
            yield np.ones((1, block))
            # Only samples whose second frame is not complete.
            assert received - sent < 2 * 10

    for part in overlap_add(arriving(), 10, lambda frames: frames, max_frames=8):
        assert part.size
        sent += part.shape[1]
    assert sent == 100 * block


def test_no_blocks_give_no_output() -> None:
    assert list(overlap_add([], 10, lambda frames: frames, max_frames=8)) == []
    assert list(overlap_add([np.ones((1, 0))], 10, lambda frames: frames, max_frames=8)) == []
