from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sordino.privacy.exact import discrete_laplace, laplace
from sordino.privacy.randomness import SeededRandomness
from tests.privacy.fits import Script, chi_square, digits_of_exp

SCALES = [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(1000), Fraction(2**33, 15)]


def below(scale: Fraction, k: int) -> float:
    """The probability of a number below k, in closed form."""
    tail = math.exp(-1 / scale) / (1 + math.exp(-1 / scale)) * math.exp(-max(-k, k - 1) / scale)
    return tail if k <= 0 else 1 - tail


def test_the_closed_form_is_that_of_the_probabilities() -> None:
    numbers = np.arange(-200, 201)
    probabilities = np.exp(-np.abs(numbers) / 2.5)
    cumulative = np.cumsum(probabilities / probabilities.sum())
    expected = [below(Fraction(5, 2), int(k) + 1) for k in numbers]
    assert np.allclose(cumulative, expected, atol=1e-12)


@pytest.mark.parametrize("scale", SCALES)
def test_probabilities(scale: Fraction) -> None:
    values = discrete_laplace(scale, (200, 500), SeededRandomness(1))
    assert values.dtype == np.int64
    assert values.shape == (200, 500)
    reach = float(scale) * 5
    edges = sorted({round(edge) for edge in np.linspace(-reach, reach, 40)})
    assert chi_square(values, edges, lambda k: below(scale, k)) > 1e-3


def test_low_digits_of_large_numbers_are_uniform() -> None:
    values = discrete_laplace(Fraction(2**30), 200_000, SeededRandomness(2))
    for digits in (values % 64, (values >> 8) % 64):
        assert chi_square(digits, range(1, 64), lambda k: k / 64) > 1e-3


@pytest.mark.parametrize("scale", [Fraction(7, 3), Fraction(2**25, 3), Fraction(2**47)])
def test_doubles_decide_as_many_digits_do(scale: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = discrete_laplace(scale, 1000, SeededRandomness(3))
    monkeypatch.setattr(laplace, "_SLACK", 1.0)  # so that nothing is sure
    monkeypatch.setattr(laplace, "_SURE_WORD", np.uint64(2**64 - 1))
    assert np.array_equal(fast, discrete_laplace(scale, 1000, SeededRandomness(3)))


def test_words_near_a_whole_number_are_looked_at_closely() -> None:
    # U just below and just above exp(-3 / 10), which are the same in double precision.
    (word,) = digits_of_exp(Fraction(3, 10), 1)
    assert float(word - 1) == float(word + 1)
    numbers = [discrete_laplace(10, 1, Script(word + shift, 0))[0] for shift in (-1, 1)]
    assert numbers == [3, 2]


def test_negative_zero_is_drawn_again() -> None:
    almost_1, minus = 2**64 - 1, 2**31
    assert discrete_laplace(10, 1, Script(almost_1, minus, almost_1, 0)).tolist() == [0]


def test_low_parts_that_are_too_likely_are_drawn_again() -> None:
    # scale 2 ** 18: low has 2 bits; a test word of all ones is above exp(-3 / 2 ** 18).
    ones = 2**32 - 1
    script = Script(2**64 - 1, ones << 32 | 3, 2**64 - 1, 2)
    assert discrete_laplace(2**18, 1, script).tolist() == [2]


@pytest.mark.parametrize("shape", [0, 5, (0, 3), (2, 3, 4), 2**14 + 1])
def test_shapes(shape: int | tuple[int, ...]) -> None:
    assert discrete_laplace(4, shape, SeededRandomness(4)).shape == np.empty(shape).shape


@pytest.mark.parametrize("scale", [0, -1, Fraction(-1, 2), 2**47 + 1])
def test_scales_out_of_range_are_refused(scale: Fraction | int) -> None:
    with pytest.raises(ValueError, match="scale"):
        discrete_laplace(scale, 1, SeededRandomness(1))
