from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.metrics import balanced_accuracy_score, log_loss, recall_score, roc_auc_score

from sordino.errors import UsageError
from sordino.evaluate.metrics.attributes import (
    WeightedArea,
    area_either_way,
    area_under_roc,
    balanced_accuracy,
    information_bound,
)

scores = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=12)


@settings(deadline=None)
@given(scores, scores)
def test_area_is_that_of_sklearn_and_of_pairs(positives, negatives):
    labels = np.repeat([1, 0], [len(positives), len(negatives)])
    found = area_under_roc(positives, negatives)
    assert found == pytest.approx(roc_auc_score(labels, positives + negatives), abs=1e-12)
    pairs = [(a > b) + (a == b) / 2 for a in positives for b in negatives]
    assert found == pytest.approx(sum(pairs) / len(pairs), abs=1e-12)
    assert area_either_way(positives, negatives) == max(found, 1 - found)
    assert area_under_roc(negatives, positives) == pytest.approx(1 - found, abs=1e-15)


@pytest.mark.parametrize("sizes", [(200_000, 100_000), (100, 200_000), (200_000, 100)])
def test_area_of_many_scores_is_that_of_sklearn(sizes):
    rng = np.random.default_rng(0)
    positives, negatives = (rng.standard_normal(size).astype(np.float32) for size in sizes)
    positives = positives.round(2) + 1
    labels = np.repeat([1, 0], sizes)
    expected = roc_auc_score(labels, np.concatenate([positives, negatives]))
    assert area_under_roc(positives, negatives) == pytest.approx(expected, rel=1e-12)


def test_area_of_gaussian_scores_is_the_closed_form():
    grid = norm.ppf((np.arange(100_000) + 0.5) / 100_000)
    assert area_under_roc(grid + 1, grid) == pytest.approx(norm.cdf(1 / math.sqrt(2)), abs=1e-5)
    assert area_under_roc(grid, grid) == 0.5


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
    found = WeightedArea(values, labels)(weights)
    copies, copied = np.repeat(values, weights), np.repeat(labels, weights)
    if copied.all() or not copied.any():
        assert math.isnan(found)
    else:
        assert found == area_under_roc(copies[copied], copies[~copied])


def test_balanced_accuracy_is_that_of_sklearn():
    rng = np.random.default_rng(0)
    labels = rng.choice(["angry", "happy", "sad", "none"], 300, p=[0.05, 0.1, 0.25, 0.6])
    predictions = np.where(rng.random(300) < 0.6, labels, rng.choice(labels, 300))
    found = balanced_accuracy(labels, predictions)
    assert found == pytest.approx(balanced_accuracy_score(labels, predictions), rel=1e-12)
    assert found == pytest.approx(recall_score(labels, predictions, average="macro"), rel=1e-12)
    weights = rng.integers(0, 4, 300)
    assert balanced_accuracy(labels, predictions, weights) == pytest.approx(
        balanced_accuracy_score(np.repeat(labels, weights), np.repeat(predictions, weights)),
        rel=1e-12,
    )


def test_rare_values_weigh_as_much_and_absent_ones_nothing():
    labels, always = ["F"] * 9 + ["M"], ["F"] * 10
    assert balanced_accuracy(labels, always) == 0.5
    assert balanced_accuracy(labels, ["M"] * 10) == 0.5
    assert balanced_accuracy(["F", "F"], ["F", "X"]) == 0.5
    assert balanced_accuracy(labels, always, np.array([1] * 9 + [0])) == 1.0
    assert math.isnan(balanced_accuracy(labels, always, np.zeros(10, dtype=int)))


def test_bound_is_the_entropy_less_the_log_loss_of_sklearn():
    rng = np.random.default_rng(0)
    labels = rng.choice(3, 500, p=[0.2, 0.3, 0.5])
    table = rng.dirichlet(np.ones(3), 500)
    table[np.arange(500), labels] += 2
    table /= table.sum(axis=1, keepdims=True)
    shares = np.bincount(labels) / 500
    entropy = -sum(share * math.log2(share) for share in shares)
    loss = log_loss(labels, table) / math.log(2)
    found = information_bound(labels, table)
    assert found.entropy == pytest.approx(entropy, rel=1e-12)
    assert found.cross_entropy == pytest.approx(loss, rel=1e-12)
    assert found.bits == pytest.approx(entropy - loss, rel=1e-12)
    assert found.bits > 0.5


def test_bound_does_not_pass_the_information_of_a_noisy_channel():
    # A bit that is flipped in 11 of 100 cases carries 1 - h(0.11) bits, half a bit.
    rng = np.random.default_rng(0)
    labels = np.arange(200_000) % 2
    seen = np.where(rng.random(labels.size) < 0.11, 1 - labels, labels)
    exact = 1 + 0.11 * math.log2(0.11) + 0.89 * math.log2(0.89)
    for belief, least in ((0.89, exact - 0.005), (0.7, 0.3), (0.99, 0.2)):
        table = np.where(seen[:, None] == [0, 1], belief, 1 - belief)
        found = information_bound(labels, table).bits
        assert least < found < exact + 0.005


def test_attackers_who_mislead_themselves_bound_nothing():
    found = information_bound([0, 1], [[0.1, 0.9], [0.9, 0.1]])
    assert (found.bits, found.entropy) == (0.0, 1.0)
    sure = information_bound([0, 1], [[0.0, 1.0], [0.0, 1.0]])
    assert (sure.bits, sure.cross_entropy) == (0.0, math.inf)
    assert information_bound([1, 1], [[0.5, 0.5], [0.2, 0.8]]).bits == 0.0


def test_what_does_not_fit_is_refused():
    with pytest.raises(UsageError, match="there are no target scores"):
        area_under_roc([], [1.0])
    with pytest.raises(UsageError, match="there are 2 and 1 labels and predictions"):
        balanced_accuracy(["a", "b"], ["a"])
    with pytest.raises(UsageError, match="there are no labels"):
        balanced_accuracy([], [])
    for labels in ([0], [0.0, 1.0]):
        with pytest.raises(UsageError, match=r"numbers of columns of shape \(2,\)"):
            information_bound(labels, [[0.5, 0.5], [0.5, 0.5]])
    for labels in ([0, 2], [-1, 0]):
        with pytest.raises(UsageError, match="columns from 0 to 1"):
            information_bound(labels, [[0.5, 0.5], [0.5, 0.5]])
    for row in ([0.5, 0.6], [1.1, -0.1]):
        with pytest.raises(UsageError, match="sum to 1"):
            information_bound([0, 1], [row, [0.5, 0.5]])
