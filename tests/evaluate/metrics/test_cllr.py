from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.spatial.distance import jensenshannon
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression

from sordino.errors import UsageError
from sordino.evaluate.metrics.cllr import (
    WeightedCllr,
    WeightedMinCllr,
    calibration_loss,
    cllr,
    min_cllr,
)

scores = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=12)


def by_hand(targets, nontargets):
    miss = sum(math.log2(1 + math.exp(-ratio)) for ratio in targets) / len(targets)
    alarm = sum(math.log2(1 + math.exp(ratio)) for ratio in nontargets) / len(nontargets)
    return (miss + alarm) / 2


def least(targets, nontargets):
    """From the posteriors of scikit-learn's isotonic regression."""
    labels = np.repeat([1, 0], [len(targets), len(nontargets)])
    shares = IsotonicRegression().fit_transform(np.concatenate([targets, nontargets]), labels)
    own, others = shares[: len(targets)], 1 - shares[len(targets) :]
    part = len(nontargets) / len(targets)
    return 0.5 * float(
        np.log2(1 + (1 - own) / own / part).mean()
        + np.log2(1 + (1 - others) / others * part).mean()
    )


@settings(deadline=None)
@given(scores, scores)
def test_cost_is_the_sum_by_hand(targets, nontargets):
    assert cllr(targets, nontargets) == pytest.approx(by_hand(targets, nontargets), rel=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cost_of_many_ratios_is_the_mean(dtype):
    rng = np.random.default_rng(0)
    targets, nontargets = (rng.normal(at, 3, 600_001).astype(dtype) for at in (2, -2))
    expected = by_hand(targets[:1000].tolist(), nontargets[:1000].tolist())
    assert cllr(targets[:1000], nontargets[:1000]) == pytest.approx(expected, rel=1e-12)
    costs = [
        np.logaddexp(0, sign * values.astype(float)).mean()
        for values, sign in ((targets, -1), (nontargets, 1))
    ]
    assert cllr(targets, nontargets) == pytest.approx(sum(costs) / 2 / math.log(2), rel=1e-12)


@pytest.mark.parametrize(
    ("targets", "nontargets", "cost"),
    [
        ([0.0], [0.0, 0.0], 1.0),
        ([800.0], [-800.0], 0.0),
        ([-800.0], [800.0], 800 / math.log(2)),
        ([math.log(3)], [0.0], 0.5 * (math.log2(4 / 3) + 1)),
    ],
)
def test_costs_by_hand(targets, nontargets, cost):
    assert cllr(targets, nontargets) == pytest.approx(cost, rel=1e-14)


@pytest.mark.parametrize("distance", [0.5, 2.0, 4.0])
def test_gaussian_ratios_cost_their_integral_and_cannot_be_bettered(distance):
    grid = norm.ppf((np.arange(50_000) + 0.5) / 50_000)
    own, others = (distance * (grid + at) - distance**2 / 2 for at in (distance, 0))
    integral, _ = quad(
        lambda s: (
            norm.pdf(s, distance) * np.logaddexp(0, distance**2 / 2 - distance * s) / np.log(2)
        ),
        -12,
        16,
    )
    # By symmetry that of non-targets is the same.
    assert cllr(own, others) == pytest.approx(integral, abs=1e-5)
    assert min_cllr(own, others) == pytest.approx(integral, abs=1e-3)
    assert calibration_loss(own, others) == pytest.approx(0, abs=1e-3)
    assert calibration_loss(2 * own, 2 * others) > 0.02


@settings(deadline=None)
@given(scores, scores)
def test_least_cost_is_that_of_sklearns_calibration(targets, nontargets):
    assert min_cllr(targets, nontargets) == pytest.approx(least(targets, nontargets), abs=1e-9)


def test_least_cost_is_one_less_the_divergence_of_the_steps():
    # Scores that rise as often among targets as their step says: nothing is pooled.
    own, others = np.array([1, 3, 6]), np.array([7, 2, 1])
    lists = [np.repeat([0.0, 1.0, 2.0], counts) for counts in (own, others)]
    divergence = jensenshannon(own, others, base=2) ** 2
    assert min_cllr(*lists) == pytest.approx(1 - divergence, rel=1e-12)


@settings(deadline=None)
@given(scores, scores)
def test_least_cost_is_less_and_does_not_hang_on_scale(targets, nontargets):
    cost = min_cllr(targets, nontargets)
    assert 0 <= cost <= min(1, cllr(targets, nontargets)) + 1e-12
    assert min_cllr(np.exp(targets), np.exp(nontargets)) == cost
    assert min_cllr(np.negative(nontargets), np.negative(targets)) == pytest.approx(cost)
    loss = calibration_loss(targets, nontargets)
    assert loss == pytest.approx(cllr(targets, nontargets) - cost, abs=1e-12)
    assert loss >= 0


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.booleans(), st.integers(0, 3)), min_size=2, max_size=15
    )
)
def test_weights_count_as_copies(trials):
    values, labels, weights = (np.array(column) for column in zip(*trials, strict=True))
    labels = labels.astype(bool)
    if labels.all() or not labels.any():
        return
    copies, copied = np.repeat(values, weights), np.repeat(labels, weights)
    for weighted, plain in ((WeightedCllr, cllr), (WeightedMinCllr, min_cllr)):
        found = weighted(values, labels)(weights)
        if copied.all() or not copied.any():
            assert math.isnan(found)
        else:
            assert found == pytest.approx(plain(copies[copied], copies[~copied]), abs=1e-12)


@pytest.mark.parametrize("function", [cllr, min_cllr, calibration_loss])
def test_lists_that_cannot_be_used_are_refused(function):
    with pytest.raises(UsageError, match="there are no non-target"):
        function([1.0], [])
    for bad in (math.nan, math.inf, -math.inf):
        with pytest.raises(UsageError, match="hold NaN or infinity"):
            function([1.0, bad], [0.0])
