from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression

from sordino.errors import UsageError
from sordino.evaluate.metrics.pav import WeightedCalibration, optimal_calibration, smoothed

# Few values, so that ties within and between the lists are common.
scores = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=12)


def pooled(atoms):
    """(score, targets, non-targets) from the lowest, by pooling any two that fall, in fractions."""
    atoms = [list(atom) for atom in atoms if atom[1] + atom[2]]
    while True:
        shares = [Fraction(t, t + n) for _, t, n in atoms]
        bad = next((i for i in range(len(atoms) - 1) if shares[i] >= shares[i + 1]), None)
        if bad is None:
            return [tuple(atom) for atom in atoms]
        atoms[bad][1] += atoms[bad + 1][1]
        atoms[bad][2] += atoms[bad + 1][2]
        del atoms[bad + 1]


def atoms_of(targets, nontargets):
    return [
        (value, targets.count(value), nontargets.count(value))
        for value in sorted({*targets, *nontargets})
    ]


def found_in(steps):
    """The same, with neighbours of one ratio taken together, since their parting is free."""
    return pooled(
        zip(steps.lowest.tolist(), steps.targets.tolist(), steps.nontargets.tolist(), strict=True)
    )


@settings(deadline=None)
@given(scores, scores)
def test_steps_are_those_of_pooling_one_by_one(targets, nontargets):
    steps = optimal_calibration(targets, nontargets)
    assert found_in(steps) == pooled(atoms_of(targets, nontargets))
    assert (np.diff(steps.ratios) > -1e-12).all()


@settings(deadline=None)
@given(scores, scores)
def test_ratios_are_those_of_sklearn(targets, nontargets):
    every, labels = targets + nontargets, np.repeat([1, 0], [len(targets), len(nontargets)])
    shares = IsotonicRegression().fit_transform(every, labels)
    prior = len(targets) / len(every)
    with np.errstate(divide="ignore"):
        expected = np.log(shares / (1 - shares)) - np.log(prior / (1 - prior))
    found = optimal_calibration(targets, nontargets)(every)
    sure = np.isinf(found)
    # Sums of rounded thirds can come out beside 1.
    assert (shares[sure] < 1e-9).sum() + (shares[sure] > 1 - 1e-9).sum() == sure.sum()
    np.testing.assert_allclose(found[~sure], expected[~sure], atol=1e-9)


@settings(deadline=None)
@given(scores, scores)
def test_smoothing_is_a_target_and_a_nontarget_at_both_ends(targets, nontargets):
    low, high = [-9.0, -8.0], [8.0, 9.0]
    # The target is the lower of each two, so that it is pooled with the non-target.
    expected = pooled(
        [
            (low[0], 1, 0),
            (low[1], 0, 1),
            *atoms_of(targets, nontargets),
            (high[0], 1, 0),
            (high[1], 0, 1),
        ]
    )
    steps = optimal_calibration(targets, nontargets, smoothed=True)
    prior = len(targets) / len(nontargets)
    for score in {*targets, *nontargets}:
        _, own, others = next(step for step in reversed(expected) if step[0] <= score)
        assert steps(score) == pytest.approx(np.log(own / others / prior), abs=1e-12)
    assert steps.targets.sum() == len(targets)
    assert steps.nontargets.sum() == len(nontargets)
    assert (steps.targets + steps.nontargets > 0).all()


def test_scores_between_below_and_above_take_the_step_they_are_in():
    steps = optimal_calibration([1.0, 3.0, 4.0], [0.0, 2.0])
    below, middle, above = -np.inf, np.log((1 / 3) / (1 / 2)), np.inf
    np.testing.assert_array_equal(
        steps([-5.0, 0.5, 1.0, 2.9, 3.0, 99.0]), [below, below] + [middle] * 2 + [above] * 2
    )
    assert steps([[0.0]]).shape == (1, 1)


@pytest.mark.parametrize("alike", [[1.0], [1.0, 2.0, 3.0]])
def test_lists_that_are_alike_say_exactly_nothing(alike):
    assert (optimal_calibration(alike * 3, alike * 7).ratios == 0).all()


def test_gaussian_scores_get_their_ratio():
    grid = norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    steps = optimal_calibration(grid + 2, grid)
    at = np.linspace(-0.5, 2.5, 13)
    np.testing.assert_allclose(steps(at), 2 * at - 2, atol=0.05)


@pytest.mark.parametrize("sizes", [(30_000, 30_000), (100, 60_000), (60_000, 100)])
def test_many_scores_in_single_precision(sizes):
    rng = np.random.default_rng(2)
    lists = [rng.standard_normal(size).astype(np.float32) for size in sizes]
    lists[0] += 1
    steps = optimal_calibration(*lists)
    double = optimal_calibration(*(values.astype(np.float64) for values in lists))
    np.testing.assert_array_equal(steps.ratios, double.ratios)
    np.testing.assert_array_equal(steps.lowest, double.lowest)
    labels = np.repeat([1, 0], sizes)
    shares = IsotonicRegression().fit_transform(np.concatenate(lists).astype(float), labels)
    places = np.searchsorted(steps.lowest, np.concatenate(lists), "right") - 1
    own = steps.targets / (steps.targets + steps.nontargets)
    np.testing.assert_allclose(own[places], shares, atol=1e-9)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.booleans(), st.integers(0, 3)), min_size=2, max_size=15
    )
)
# The lowest run counts nothing, and the next two differ.
@example([(-3, False, 0), (-2, True, 1), (-1, False, 2), (0, True, 2), (1, False, 1), (2, True, 1)])
def test_weights_count_as_copies(trials):
    values, labels, weights = (np.array(column) for column in zip(*trials, strict=True))
    labels = labels.astype(bool)
    if labels.all() or not labels.any():
        return
    found = WeightedCalibration(values, labels)(weights)
    copies, copied = np.repeat(values, weights).astype(float), np.repeat(labels, weights)
    if copied.all() or not copied.any():
        assert found is None
        return
    assert found is not None
    expected = optimal_calibration(copies[copied], copies[~copied])
    assert [step[1:] for step in found_in(found)] == [step[1:] for step in found_in(expected)]
    np.testing.assert_allclose(found(copies), expected(copies), atol=1e-12)


def test_lists_that_cannot_be_used_are_refused():
    with pytest.raises(UsageError, match="there are no target scores"):
        optimal_calibration([], [1.0])
    with pytest.raises(UsageError, match="hold NaN or infinity"):
        optimal_calibration([1.0], [np.inf])


@given(scores, scores)
def test_steps_can_be_smoothed_afterwards(targets, nontargets):
    wanted = optimal_calibration(targets, nontargets, smoothed=True)
    found = smoothed(optimal_calibration(targets, nontargets))
    for part in ("lowest", "targets", "nontargets", "ratios"):
        np.testing.assert_array_equal(getattr(found, part), getattr(wanted, part))
