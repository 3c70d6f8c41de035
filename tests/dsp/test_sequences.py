from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from sordino.dsp.sequences import normals, uniforms


@given(st.integers(-5000, 5000), st.lists(st.integers(0, 2500), max_size=5), st.integers(0, 9))
def test_pieces_are_pieces_of_the_whole(start, lengths, seed):
    whole = normals(start, sum(lengths), seed)
    places = start + np.cumsum([0, *lengths])
    parts = [normals(int(p), n, seed) for p, n in zip(places, lengths, strict=False)]
    assert np.array_equal(np.concatenate([np.zeros(0), *parts]), whole)


@pytest.mark.parametrize(("make", "law"), [(normals, "norm"), (uniforms, "uniform")])
@pytest.mark.parametrize("start", [-10_000, 0, 2**40])
def test_they_are_distributed_as_they_say_and_independent(make, law, start):
    numbers = make(start, 20_000, seed=5)
    assert kstest(numbers, law).pvalue > 1e-3
    centred = numbers - numbers.mean()
    lags = [centred[:-lag] @ centred[lag:] / (centred @ centred) for lag in (1, 2, 7, 1024)]
    assert np.abs(lags).max() < 5 / np.sqrt(numbers.size)


@pytest.mark.parametrize("other", [0, 2**64, 2**100, 2**128 - 1])
def test_seeds_give_different_sequences(other):
    first, second = normals(0, 4000, seed=2**70), normals(0, 4000, seed=other)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.08


def test_blocks_far_apart_are_different():
    # Block numbers beyond 2 ** 53 would be one and the same as floating-point numbers.
    place = 1024 * 2**60
    assert not np.array_equal(normals(place, 10, 1), normals(place + 1024, 10, 1))
    assert not np.array_equal(normals(-1024, 10, 1), normals(-2048, 10, 1))


def test_what_cannot_be_made_is_said():
    assert normals(7, 0, 1).shape == (0,)
    with pytest.raises(ValueError, match="-1 numbers"):
        uniforms(0, -1, 1)
    with pytest.raises(ValueError, match=r"2\*\*128"):
        normals(0, 1, 2**128)
