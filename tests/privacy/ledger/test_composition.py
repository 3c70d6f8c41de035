from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import UsageError
from sordino.privacy.ledger.composition import (
    Limit,
    Releases,
    advanced,
    basic,
    check_cost,
    within,
)

# (epsilon, number) with no delta, the slack, and the epsilon of the exact privacy loss distribution
# by dp-accounting 0.6 (`from_privacy_parameters`, intervals of 1e-4).
EXACT = [
    ([(0.1, 100)], 1e-6, 4.774568),
    ([(0.1, 30), (0.2, 20)], 1e-6, 4.797748),
    ([(0.05, 200), (0.5, 10)], 1e-6, 7.491944),
]
some_spending = st.lists(
    st.builds(
        Releases,
        st.floats(1e-3, 20),
        st.sampled_from([0.0, 1e-9, 1e-6]),
        st.integers(1, 300),
    ),
    min_size=1,
    max_size=5,
)


def pure(*groups: tuple[float, int]) -> list[Releases]:
    return [Releases(epsilon, 0.0, number) for epsilon, number in groups]


def theorem(spending: list[Releases], slack: float) -> tuple[Decimal, Decimal]:
    """Theorem 3.5 of Kairouz, Oh and Viswanath, written out to 50 digits."""
    with localcontext() as context:
        context.prec = 50
        losses = [(Decimal(e), Decimal(d), n) for e, d, n in spending]
        total = sum(n * e for e, _, n in losses)
        drift = sum(n * (e.exp() - 1) * e / (e.exp() + 1) for e, _, n in losses)
        squares = sum(n * e * e for e, _, n in losses)
        rest = Decimal(slack)
        first = drift + (2 * squares * (Decimal(1).exp() + squares.sqrt() / rest).ln()).sqrt()
        second = drift + (2 * squares * (1 / rest).ln()).sqrt()
        kept = 1 - rest
        for _, delta, number in losses:
            kept *= (1 - delta) ** number
        return min(total, first, second), 1 - kept


def optimal(epsilon: float, number: int, delta: float) -> float:
    """Epsilon of the exact composition of equal releases without delta, by bisection."""

    def reached(target: float) -> float:
        losses = [(2 * plus - number) * epsilon for plus in range(number + 1)]
        weights = [
            math.exp(
                math.lgamma(number + 1)
                - math.lgamma(plus + 1)
                - math.lgamma(number - plus + 1)
                + plus * epsilon
                - number * math.log1p(math.exp(epsilon))
            )
            for plus in range(number + 1)
        ]
        return math.fsum(
            weight * -math.expm1(target - loss)
            for weight, loss in zip(weights, losses, strict=True)
            if loss > target
        )

    low, high = 0.0, number * epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(middle) > delta else (low, middle)
    return high


@given(some_spending)
def test_basic_sums_are_exact_and_rounded_up(spending):
    found = basic(spending)
    for value, exact in (
        (found.epsilon, sum(n * Fraction(e) for e, _, n in spending)),
        (found.delta, sum(n * Fraction(d) for _, d, n in spending)),
    ):
        assert Fraction(value) >= exact
        assert value == 0 or Fraction(math.nextafter(value, 0)) < exact


def test_basic_of_nothing_and_of_no_guarantee():
    assert basic([]) == (0.0, 0.0)
    assert basic([Releases(math.inf, 0.0, 1), Releases(1.0, 1e-6, 1)]) == (math.inf, 1e-6)
    assert basic([Releases(1.0, 0.5, 3)]) == (3.0, 1.0)


@given(some_spending, st.floats(1e-12, 0.5))
def test_advanced_is_the_theorem_where_it_is_smaller(spending, slack):
    epsilon, delta = theorem(spending, slack)
    found = advanced(spending, slack)
    if found is None:
        assert float(epsilon) == pytest.approx(basic(spending).epsilon, rel=1e-11)
        return
    assert found.epsilon < basic(spending).epsilon
    assert Decimal(found.epsilon) >= epsilon
    assert found.epsilon == pytest.approx(float(epsilon), rel=1e-11)
    assert Decimal(found.delta) >= delta
    assert found.delta == pytest.approx(float(delta), rel=1e-11)


@pytest.mark.parametrize(("groups", "slack", "exact"), EXACT)
def test_advanced_lies_between_exact_accounting_and_basic(groups, slack, exact):
    found = advanced(pure(*groups), slack)
    assert found is not None
    assert exact < found.epsilon < 1.5 * exact
    assert found.epsilon < basic(pure(*groups)).epsilon


def test_the_reference_of_equal_releases_agrees_with_an_accountant():
    assert optimal(0.1, 100, 1e-6) == pytest.approx(EXACT[0][2], rel=1e-3)


@given(st.floats(0.01, 3), st.integers(1, 200), st.floats(1e-9, 1e-2))
def test_advanced_is_never_below_the_optimum(epsilon, number, slack):
    found = advanced(pure((epsilon, number)), slack)
    assert found is None or found.epsilon >= optimal(epsilon, number, slack)


def test_at_epsilon_15_only_basic_composition_helps():
    assert advanced(pure((15.0, 1000)), 1e-6) is None
    assert advanced([], 1e-6) is None
    assert advanced(pure((0.0, 5)), 5e-324) is None
    assert advanced([*pure((0.1, 100)), Releases(math.inf, 0.0, 1)], 1e-6) is None


@given(some_spending, st.randoms())
def test_neither_order_nor_grouping_counts(spending, random):
    apart = [Releases(e, d, part) for e, d, n in spending for part in (1, n - 1) if part]
    random.shuffle(apart)
    assert basic(apart) == basic(spending)
    together, split = advanced(spending, 1e-6), advanced(apart, 1e-6)
    assert (together is None) == (split is None)
    if together is not None and split is not None:
        assert split == pytest.approx(together, rel=1e-11)


@pytest.mark.parametrize("slack", [0.0, 1.0, -1e-6, math.nan, math.inf])
def test_slacks_out_of_range(slack):
    with pytest.raises(UsageError, match="slack"):
        advanced(pure((0.1, 2)), slack)


# Limits


def test_a_limit_is_kept_to_one_part_in_a_billion():
    # What a mechanism for epsilon 15 proves with rounding.
    assert within(pure((15.000000000000002, 6)), Limit(90.0))
    assert not within(pure((15.000000000000002, 6), (1e-6, 1)), Limit(90.0))
    assert within(pure((0.1, 10)), Limit(1.0))
    assert not within(pure((0.1, 11)), Limit(1.0))


def test_a_delta_needs_a_limit_with_delta():
    gaussian = [Releases(1.0, 1e-6, 2)]
    assert not within(gaussian, Limit(10.0))
    assert not within(gaussian, Limit(10.0, delta=1.9e-6))
    assert within(gaussian, Limit(10.0, delta=2e-6))
    assert not within(gaussian, Limit(10.0, delta=2e-6, slack=1e-7))
    assert not within(gaussian, Limit(math.inf))


def test_infinite_limits_and_releases():
    unprotected = [Releases(math.inf, 0.0, 1)]
    assert within(unprotected, Limit(math.inf))
    assert not within(unprotected, Limit(1e300, delta=0.5, slack=0.5))
    assert within(pure((1e6, 10**6)), Limit(math.inf))


def test_only_slack_buys_advanced_composition():
    # 0.535 + sqrt(2 * 1.07 * ln 1e6) = 5.972, and 6.003 with one more.
    assert within(pure((0.1, 107)), Limit(6.0, delta=1e-6, slack=1e-6))
    assert not within(pure((0.1, 108)), Limit(6.0, delta=1e-6, slack=1e-6))
    assert within(pure((0.1, 60)), Limit(6.0, delta=1e-6))
    assert not within(pure((0.1, 61)), Limit(6.0, delta=1e-6))
    # 0.55 + sqrt(2 * 1.1 * ln 1e6) = 6.063.
    mixed = pure((0.1, 30), (0.2, 20))
    assert within(mixed, Limit(6.064, delta=1e-6, slack=1e-6))
    assert not within(mixed, Limit(6.062, delta=1e-6, slack=1e-6))


@pytest.mark.parametrize("choices", [(0.1, 0.2), (0.05, 0.3), (0.1, 0.13)])
def test_a_limit_holds_against_whoever_chooses_each_epsilon_after_seeing_the_losses(choices):
    """How likely a loss beyond the limit is, at most, over all adaptive choices of two epsilons.

    The guarantee follows where that is at most the slack. Losses are those of randomised response,
    the worst that there are.
    """
    limit = Limit(1.0, delta=0.1, slack=0.1)

    def more(counts: tuple[int, int], which: int, number: int) -> tuple[int, int]:
        first, second = counts
        return (first + number, second) if which == 0 else (first, second + number)

    @cache
    def allowed(counts: tuple[int, int]) -> bool:
        return within(
            pure(*((e, n) for e, n in zip(choices, counts, strict=True) if n)),
            limit,
        )

    @cache
    def worst(counts: tuple[int, int], loss: tuple[int, int]) -> float:
        total = choices[0] * loss[0] + choices[1] * loss[1]
        best = float(total > limit.epsilon + 1e-9)
        for which, epsilon in enumerate(choices):
            after = more(counts, which, 1)
            if allowed(after):
                chance = 1 / (1 + math.exp(-epsilon))
                up, down = (worst(after, more(loss, which, sign)) for sign in (1, -1))
                best = max(best, chance * up + (1 - chance) * down)
        return best

    # Basic composition would have ended before.
    assert allowed((round(1.5 / choices[0]), 0))
    assert limit.slack / 10 < worst((0, 0), (0, 0)) <= limit.slack


@pytest.mark.parametrize(
    ("epsilon", "delta", "slack"),
    [
        (0.0, 0.0, 0.0),
        (-1.0, 0.0, 0.0),
        (math.nan, 0.0, 0.0),
        (1.0, 1.0, 0.0),
        (1.0, -0.1, 0.0),
        (1.0, math.nan, 0.0),
        (1.0, 1e-6, 2e-6),
        (1.0, 1e-6, -1e-9),
        (1.0, 1e-6, math.nan),
    ],
)
def test_impossible_limits(epsilon, delta, slack):
    with pytest.raises(UsageError):
        Limit(epsilon, delta, slack)


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(-0.1, 0.0), (math.nan, 0.0), (2e6, 0.0), (-math.inf, 0.0), (1.0, 1.0), (1.0, math.nan)],
)
def test_impossible_costs(epsilon, delta):
    with pytest.raises(UsageError):
        check_cost(epsilon, delta)


def test_possible_costs():
    for epsilon in (0.0, 15.0, 1e6, math.inf):
        check_cost(epsilon, 0.5)
