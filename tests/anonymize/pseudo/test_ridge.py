from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge as Reference
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from sordino.anonymize.pseudo.pool import Pool
from sordino.anonymize.pseudo.ridge import PENALTIES, fit_ridge
from tests.anonymize.pseudo.pools import pool


def problem(count: int, dimension: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(count, dimension)) + 2
    return vectors, vectors @ rng.normal(size=dimension) + noise * rng.normal(size=count) - 7


@pytest.mark.parametrize("noise", [0.1, 3.0, 100.0])
@pytest.mark.parametrize(("count", "dimension"), [(30, 8), (12, 40), (3, 2)])
def test_weights_and_error_are_those_of_scikit_learn(
    count: int, dimension: int, noise: float
) -> None:
    vectors, target = problem(count, dimension, noise)
    found = fit_ridge(vectors, target)
    reference = Reference(alpha=found.penalty)
    left_out = cross_val_predict(reference, vectors, target, cv=LeaveOneOut())
    np.testing.assert_allclose(found.error, np.sqrt(np.mean((left_out - target) ** 2)), rtol=1e-6)
    reference.fit(vectors, target)
    np.testing.assert_allclose(found.weights, reference.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.offset, reference.intercept_, rtol=1e-6)
    np.testing.assert_allclose(found.predict(vectors[1]), reference.predict(vectors[1:2])[0])


@pytest.mark.parametrize("noise", [0.1, 3.0])
def test_the_penalty_is_the_one_that_scikit_learn_chooses(noise: float) -> None:
    vectors, target = problem(30, 8, noise)
    sizes = np.linalg.svd(vectors - vectors.mean(axis=0), compute_uv=False)
    tried = np.mean(sizes**2) * np.array(PENALTIES)
    reference = RidgeCV(alphas=tried).fit(vectors, target)
    np.testing.assert_allclose(fit_ridge(vectors, target).penalty, reference.alpha_, rtol=1e-9)


def test_more_noise_is_answered_by_a_higher_penalty() -> None:
    clear = fit_ridge(*problem(30, 8, 0.01))
    unclear = fit_ridge(*problem(30, 8, 300.0))
    assert clear.penalty < unclear.penalty


def test_vectors_that_are_all_the_same_predict_the_mean() -> None:
    fit = fit_ridge(np.ones((4, 3)), np.array([1.0, 2, 3, 6]))
    assert fit.predict(np.array([9.0, 9, 9])) == pytest.approx(3.0)
    assert np.isfinite(fit.error)


def test_the_pitch_of_real_people_is_predicted_better_than_by_the_mean(real_pool: Pool) -> None:
    fit = real_pool.pitch_fits[0]
    assert fit.error < 0.7 * real_pool.pitch_mean.std()
    # Within 3 semitones.
    assert fit.error < 3 * np.log(2) / 12


def test_the_pitch_of_a_made_pool_is_predicted() -> None:
    assert pool(60, 60).pitch_fits[0].error < 0.05
