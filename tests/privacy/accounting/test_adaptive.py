from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import UsageError
from sordino.privacy.accounting.adaptive import joint_multiplier, update_multiplier
from sordino.privacy.accounting.sampled_gaussian import epsilon_of


@given(st.floats(0.1, 100), st.floats(1.01, 1e4))
def test_both_releases_cost_what_one_does(noise: float, factor: float) -> None:
    bits = factor * noise / 2
    updates = update_multiplier(noise, bits)
    assert updates > noise
    joint = joint_multiplier(updates, bits)
    # Rounded up, by little.
    assert noise * (1 - 1e-11) <= joint
    assert joint == pytest.approx(noise, rel=1e-8)


def test_it_is_what_the_accountant_says_of_two_releases() -> None:
    pytest.importorskip("dp_accounting", reason="accounting needs the extra federated")
    # Of everybody, without sampling, two Gaussian releases of different noise are a longer one.
    z, bits = 2.0, 1.5
    updates = update_multiplier(z, bits)
    squares = updates**-2 + (0.5 / bits) ** 2
    assert epsilon_of(squares**-0.5, 1.0, 1, 1e-6) == pytest.approx(
        epsilon_of(z, 1.0, 1, 1e-6), rel=1e-4
    )


def test_a_twentieth_of_the_cohort_costs_next_to_nothing() -> None:
    assert update_multiplier(1.0, 50.0) == pytest.approx(1.00005, abs=1e-6)


def test_bits_with_too_little_noise_are_refused() -> None:
    with pytest.raises(UsageError, match=r"use more than 0\.5"):
        update_multiplier(1.0, 0.5)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_impossible_arguments_are_refused(value: float) -> None:
    for function in (update_multiplier, joint_multiplier):
        with pytest.raises(UsageError, match="not a number above 0"):
            function(value, 1.0)
        with pytest.raises(UsageError, match="not a number above 0"):
            function(0.1, value)
