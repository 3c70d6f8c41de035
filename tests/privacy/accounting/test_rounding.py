from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.privacy.accounting.rounding import rounded_up


@given(st.floats(1e-300, 1e300), st.integers(1, 15))
def test_it_is_never_below_and_has_few_digits(value: float, digits: int) -> None:
    up = rounded_up(value, digits)
    assert Fraction(up) >= Fraction(value)
    assert up <= value * (1 + 1.0001 * 10.0 ** (1 - digits))
    assert rounded_up(up, digits) == pytest.approx(up, rel=10.0 ** (1 - digits) * 1.0001)


def test_what_is_round_stays() -> None:
    assert rounded_up(0.25, 2) == 0.25
    assert rounded_up(0.0) == 0.0
    assert rounded_up(math.inf) == math.inf
