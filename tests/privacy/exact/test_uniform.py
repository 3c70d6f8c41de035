from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.privacy.exact.uniform import Uniform
from sordino.privacy.randomness import SeededRandomness
from tests.privacy.fits import Script, digits_of_exp

WORD = 2**64
rates = st.fractions(min_value=0, max_value=40, max_denominator=10**12)
words = st.integers(min_value=1, max_value=WORD - 1)


@given(rates, words)
def test_where_doubles_suffice_the_decision_is_theirs(rate: Fraction, word: int) -> None:
    gap = word / WORD - math.exp(-rate)
    if abs(gap) > 1e-12:
        assert Uniform(word, 64, Script()).below_exp(rate) == (gap < 0)


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1), Fraction(20), Fraction(1, 10**9)])
@pytest.mark.parametrize("same", [1, 2, 5])
def test_further_words_are_drawn_until_one_differs(rate: Fraction, same: int) -> None:
    first, *others = digits_of_exp(rate, same + 1)
    for change, expected in [(-1, True), (1, False)]:
        script = Script(*others[:-1], others[-1] + change, 99)
        assert Uniform(first, 64, script).below_exp(rate) is expected
        assert script.left == [99]


def test_rate_0_always_happens() -> None:
    assert Uniform(WORD - 1, 64, Script()).below_exp(Fraction(0))


@pytest.mark.parametrize("rate", [Fraction(10**4), Fraction(10**30)])
def test_huge_rates_never_happen_and_cost_nothing(rate: Fraction) -> None:
    assert not Uniform(1, 64, Script()).below_exp(rate)
    assert not Uniform(0, 64, Script(0, 3)).below_exp(rate)


@given(st.fractions(min_value=Fraction(1, 100), max_value=10**9, max_denominator=10**6), words)
def test_geometric_numbers_are_logarithms_rounded_down(scale: Fraction, word: int) -> None:
    expected = -float(scale) * math.log(word / WORD)
    slack = 1e-9 * (float(scale) + expected)
    if math.floor(expected - slack) == math.floor(expected + slack) and word > 2**40:
        assert Uniform(word, 64, Script()).geometric(scale) == math.floor(expected)


@pytest.mark.parametrize("scale", [Fraction(7, 3), Fraction(10**6), Fraction(10**13 + 1, 3)])
@pytest.mark.parametrize("k", [1, 5, 30])
def test_geometric_numbers_near_a_whole_number(scale: Fraction, k: int) -> None:
    first, *others = digits_of_exp(k / scale, 3)
    for change, expected in [(-1, k), (1, k - 1)]:
        uniform = Uniform(first, 64, Script(*others[:-1], others[-1] + change))
        assert uniform.geometric(scale) == expected


def test_a_uniform_number_that_begins_with_zeros() -> None:
    # U is about 2 ** -65: the logarithm is 65 ln 2.
    number = Uniform(0, 64, Script(2**63)).geometric(Fraction(1000))
    assert number == math.floor(1000 * 65 * math.log(2))


def test_the_largest_uniform_numbers_give_0() -> None:
    assert Uniform(WORD - 1, 64, Script()).geometric(Fraction(10)) == 0
    assert Uniform(2**32 - 1, 32, SeededRandomness(1)).geometric(Fraction(1)) == 0
