from __future__ import annotations

import math
from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from sordino.errors import UsageError
from sordino.privacy.mechanisms.calibration import (
    gaussian_delta,
    gaussian_noise_multiplier,
    turning_point,
)

PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803"
)


def integrated_delta(epsilon: float, multiplier: float) -> float:
    """By how much the density around 1 exceeds exp(epsilon) times that around 0, integrated."""

    def excess(x: float) -> float:
        first = norm.logpdf(x, 1, multiplier)
        return math.exp(first) * -math.expm1(epsilon + norm.logpdf(x, 0, multiplier) - first)

    start = epsilon * multiplier**2 + 0.5  # below, it does not
    return float(quad(excess, start, start + 12 * multiplier, epsabs=0, epsrel=1e-7)[0])


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 8.0, 25.0])
@pytest.mark.parametrize("delta", [1e-5, 1e-7])
def test_delta_is_the_integral(epsilon: float, delta: float) -> None:
    multiplier = gaussian_noise_multiplier(epsilon, delta)
    assert integrated_delta(epsilon, multiplier) == pytest.approx(delta, rel=1e-4)


@pytest.mark.parametrize(("epsilon", "multiplier"), [(0.5, 1.0), (2.0, 0.7), (15.0, 0.3)])
def test_delta_is_the_closed_form(epsilon: float, multiplier: float) -> None:
    half = 1 / (2 * multiplier)
    expected = norm.cdf(half - epsilon * multiplier) - math.exp(epsilon) * norm.cdf(
        -half - epsilon * multiplier
    )
    assert gaussian_delta(epsilon, multiplier) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("delta", "expected"), [(1e-5, 1.994), (1e-6, 2.2305), (1e-7, 2.449)])
def test_reference_values(delta: float, expected: float) -> None:
    assert gaussian_noise_multiplier(2.0, delta) == pytest.approx(expected, rel=3e-4)


def test_the_classical_formula_promises_too_much() -> None:
    delta = 1e-5
    classical = math.sqrt(2 * math.log(1.25 / delta)) / 25
    true = turning_point(lambda epsilon: gaussian_delta(epsilon, classical) <= delta, 1.0, 100.0)
    assert true == pytest.approx(34.6, abs=0.1)


@given(st.floats(1e-3, 200), st.floats(1e-9, 0.5))
def test_the_noise_suffices_and_no_less_would(epsilon: float, delta: float) -> None:
    multiplier = gaussian_noise_multiplier(epsilon, delta)
    assert gaussian_delta(epsilon, multiplier) <= delta
    assert gaussian_delta(epsilon, multiplier * 0.9999) > delta


def precise_delta(epsilon: float, multiplier: float) -> Decimal:
    """The closed form with 200 digits, from the power series of the error function."""

    def distribution(x: Decimal) -> Decimal:
        term = total = x
        for power in range(3, 4000, 2):
            term = term * x * x / power
            total += term
            if abs(term) < Decimal(10) ** -190:
                break
        return Decimal("0.5") + total * (-x * x / 2).exp() / (2 * PI).sqrt()

    with localcontext() as context:
        context.prec = 200
        half, part = 1 / (2 * Decimal(multiplier)), Decimal(epsilon) * Decimal(multiplier)
        return distribution(half - part) - Decimal(epsilon).exp() * distribution(-half - part)


@given(st.floats(1e-3, 100), st.floats(0.05, 100))
def test_delta_is_never_rounded_down(epsilon: float, multiplier: float) -> None:
    if epsilon * multiplier < 15:
        stated = Decimal(gaussian_delta(epsilon, multiplier))
        exact = precise_delta(epsilon, multiplier)
        assert exact <= stated
        assert float(stated) == pytest.approx(float(exact), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.0, 0.1), (math.nan, 0.1), (1.0, 0.0), (1.0, 1.0), (1.0, math.nan)]
)
def test_impossible_wishes_are_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(UsageError, match=r"epsilon|delta"):
        gaussian_noise_multiplier(epsilon, delta)


@given(st.floats(-100, 100))
def test_a_turning_point_is_on_the_side_where_the_condition_holds(turn: float) -> None:
    found = turning_point(lambda x: x >= turn, -101, 101)
    assert found >= turn
    assert found == pytest.approx(turn, rel=1e-12, abs=1e-12)
