from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.metrics import roc_curve

from sordino.errors import UsageError
from sordino.evaluate.metrics.eer import (
    WeightedEER,
    equal_error_rate,
    equal_error_rate_convex_hull,
    min_dcf,
    roc,
)

# Few values, so that ties within and between the lists are common.
scores = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=12)


def points(targets, nontargets):
    """Every threshold, misses and false alarms as fractions, from accepting all to none."""
    thresholds = [*sorted({*targets, *nontargets}), math.inf]
    return [
        (
            threshold,
            Fraction(sum(score < threshold for score in targets), len(targets)),
            Fraction(sum(score >= threshold for score in nontargets), len(nontargets)),
        )
        for threshold in thresholds
    ]


def crossing(lower, upper):
    """Where the line between two points meets the diagonal."""
    (_, low_miss, low_alarm), (_, high_miss, high_alarm) = lower, upper
    below, above = low_alarm - low_miss, high_miss - high_alarm
    return low_miss + (high_miss - low_miss) * below / (below + above)


def sklearn_rate(targets, nontargets):
    labels = np.repeat([1, 0], [len(targets), len(nontargets)])
    alarms, hits, _ = roc_curve(labels, np.concatenate([targets, nontargets]))
    gap = alarms - (1 - hits)
    at = int(np.argmax(gap >= 0))
    part = -gap[at - 1] / (gap[at] - gap[at - 1])
    return alarms[at - 1] + part * (alarms[at] - alarms[at - 1])


@given(scores, scores)
def test_plain_rate_is_the_exact_crossing(targets, nontargets):
    found = equal_error_rate(targets, nontargets)
    every = points(targets, nontargets)
    at = next(i for i, (_, misses, alarms) in enumerate(every) if misses >= alarms)
    assert found.rate == float(crossing(every[at - 1], every[at]))
    gaps = {threshold: abs(misses - alarms) for threshold, misses, alarms in every}
    assert gaps[found.threshold] == min(gaps.values())


@given(scores, scores)
def test_plain_rate_is_that_of_sklearn(targets, nontargets):
    rate = equal_error_rate(targets, nontargets).rate
    assert rate == pytest.approx(sklearn_rate(targets, nontargets), abs=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("decimals", [None, 1, 3])
@pytest.mark.parametrize("sizes", [(200_000, 100_000), (1_000, 250_000), (1, 50_000), (50_000, 1)])
def test_rate_of_many_scores_is_that_of_sklearn(dtype, decimals, sizes):
    rng = np.random.default_rng(1)
    targets, nontargets = (rng.standard_normal(size).astype(dtype) for size in sizes)
    targets += 1.5
    if decimals is not None:
        targets, nontargets = targets.round(decimals), nontargets.round(decimals)
    rate = equal_error_rate(targets, nontargets).rate
    assert rate == pytest.approx(sklearn_rate(targets, nontargets), rel=1e-13)


@pytest.mark.parametrize("distance", [0.0, 0.5, 1.0, 2.0, 4.0])
def test_rates_of_gaussian_scores_are_the_closed_form(distance):
    grid = norm.ppf((np.arange(100_000) + 0.5) / 100_000)
    expected = norm.cdf(-distance / 2)
    # The hull's threshold is a corner of it, of which there are fewer.
    for function, precision in ((equal_error_rate, 1e-3), (equal_error_rate_convex_hull, 0.05)):
        found = function(grid + distance, grid)
        assert found.rate == pytest.approx(expected, abs=1e-5)
        if distance:
            assert found.threshold == pytest.approx(distance / 2, abs=precision)


@pytest.mark.parametrize(
    ("targets", "nontargets", "rate"),
    [
        ([1.0], [0.0], 0.0),
        ([0.0], [1.0], 1.0),
        ([1.0], [1.0], 0.5),
        ([1.0, 1.0, 1.0], [1.0], 0.5),
        ([1.0, 3.0], [0.0, 2.0], 0.5),
        ([2.0, 2.0, 5.0], [1.0, 2.0], 2 / 7),
    ],
)
def test_rates_by_hand(targets, nontargets, rate):
    assert equal_error_rate(targets, nontargets).rate == rate


@given(scores, scores)
def test_turning_all_scores_round_swaps_the_lists_and_not_the_rate(targets, nontargets):
    turned = np.negative(nontargets), np.negative(targets)
    for function in (equal_error_rate, equal_error_rate_convex_hull):
        assert function(*turned).rate == function(targets, nontargets).rate


@given(scores, scores)
def test_hull_rate_is_the_lowest_crossing_of_any_two_points(targets, nontargets):
    every = points(targets, nontargets)
    low = [point for point in every if point[1] < point[2]]
    high = [point for point in every if point[1] >= point[2]]
    lowest = min(crossing(lower, upper) for lower in low for upper in high)
    found = equal_error_rate_convex_hull(targets, nontargets)
    assert found.rate == float(lowest)
    assert found.threshold in {point[0] for point in every}


@pytest.mark.parametrize("sizes", [(20_000, 20_000), (300, 40_000), (40_000, 300)])
def test_hull_rate_is_the_largest_smallest_bayes_error(sizes):
    rng = np.random.default_rng(3)
    targets, nontargets = rng.standard_normal(sizes[0]) + 1, rng.standard_normal(sizes[1])
    curve = roc(targets, nontargets)
    priors = np.linspace(0.3, 0.7, 2001)[:, None]
    errors = (priors * curve.misses + (1 - priors) * curve.false_alarms).min(axis=1)
    found = equal_error_rate_convex_hull(targets, nontargets).rate
    assert found == pytest.approx(errors.max(), abs=2e-5)
    assert errors.max() <= found <= equal_error_rate(targets, nontargets).rate


@given(scores, scores)
def test_roc_is_the_curve_of_sklearn(targets, nontargets):
    curve = roc(targets, nontargets)
    labels = np.repeat([1, 0], [len(targets), len(nontargets)])
    alarms, hits, thresholds = roc_curve(
        labels, np.concatenate([targets, nontargets]), drop_intermediate=False
    )
    theirs = set(zip(thresholds, alarms.round(9), (1 - hits).round(9), strict=True))
    ours = zip(curve.thresholds, curve.false_alarms.round(9), curve.misses.round(9), strict=True)
    assert set(ours) <= theirs
    # Along the curve the difference of the two rates only rises.
    place = curve.false_alarms - curve.misses
    assert (np.diff(place) > 0).all()
    on_ours = np.interp(alarms - (1 - hits), place, curve.false_alarms)
    np.testing.assert_allclose(on_ours, alarms, atol=1e-12)


def test_roc_goes_from_nothing_to_everything_and_is_small():
    rng = np.random.default_rng(0)
    curve = roc(rng.standard_normal(50) + 1, rng.standard_normal(100_000))
    ends = [(curve.thresholds[i], curve.false_alarms[i], curve.misses[i]) for i in (0, -1)]
    assert ends[0] == (math.inf, 0.0, 1.0)
    assert ends[1][1:] == (1.0, 0.0)
    assert curve.thresholds.size <= 2 * 50 + 2
    assert (np.diff(curve.thresholds) < 0).all()


@given(
    scores,
    scores,
    st.sampled_from([0.01, 0.05, 0.5, 0.9]),
    st.sampled_from([1.0, 10.0]),
    st.sampled_from([1.0, 3.0]),
)
def test_smallest_cost_is_that_of_the_best_threshold(targets, nontargets, prior, miss, alarm):
    costs = {
        threshold: miss * prior * float(misses) + alarm * (1 - prior) * float(alarms)
        for threshold, misses, alarms in points(targets, nontargets)
    }
    blind = min(miss * prior, alarm * (1 - prior))
    found = min_dcf(targets, nontargets, p_target=prior, c_miss=miss, c_fa=alarm)
    assert found.cost == pytest.approx(min(costs.values()) / blind, abs=1e-12)
    assert costs[found.threshold] / blind == pytest.approx(found.cost, abs=1e-12)
    assert 0 <= found.cost <= 1


def test_rejecting_all_is_the_cheapest_of_bad_decisions():
    found = min_dcf([0.0], [1.0, 2.0])
    assert (found.cost, found.threshold) == (1.0, math.inf)


@pytest.mark.parametrize(
    "settings",
    [
        *({"p_target": value} for value in (0.0, 1.0, math.nan)),
        *(
            {name: value}
            for name in ("c_miss", "c_fa")
            for value in (0.0, -1.0, math.inf, math.nan)
        ),
    ],
)
def test_costs_out_of_range_are_refused(settings):
    with pytest.raises(UsageError, match="should"):
        min_dcf([1.0], [0.0], **settings)


@pytest.mark.parametrize("function", [roc, equal_error_rate, equal_error_rate_convex_hull, min_dcf])
def test_lists_that_cannot_be_used_are_refused(function):
    with pytest.raises(UsageError, match="there are no non-target scores"):
        function([1.0], [])
    with pytest.raises(UsageError, match="target scores hold NaN"):
        function([1.0, math.nan], [0.0])


@pytest.mark.parametrize("function", [equal_error_rate, equal_error_rate_convex_hull])
def test_single_precision_is_not_rounded_further(function):
    # Neighbours in single precision, and a value between them that only double precision has.
    low = np.float32(1.0)
    high = np.nextafter(low, np.float32(2.0))
    assert function(np.array([high]), np.array([low])).rate == 0.0
    between = (float(low) + float(high)) / 2
    assert function(np.array([high]), np.array([between])).rate == 0.0
    assert function(np.array([low]), np.array([between])).rate > 0.0


@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.booleans(), st.integers(0, 3)), min_size=2, max_size=15
    )
)
def test_weights_count_as_copies(trials):
    values, labels, weights = (np.array(column) for column in zip(*trials, strict=True))
    labels = labels.astype(bool)
    if labels.all() or not labels.any():
        with pytest.raises(UsageError, match="there are no"):
            WeightedEER(values, labels)
        return
    found = WeightedEER(values, labels)(weights)
    copies, copied = np.repeat(values, weights), np.repeat(labels, weights)
    if copied.all() or not copied.any():
        assert math.isnan(found)
    else:
        assert found == equal_error_rate(copies[copied], copies[~copied]).rate


def test_labels_must_fit_the_scores():
    with pytest.raises(UsageError, match=r"expected bool of shape \(2,\)"):
        WeightedEER(np.zeros(2), np.array([True]))
    with pytest.raises(UsageError, match="the labels are int64"):
        WeightedEER(np.zeros(2), np.array([1, 0], dtype=np.int64))
