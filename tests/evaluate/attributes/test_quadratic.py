from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.metrics import roc_auc_score

from sordino.evaluate.attributes.learners import LEARNERS, Learner
from sordino.evaluate.attributes.quadratic import QuadraticDiscriminant


def test_without_shrinkage_it_is_the_ratio_of_two_normal_densities():
    rng = np.random.default_rng(0)
    labels = np.arange(60_000) % 2
    covariance = np.array([[2.0, 0.6], [0.6, 1.0]])
    vectors = rng.multivariate_normal([0, 0], covariance, 60_000)
    vectors[labels == 1] = rng.normal([1.0, -1.0], [0.5, 2.0], (30_000, 2))
    model = QuadraticDiscriminant(shrinkage=1e-9).fit(vectors, labels)
    some = vectors[:200]
    found = np.diff(model.decision_function(some))[:, 0]
    wanted = multivariate_normal([1.0, -1.0], np.diag([0.25, 4.0])).logpdf(
        some
    ) - multivariate_normal([0, 0], covariance).logpdf(some)
    np.testing.assert_allclose(found, wanted, rtol=0.03, atol=0.1)


def test_who_only_erases_means_is_found_out():
    """Vectors that no linear attacker can tell apart, and a quadratic one nearly always."""
    rng = np.random.default_rng(1)
    labels = np.arange(800) % 2
    spread = np.where(labels[:, None] == np.arange(20)[None] % 2, 1.5, 0.7)
    vectors = rng.normal(0, spread)
    areas = {}
    for name in ("logistic-regression", "quadratic"):
        fitted = LEARNERS[name].fit(vectors[:400], labels[:400], 2, seed=0)
        scores = np.diff(fitted.scores(vectors[400:]))[:, 0]
        areas[name] = roc_auc_score(labels[400:], scores)
    assert areas["logistic-regression"] < 0.6
    assert areas["quadratic"] > 0.95


def test_fewer_vectors_than_dimensions_and_dimensions_that_do_not_vary():
    rng = np.random.default_rng(2)
    vectors = rng.normal(0, 1, (12, 30))
    vectors[:, 4] = 7.0
    model = QuadraticDiscriminant().fit(vectors, np.arange(12) % 3)
    scores = model.decision_function(1e6 * vectors)
    assert scores.shape == (12, 3)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("most", [None, 3, 50])
def test_the_most_rows_that_a_learner_is_given(most):
    taken = []

    class Model:
        def fit(self, vectors, labels):
            taken.append((vectors, labels))

    vectors = np.arange(100.0)[:, None]
    labels = np.zeros(100, dtype=np.int64)
    labels[[40, 70]] = 1, 2
    learner = Learner("few", "", lambda rows, seed: Model(), most=most)
    learner.fit(vectors, labels, 3, seed=1)
    learner.fit(vectors, labels, 3, seed=1)
    (rows, values), (again, _) = taken
    assert len(rows) == (most or 100)
    assert set(values) == {0, 1, 2}
    np.testing.assert_array_equal(values, labels[rows[:, 0].astype(int)])
    np.testing.assert_array_equal(rows, again)
    assert len(np.unique(rows)) == len(rows)
