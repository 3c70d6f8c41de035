from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from sordino.errors import UsageError
from sordino.evaluate.metrics.pav import optimal_calibration
from sordino.evaluate.metrics.zebra import (
    MOST_EXPECTED,
    WeightedDisclosure,
    category,
    disclosure,
)

scores = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=12)


def cross_entropy(prior, own, others):
    """Empirical cross-entropy in bits of ratios in nats, by its definition."""
    odds = math.log(prior / (1 - prior))
    miss = np.logaddexp(0, -(np.asarray(own) + odds)).mean()
    alarm = np.logaddexp(0, np.asarray(others) + odds).mean()
    return float(prior * miss + (1 - prior) * alarm) / math.log(2)


def integrated(targets, nontargets):
    """Entropy less cross-entropy over the prior, numerically."""
    steps = optimal_calibration(targets, nontargets)
    own, others = (np.clip(steps(values), -700, 700) for values in (targets, nontargets))
    area, _ = quad(
        lambda prior: cross_entropy(prior, [0.0], [0.0]) - cross_entropy(prior, own, others), 0, 1
    )
    return area


@settings(deadline=None)
@given(scores, scores)
def test_expected_disclosure_is_the_area_between_the_profiles(targets, nontargets):
    found = disclosure(targets, nontargets).expected
    assert found == pytest.approx(integrated(targets, nontargets), abs=1e-7)
    assert 0 <= found <= MOST_EXPECTED


@pytest.mark.parametrize("ratio", [1 + 1e-9, 1.0001, 1.009, 1.0101, 1.1, 2.0, 1e3, 1e30])
def test_closed_form_holds_for_weak_and_strong_ratios(ratio):
    # Two steps; in the upper, targets are `ratio` times as frequent as non-targets.
    weight = 10**12
    own = round(weight * ratio / (1 + ratio))
    labels = np.array([True, True, False, False])
    found = WeightedDisclosure([1.0, 0.0, 1.0, 0.0], labels)(
        np.array([own, weight - own, weight - own, own])
    )
    chance = own / weight
    exact = math.log(chance / (1 - chance)) if own < weight else math.inf

    def spared(prior):
        """Jensen-Shannon divergence at this prior: a sum without large terms that cancel."""
        mixed = prior * chance + (1 - prior) * (1 - chance)
        turned = prior * (1 - chance) + (1 - prior) * chance

        def entropy(*shares):
            return -sum(share * math.log2(share) for share in shares if share > 0)

        return entropy(mixed, turned) - entropy(chance, 1 - chance)

    area, _ = quad(spared, 0, 1, epsabs=1e-13)
    assert found == pytest.approx(area, rel=1e-5, abs=1e-13)
    if abs(exact) < 0.02:
        # To second order: prior (1 - prior) ratio^2 / 2 nats, on average ratio^2 / 12.
        assert found == pytest.approx(exact**2 / 12 / math.log(2), rel=1e-3, abs=1e-16)


def test_ends_of_the_range():
    nothing = disclosure([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert (nothing.expected, nothing.worst, nothing.category) == (0.0, 0.0, "0")
    all_of_it = disclosure(np.arange(10.0) + 10, np.arange(10.0))
    assert all_of_it.expected == pytest.approx(1 / (2 * math.log(2)), rel=1e-15)
    assert abs(MOST_EXPECTED - 0.7213) < 5e-5
    assert disclosure([0.0], [1.0]).expected == 0.0


def test_worst_case_is_the_strongest_smoothed_ratio():
    # Ten targets above nine non-targets above one target; smoothing adds one of each at both ends.
    found = disclosure([0.0] + [2.0] * 10, [1.0] * 9)
    # Below: 1 + 1 of 11 targets and 1 + 9 of 9 non-targets; above: 10 + 1 and 1.
    strongest = max(abs(math.log10((2 / 11) / (10 / 9))), math.log10((11 / 11) / (1 / 9)))
    assert found.worst == pytest.approx(strongest, rel=1e-12)
    assert found.category == "A"


def test_sure_scores_are_worse_the_more_there_are():
    found = [disclosure(np.full(size, 1.0), np.full(size, 0.0)) for size in (8, 98, 9_998)]
    assert [each.worst for each in found] == pytest.approx(
        [math.log10(size + 1) for size in (8, 98, 9_998)], rel=1e-12
    )
    assert [each.category for each in found] == ["A", "B", "C"]


@pytest.mark.parametrize("sizes", [(3, 7), (1, 90), (90, 1)])
def test_scores_that_are_all_one_disclose_nothing(sizes):
    found = disclosure(np.ones(sizes[0]), np.ones(sizes[1]))
    assert (found.expected, found.worst, found.category) == (0.0, 0.0, "0")


@pytest.mark.parametrize(
    ("worst", "name"),
    [
        (0.0, "0"),
        (1e-9, "A"),
        (0.999, "A"),
        (1.0, "B"),
        (1.999, "B"),
        (2.0, "C"),
        (3.999, "C"),
        (4.0, "D"),
        (4.999, "D"),
        (5.0, "E"),
        (5.999, "E"),
        (6.0, "F"),
        (99.0, "F"),
    ],
)
def test_categories(worst, name):
    assert category(worst) == name


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
    found = WeightedDisclosure(values, labels)(weights)
    copies, copied = np.repeat(values, weights), np.repeat(labels, weights)
    if copied.all() or not copied.any():
        assert math.isnan(found)
    else:
        assert found == pytest.approx(
            disclosure(copies[copied], copies[~copied]).expected, abs=1e-12
        )


def test_lists_that_cannot_be_used_are_refused():
    with pytest.raises(UsageError, match="there are no target scores"):
        disclosure([], [1.0])
    with pytest.raises(UsageError, match="hold NaN or infinity"):
        disclosure([1.0], [np.nan])
