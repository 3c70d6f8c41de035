from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import UsageError
from sordino.speaker.scoring.threshold import (
    bayes_threshold,
    effective_prior,
    threshold_for_false_accepts,
    threshold_for_false_rejects,
)

KINDS = st.sampled_from([np.float32, np.float64])
SCORES = st.lists(
    st.one_of(st.floats(-1, 1, width=32), st.sampled_from([0.0, 0.25])), min_size=20, max_size=80
)
RATES = st.floats(0.05, 0.95)


@given(SCORES, RATES, KINDS)
def test_no_more_non_targets_are_accepted_and_no_lower_threshold_would_do(values, rate, kind):
    scores = np.array(values, kind)
    threshold = threshold_for_false_accepts(scores, rate, least=1)
    assert np.mean(scores >= threshold) <= rate
    below = scores[scores < threshold].max()
    assert np.mean(scores >= below) > rate
    assert np.float32(threshold) == threshold or kind == np.float64


@given(SCORES, RATES, KINDS)
def test_no_more_targets_are_refused_and_no_higher_threshold_would_do(values, rate, kind):
    scores = np.array(values, kind)
    threshold = threshold_for_false_rejects(scores, rate, least=1)
    assert np.mean(scores < threshold) <= rate
    assert np.mean(scores <= threshold) > rate


@given(st.integers(1, 999), st.integers(1, 50))
def test_exact_shares_are_used_fully(thousandths, hundreds):
    # Such as 0.29 of 100, which floating-point numbers make 28.999...
    count = 1000 * hundreds
    threshold = threshold_for_false_accepts(np.arange(float(count)), thousandths / 1000, least=1)
    assert np.ceil(threshold) == count - Fraction(thousandths, 1000) * count


def test_equal_scores_are_all_accepted_or_all_refused():
    scores = np.array([0.0] * 50 + [1.0] * 50)
    assert threshold_for_false_accepts(scores, 0.4) > 1.0
    assert 0.0 < threshold_for_false_accepts(scores, 0.5) < 1e-300


def test_the_true_rate_is_near_the_target():
    rng = np.random.default_rng(0)
    threshold = threshold_for_false_accepts(rng.normal(size=100_000), 0.01)
    assert np.mean(rng.normal(size=1_000_000) >= threshold) == pytest.approx(0.01, rel=0.1)


@pytest.mark.parametrize("decide", [threshold_for_false_accepts, threshold_for_false_rejects])
@pytest.mark.parametrize(
    ("rate", "least", "needed"),
    [(0.001, 10, 10_000), (0.01, 30, 3000), (0.3, 1, 4), (0.07, 7, 100)],
)
def test_too_few_scores_are_refused_and_the_number_named_is_enough(decide, rate, least, needed):
    scores = np.arange(float(needed))
    with pytest.raises(UsageError, match=f"{needed - 1} .*at least {needed} are needed"):
        decide(scores[1:], rate, least=least)
    decide(scores, rate, least=least)


@pytest.mark.parametrize("decide", [threshold_for_false_accepts, threshold_for_false_rejects])
@pytest.mark.parametrize(
    ("rate", "least"), [(0.0, 10), (1.0, 10), (-0.1, 10), (np.nan, 10), (0.1, 0)]
)
def test_settings_out_of_range_are_refused(decide, rate, least):
    with pytest.raises(UsageError):
        decide(np.arange(1000.0), rate, least=least)


@pytest.mark.parametrize("decide", [threshold_for_false_accepts, threshold_for_false_rejects])
def test_the_scores_are_left_in_order(decide):
    scores = np.random.default_rng(0).normal(size=1000)
    before = scores.copy()
    decide(scores, 0.1)
    np.testing.assert_array_equal(scores, before)


@pytest.mark.parametrize(("prior", "miss", "accept"), [(0.5, 1, 1), (0.01, 10, 1), (0.3, 1, 25)])
def test_the_bayes_threshold_costs_least(prior, miss, accept):
    # Normal ratios of mean +-2 and variance 4 are calibrated.
    from scipy.stats import norm

    grid = np.linspace(-12, 12, 24_001)
    costs = prior * miss * norm.cdf(grid, 2, 2) + (1 - prior) * accept * norm.sf(grid, -2, 2)
    found = bayes_threshold(prior, miss_cost=miss, false_accept_cost=accept)
    assert found == pytest.approx(grid[costs.argmin()], abs=2e-3)
    effective = effective_prior(prior, miss_cost=miss, false_accept_cost=accept)
    assert bayes_threshold(effective) == pytest.approx(found)


@pytest.mark.parametrize(
    "values", [(0.0, 1, 1), (1.0, 1, 1), (0.5, 0, 1), (0.5, 1, -1), (0.5, np.inf, 1)]
)
def test_costs_and_priors_out_of_range_are_refused(values):
    with pytest.raises(UsageError):
        bayes_threshold(values[0], miss_cost=values[1], false_accept_cost=values[2])
