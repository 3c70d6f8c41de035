from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from sordino.errors import UsageError
from sordino.evaluate.attributes.learners import LEARNERS


def classes(number: int, values: int = 2, dimensions: int = 20, seed: int = 0):
    rng = np.random.default_rng(seed)
    labels = np.arange(number) % values
    # Dimensions of very different scale.
    scales = 10.0 ** rng.integers(-3, 3, dimensions)
    centres = np.random.default_rng(99).normal(0, 0.6, (values, dimensions))
    return (centres[labels] + rng.normal(0, 1, (number, dimensions))) * scales[None], labels


@pytest.mark.parametrize("name", LEARNERS)
def test_learns_whatever_the_scale(name):
    rng = np.random.default_rng(5)
    labels = np.arange(800) % 2
    vectors = rng.normal(0, 1, (800, 20)) + 0.5 * labels[:, None]
    vectors *= 10.0 ** (np.arange(20) % 7 - 3)
    model = LEARNERS[name].fit(vectors[:400], labels[:400], 2, seed=0)
    scores = np.diff(model.scores(vectors[400:]))[:, 0]
    assert roc_auc_score(labels[400:], scores) > 0.87  # the best possible is 0.943


@pytest.mark.parametrize("name", LEARNERS)
def test_same_seed_same_scores_for_any_number_of_values(name):
    vectors, labels = classes(90, values=3)
    one, two = (LEARNERS[name].fit(vectors, labels, 3, seed=4) for _ in range(2))
    scores = one.scores(vectors[:10])
    assert scores.shape == (10, 3)
    np.testing.assert_allclose(np.exp(scores).sum(axis=1), 1, atol=1e-9)
    np.testing.assert_array_equal(scores, two.scores(vectors[:10]))


def test_logistic_regression_is_that_of_scikit_learn():
    vectors, labels = classes(200)
    scaler = StandardScaler().fit(vectors)
    plain = LogisticRegression(C=0.03, max_iter=1000).fit(scaler.transform(vectors), labels)
    found = LEARNERS["logistic-regression"].fit(vectors, labels, 2, seed=0)
    np.testing.assert_allclose(
        found.scores(vectors), plain.predict_log_proba(scaler.transform(vectors)), rtol=1e-6
    )


def test_neighbours_vote_with_one_more_for_each_value():
    vectors, labels = classes(100)
    scaler = StandardScaler().fit(vectors)
    plain = KNeighborsClassifier(10, weights="distance").fit(scaler.transform(vectors), labels)
    shares = plain.predict_proba(scaler.transform(vectors[:5] + 1e-3))
    found = LEARNERS["nearest-neighbours"].fit(vectors, labels, 2, seed=0)
    np.testing.assert_allclose(np.exp(found.scores(vectors[:5] + 1e-3)), (10 * shares + 1) / 12)


@pytest.mark.parametrize("name", LEARNERS)
def test_no_score_is_infinite(name):
    labels = np.arange(40) % 2
    vectors = 1000.0 * labels[:, None] + np.random.default_rng(0).normal(0, 1, (40, 3))
    fitted = LEARNERS[name].fit(vectors, labels, 2, seed=0)
    assert np.isfinite(fitted.scores(1e6 * vectors)).all()


def test_missing_value():
    with pytest.raises(UsageError, match="a value of the attribute is missing"):
        LEARNERS["mlp"].fit(np.zeros((2, 2)), np.array([0, 1]), 3, seed=0)


def test_without_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(UsageError, match=r"pip install 'sordino\[evaluate\]'"):
        LEARNERS["logistic-regression"].fit(np.eye(2), np.array([0, 1]), 2, seed=0)
