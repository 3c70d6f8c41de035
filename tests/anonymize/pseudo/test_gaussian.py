from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from sklearn.covariance import LedoitWolf

from sordino.anonymize.pseudo.gaussian import FEWEST, Gaussian, fit_gaussian
from sordino.anonymize.pseudo.pool import Pool
from sordino.errors import UsageError


def some(count: int, dimension: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, dimension)) * np.linspace(1, 0.1, dimension) + 1.0


@pytest.mark.parametrize(("count", "dimension"), [(40, 24), (15, 60), (200, 5)])
def test_the_fit_is_that_of_scikit_learn(count: int, dimension: int) -> None:
    vectors = some(count, dimension)
    reference = LedoitWolf().fit(vectors)
    assert reference.shrinkage_ > 1 / count
    found = fit_gaussian(vectors)
    np.testing.assert_allclose(found.mean, reference.location_, rtol=1e-12)
    np.testing.assert_allclose(found.covariance, reference.covariance_, atol=1e-12)


def test_the_fit_of_real_voices_is_that_of_scikit_learn(real_pool: Pool) -> None:
    women = real_pool.vectors[real_pool.sex == "F"]
    reference = LedoitWolf().fit(women)
    np.testing.assert_allclose(real_pool.gaussian("F").mean, reference.location_, rtol=1e-9)
    np.testing.assert_allclose(
        real_pool.gaussian("F").covariance, reference.covariance_, atol=1e-12
    )


def test_few_voices_give_a_covariance_that_can_be_inverted() -> None:
    vectors = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 0, 0]])
    covariance = fit_gaussian(vectors).covariance
    assert np.linalg.eigvalsh(covariance).min() > 0.01
    np.testing.assert_allclose(np.trace(covariance), 2 / 3)


@pytest.mark.parametrize("count", [1, FEWEST - 1])
def test_too_few_voices_are_refused(count: int) -> None:
    with pytest.raises(UsageError, match=f"{count} voices are too few .* needs {FEWEST}"):
        fit_gaussian(some(count, 4))


def test_voices_that_are_all_the_same_are_refused() -> None:
    with pytest.raises(UsageError, match="all 5 voices are the same"):
        fit_gaussian(np.ones((5, 4)))


def test_placed_rows_have_the_distribution() -> None:
    fitted = fit_gaussian(some(60, 6))
    standard = np.random.default_rng(1).normal(size=(200_000, 6))
    for spread in (1.0, 1.5):
        rows = fitted.place(standard, spread)
        error = np.sqrt(np.diag(fitted.covariance)) * spread / np.sqrt(len(rows))
        assert (np.abs(rows.mean(axis=0) - fitted.mean) < 5 * error).all()
        np.testing.assert_allclose(
            np.cov(rows.T) / spread**2, fitted.covariance, atol=0.02 * fitted.covariance.max()
        )


def test_whitening_undoes_placing_and_is_the_inverse_square_root() -> None:
    fitted = fit_gaussian(some(60, 6))
    standard = np.random.default_rng(1).normal(size=(50, 6))
    np.testing.assert_allclose(fitted.whiten(fitted.place(standard)), standard, atol=1e-10)
    rows = some(9, 6, seed=3)
    expected = (rows - fitted.mean) @ linalg.inv(linalg.sqrtm(fitted.covariance))
    np.testing.assert_allclose(fitted.whiten(rows), expected, atol=1e-9)


def test_a_spread_of_0_gives_the_mean() -> None:
    mean = np.array([1.0, 2.0])
    rows = Gaussian(mean, np.eye(2)).place(np.ones((3, 2)), 0.0)
    np.testing.assert_array_equal(rows, np.tile(mean, (3, 1)))
