from __future__ import annotations

import math

import pytest
from scipy.stats import binom

from sordino.errors import UsageError
from sordino.privacy.audit.one_run import one_run_epsilon, one_run_p_value


def test_published_values():
    # Appendix D and section 7 of the paper; the second is cut off there, not rounded.
    assert one_run_epsilon(1000, 100, 75, delta=1e-4) == pytest.approx(0.673, abs=5e-4)
    assert one_run_epsilon(100_000, 1510, 1439, delta=1e-5) == pytest.approx(2.675, abs=1e-3)
    assert one_run_p_value(100, 100, 75, math.log(3), 0.0) == pytest.approx(0.553, abs=5e-4)


@pytest.mark.parametrize(("rows", "most"), [(100, 3.5), (1000, 5.8), (10_000, 8.1)])
def test_all_guesses_right_reach_the_known_ceilings(rows, most):
    assert one_run_epsilon(rows, rows, rows) == pytest.approx(most, abs=0.05)


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0])
def test_randomised_response_meets_the_p_value_exactly(epsilon):
    accuracy = 1 / (1 + math.exp(-epsilon))
    for right in (0, 30, 55, 60):
        found = one_run_p_value(80, 60, right, epsilon, 0.0)
        assert found == pytest.approx(binom.sf(right - 1, 60, accuracy))


def test_rows_that_are_told_with_probability_delta_are_covered():
    # Randomised response that tells the coin with probability delta is (epsilon, delta)-private.
    delta, epsilon = 0.05, 1.0
    accuracy = delta + (1 - delta) / (1 + math.exp(-epsilon))
    for right in range(31):
        truth = binom.sf(right - 1, 30, accuracy)
        assert truth <= one_run_p_value(30, 30, right, epsilon, delta) + 1e-12
    assert binom.sf(27, 30, accuracy) > 1.5 * one_run_p_value(30, 30, 28, epsilon, 0.0)


def test_telling_one_row_of_many_is_covered():
    # A row is chosen evenly and told: (0, 1 / rows)-private, and a single guess is always right.
    assert one_run_p_value(50, 1, 1, 0.0, 1 / 50) == 1
    assert one_run_epsilon(50, 1, 1, delta=1 / 50, false_alarm=0.6) == 0


@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-3])
def test_the_bound_is_where_the_p_value_is_the_false_alarm(delta):
    epsilon = one_run_epsilon(500, 400, 340, delta=delta, false_alarm=0.01)
    assert one_run_p_value(500, 400, 340, epsilon, delta) == pytest.approx(0.01, rel=1e-6)


def test_delta_lowers_the_bound_and_may_leave_nothing():
    bounds = [one_run_epsilon(500, 400, 340, delta=delta) for delta in (0.0, 1e-4, 1e-3, 1e-1)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > bounds[2] > bounds[3] == 0


def test_guesses_at_chance_prove_nothing():
    assert one_run_epsilon(1000, 800, 400) == 0
    assert one_run_epsilon(1000, 0, 0) == 0
    assert one_run_epsilon(1000, 10, 0) == 0


@pytest.mark.parametrize(
    "arguments", [(10, 11, 5, 1.0, 0.0), (10, 5, 6, 1.0, 0.0), (10, 5, 4, -1.0, 0.0)]
)
def test_impossible_counts_are_refused(arguments):
    with pytest.raises(UsageError):
        one_run_p_value(*arguments)


def test_a_delta_out_of_range_is_refused():
    with pytest.raises(UsageError, match="delta"):
        one_run_epsilon(10, 5, 4, delta=1.5)
