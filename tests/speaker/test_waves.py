from __future__ import annotations

import numpy as np
import pytest
import soxr
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import AudioError
from sordino.speaker.waves import SILENCE, cut, is_silent, wave_pieces


@given(sizes=st.lists(st.integers(0, 40), min_size=1, max_size=8), longest=st.integers(2, 25))
def test_pieces_are_the_stream_and_none_is_short(sizes, longest):
    total = sum(sizes)
    stream = np.arange(total, dtype=np.float32)
    pieces = list(cut(np.split(stream, np.cumsum(sizes)[:-1]), longest))
    np.testing.assert_array_equal(np.concatenate([*pieces, stream[:0]]), stream)
    lengths = [piece.size for piece in pieces]
    if total <= longest:
        assert lengths == [total] * bool(total)
    else:
        assert all(length == longest for length in lengths[:-2])
        assert 0 <= lengths[-2] - lengths[-1] <= 1
        assert min(lengths) >= longest // 2
        assert max(lengths) <= longest


def test_the_cut_does_not_depend_on_blocks():
    stream = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    whole = list(cut([stream], 77))
    parts = list(cut(np.array_split(stream, 333), 77))
    assert len(whole) == len(parts) == 13
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


def test_no_more_than_two_pieces_are_held():
    taken = 0

    def blocks():
        nonlocal taken
        for _ in range(100):
            taken += 10
            yield np.zeros(10, dtype=np.float32)

    given = 0
    for piece in cut(blocks(), 50):
        assert taken - given <= 2 * 50 + 10
        given += piece.size
    assert given == 1000


@pytest.mark.parametrize("rate", [8000, 16000, 44100])
def test_channels_are_averaged_and_resampled(rate):
    time = np.arange(rate) / rate
    left, right = np.sin(2 * np.pi * 440 * time), 0.5 * np.sin(2 * np.pi * 1000 * time)
    (piece,) = wave_pieces(np.array_split(np.stack([left, right]), 7, axis=1), rate, 16000, 10**6)
    assert piece.dtype == np.float32
    assert piece.size == 16000
    wanted = soxr.resample((left + right) / 2, rate, 16000, quality="VHQ")
    np.testing.assert_allclose(piece[500:-500], wanted[500:-500], atol=1e-4)


@pytest.mark.parametrize("value", [0.0, 0.25, -1.0])
@pytest.mark.parametrize("rate", [16000, 44100])
@pytest.mark.parametrize("seconds", [1, 5])
def test_digital_silence(value, rate, seconds):
    blocks = [np.full((1, rate), value, dtype=np.float32)] * seconds
    with pytest.raises(AudioError, match="digital silence: all its samples are equal"):
        list(wave_pieces(blocks, rate, 16000, 20000))


def test_channels_that_cancel_are_silence():
    noise = np.random.default_rng(0).normal(size=1000)
    with pytest.raises(AudioError, match="digital silence"):
        list(wave_pieces([np.stack([noise, -noise])], 16000, 16000, 10**6))


def test_the_faintest_sound_of_24_bits_is_heard():
    wave = np.zeros((1, 1000), dtype=np.float32)
    wave[0, 500] = 2.0**-23
    (piece,) = wave_pieces([wave], 16000, 16000, 10**6)
    assert not is_silent(piece)
    assert is_silent(piece / 2)
    assert SILENCE == 2.0**-24


@pytest.mark.parametrize("blocks", [[], [np.zeros((1, 0))]])
def test_no_samples(blocks):
    with pytest.raises(AudioError, match="holds no samples"):
        list(wave_pieces(blocks, 16000, 16000, 100))
