from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from sordino.privacy.exact import bernoulli
from sordino.privacy.randomness import SeededRandomness
from tests.privacy.fits import Script

WORD = 2**64


@given(st.integers(0, WORD), st.integers(0, WORD - 1))
def test_what_one_word_can_decide_is_decided_by_it(count: int, word: int) -> None:
    assert bernoulli(Fraction(count, WORD), 1, Script(word)).tolist() == [word < count]


def test_further_words_decide_when_the_first_is_that_of_the_probability() -> None:
    third = WORD // 3
    script = Script(third - 1, third, third, third, third - 1, third + 1)
    assert bernoulli(Fraction(1, 3), 3, script).tolist() == [True, False, True]
    assert script.left == []


@pytest.mark.parametrize("probability", [Fraction(1, 3), 0.02, 0.977, 1e-4])
def test_frequencies(probability: Fraction | float) -> None:
    happened = bernoulli(probability, (300, 1000), SeededRandomness(1))
    assert happened.shape == (300, 1000)
    count = int(happened.sum())
    assert binomtest(count, happened.size, float(probability)).pvalue > 1e-3


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_impossible_probabilities_are_refused(probability: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        bernoulli(probability, 1, SeededRandomness(1))
