from __future__ import annotations

import os

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from sordino.privacy.randomness import SeededRandomness, SystemRandomness
from tests.privacy.fits import Script

TOP = 2**64 - 1


def test_the_systems_words_have_balanced_bits() -> None:
    words = SystemRandomness().bits((64, 1024))
    ones = np.unpackbits(words.view(np.uint8).reshape(-1, 8), axis=1).mean(axis=0)
    assert words.dtype == np.uint64
    assert np.abs(ones - 0.5).max() < 6 * 0.5 / np.sqrt(words.size)


def test_the_systems_words_are_asked_for_anew_and_none_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    real = os.urandom
    monkeypatch.setattr(os, "urandom", lambda count: asked.append(count) or real(count))
    randomness = SystemRandomness()
    first, second = randomness.bits((2, 3)), randomness.bits(6)
    assert asked == [48, 48]
    assert not np.array_equal(first.ravel(), second)
    assert vars(randomness) == {}


def test_seeded_words_are_philox() -> None:
    expected = np.random.Philox(key=7).random_raw(6)
    assert np.array_equal(SeededRandomness(7).bits((2, 3)).ravel(), expected)


def test_only_the_system_guarantees() -> None:
    assert SystemRandomness.guarantee
    assert not SeededRandomness.guarantee


@pytest.mark.parametrize("seed", [-1, 2**128])
def test_seeds_out_of_range_are_refused(seed: int) -> None:
    with pytest.raises(ValueError, match="seed"):
        SeededRandomness(seed)


def test_whole_numbers_are_uniform() -> None:
    numbers = SeededRandomness(1).below(7, (100, 1000))
    assert numbers.shape == (100, 1000)
    assert chisquare(np.bincount(numbers.ravel(), minlength=7)).pvalue > 1e-3


def test_words_that_would_favour_low_numbers_are_drawn_again() -> None:
    # 2 ** 64 is 1 more than a multiple of 3, so that the topmost word is one too many.
    assert Script(TOP, TOP - 1, TOP, 5).below(3, 2).tolist() == [5 % 3, (TOP - 1) % 3]


def test_no_word_is_one_too_many_for_powers_of_two() -> None:
    assert Script(TOP, 0).below(2**63, 2).tolist() == [2**63 - 1, 0]


@pytest.mark.parametrize("n", [0, -3, 2**63 + 1])
def test_impossible_ranges_are_refused(n: int) -> None:
    with pytest.raises(ValueError, match="whole numbers"):
        SeededRandomness(1).below(n, 1)


def test_signs_are_balanced() -> None:
    signs = SeededRandomness(2).signs((50, 2000))
    assert set(signs.ravel().tolist()) == {-1, 1}
    assert abs(signs.mean()) < 4 / np.sqrt(signs.size)


def test_uniforms_are_never_0_or_1() -> None:
    low, high = Script(0, TOP).uniforms(2)
    assert 0 < low < 1e-15
    assert 1 - 1e-15 < high < 1
    assert kstest(SeededRandomness(3).uniforms(100_000), "uniform").pvalue > 1e-3


@pytest.mark.parametrize("shape", [0, 1, 7, (3, 5), (2, 0)])
def test_normals_have_the_shape(shape: int | tuple[int, ...]) -> None:
    assert SeededRandomness(4).normals(shape).shape == np.empty(shape).shape


def test_normals_are_normal_and_independent() -> None:
    values = SeededRandomness(5).normals((2, 100_000))
    assert kstest(values.ravel(), "norm").pvalue > 1e-3
    for left, right in [(values[0], values[1]), (values[0] ** 2, values[1] ** 2)]:
        assert abs(np.corrcoef(left, right)[0, 1]) < 4 / np.sqrt(left.size)


def test_normals_are_finite_for_every_word() -> None:
    values = [Script(first, 0).normals(1)[0] for first in (0, 1, 2**63, TOP)]
    assert np.isfinite(values).all()
    assert values[0] > 8
