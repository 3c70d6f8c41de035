from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm

from sordino.errors import UsageError
from sordino.privacy.audit.bounds import (
    approximate_bound,
    gaussian_bound,
    gaussian_distance,
    gaussian_epsilon,
    odds_bound,
    proved,
    pure_bound,
    rate_at_least,
    rate_at_most,
    reach,
)


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_rates_are_those_of_scipy(counts):
    hits, trials = counts
    interval = binomtest(hits, trials).proportion_ci(0.98, method="exact")
    assert float(rate_at_least(hits, trials, 0.01)) == pytest.approx(interval.low, abs=1e-9)
    assert float(rate_at_most(hits, trials, 0.01)) == pytest.approx(interval.high, abs=1e-9)


@pytest.mark.parametrize("rate", [0.003, 0.2, 0.5, 0.97])
def test_bounds_on_a_rate_miss_it_as_rarely_as_stated(rate):
    counts = np.arange(41)
    chances = binom.pmf(counts, 40, rate)
    assert chances[rate_at_least(counts, 40, 0.05) > rate].sum() <= 0.05
    assert chances[rate_at_most(counts, 40, 0.05) < rate].sum() <= 0.05


def test_what_counts_prove_is_the_worst_that_they_allow():
    found = float(proved(pure_bound, (900, 90), 1000, 0.05))
    least = binomtest(900, 1000).proportion_ci(0.95, method="exact").low
    most = binomtest(90, 1000).proportion_ci(0.95, method="exact").high
    assert found == pytest.approx(math.log(least / most))
    assert found < math.log(10)


def test_nothing_is_proved_by_equal_counts_or_the_wrong_order():
    assert float(proved(pure_bound, (500, 500), 1000, 0.05)) == 0
    assert float(proved(pure_bound, (0, 1000), 1000, 0.05)) == 0


def test_delta_is_taken_off_the_likelier_rate():
    rates = np.array(0.3), np.array(0.1)
    assert float(approximate_bound(0.05)(*rates)) == pytest.approx(math.log(2.5))
    assert float(approximate_bound(0.2)(*rates)) == pytest.approx(0, abs=1e-12)
    assert float(approximate_bound(0.25)(*rates)) == 0


def test_reach_grows_with_the_logarithm_of_trials():
    # All of n on one side and none on the other, the rates bounded at half the risk each.
    none = 1 - 0.0005 ** (1 / 50_000)
    assert reach(pure_bound, 50_000, 0.001) == pytest.approx(-math.log(none), abs=1e-3)
    assert reach(pure_bound, 500_000, 0.001) - reach(pure_bound, 50_000, 0.001) == pytest.approx(
        math.log(10), abs=1e-3
    )


@pytest.mark.parametrize(("deviation", "delta"), [(1.994, 1e-5), (2.2305, 1e-6), (2.449, 1e-7)])
def test_gaussian_epsilon_has_the_reference_values(deviation, delta):
    assert gaussian_epsilon(1 / deviation, delta) == pytest.approx(2, abs=2e-3)


@pytest.mark.parametrize("mu", [0.05, 0.5, 3.0, 12.0])
def test_gaussian_epsilon_solves_its_equation(mu):
    epsilon = gaussian_epsilon(mu, 1e-6)
    first = norm.cdf(mu / 2 - epsilon / mu)
    second = math.exp(epsilon + norm.logcdf(-mu / 2 - epsilon / mu))
    assert first - second == pytest.approx(1e-6, rel=1e-4)


@pytest.mark.parametrize("epsilon", [0.01, 2.0, 300.0])
def test_gaussian_distance_inverts_epsilon(epsilon):
    assert gaussian_epsilon(gaussian_distance(epsilon, 1e-6), 1e-6) == pytest.approx(epsilon)


def test_gaussian_epsilon_is_0_where_delta_covers_all():
    assert gaussian_epsilon(0.0, 1e-6) == 0
    assert gaussian_epsilon(-1.0, 1e-6) == 0
    assert gaussian_epsilon(1e-7, 1e-6) == pytest.approx(0, abs=1e-6)


def test_every_threshold_proves_the_same_of_gaussian_noise():
    thresholds = np.linspace(-2, 4, 7)
    found = gaussian_bound(1e-6)(norm.sf(thresholds - 1.7), norm.sf(thresholds))
    np.testing.assert_allclose(found, gaussian_epsilon(1.7, 1e-6), rtol=1e-9)


def test_gaussian_bound_of_no_hits_is_0():
    assert float(proved(gaussian_bound(1e-6), (0, 10), 10, 0.05)) == 0


@pytest.mark.parametrize(
    ("dimension", "height", "p", "epsilon"),
    [(64, 0.0984, 0.673, 2), (64, 0.3342, 0.907, 8), (1000, 0.1910, 0.976, 25)],
)
def test_odds_have_the_epsilon_of_the_reference(dimension, height, p, epsilon):
    from scipy.special import betainc

    half = (dimension - 1) / 2
    cap = float(betainc(half, half, (1 - height) / 2))
    trials = 10**9
    found = odds_bound(round(p * trials), trials, cap, 0.001)
    assert found == pytest.approx(epsilon, abs=0.03)
    assert found < math.log(p / (1 - p)) + math.log((1 - cap) / cap)


def test_odds_of_a_draw_without_regard_to_the_input_are_even():
    assert odds_bound(100, 1000, 0.1, 0.001) == 0


@pytest.mark.parametrize("arguments", [(-1, 10, 0.1), (11, 10, 0.1), (1, 0, 0.1), (1, 10, 0.0)])
def test_impossible_counts_are_refused(arguments):
    with pytest.raises(UsageError):
        rate_at_least(*arguments)


def test_gaussian_delta_out_of_range_is_refused():
    with pytest.raises(UsageError, match="delta"):
        gaussian_epsilon(1.0, 0.0)
