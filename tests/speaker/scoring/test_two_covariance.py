from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from sordino.errors import UsageError
from sordino.speaker.scoring.two_covariance import TwoCovariance, fit_two_covariance
from tests.speaker.scoring.simulated import simulate


def stacked_log_likelihood(model, vectors, labels):
    """The same from each speaker's vectors as one long normal vector."""
    total = 0.0
    for speaker in np.unique(labels):
        chosen = vectors[labels == speaker]
        count = len(chosen)
        covariance = np.kron(np.ones((count, count)), model.loading @ model.loading.T)
        covariance = covariance + block_diag(*[model.within] * count)
        total += multivariate_normal(np.tile(model.mean, count), covariance).logpdf(chosen.ravel())
    return total


def history(*arguments, **settings):
    reached = []
    model = fit_two_covariance(
        *arguments, progress=lambda _, value: reached.append(value), **settings
    )
    return model, np.array(reached)


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_the_likelihood_is_that_of_the_stacked_vectors(rank):
    model, vectors, labels = simulate(15, 4, rank)
    expected = stacked_log_likelihood(model, vectors, labels)
    assert model.log_likelihood(vectors, labels) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("rank", [None, 1, 3])
@pytest.mark.parametrize("prior", [0.0, 20.0])
def test_the_objective_never_falls(rank, prior):
    _, vectors, labels = simulate(60, 6, 3)
    _, reached = history(vectors, labels, rank=rank, prior=prior, iterations=200, tolerance=-np.inf)
    assert len(reached) == 200
    assert (np.diff(reached) > -1e-11).all()
    assert reached[-1] > reached[0] + 1e-3


def test_what_is_reported_is_the_likelihood_for_each_vector():
    _, vectors, labels = simulate(20, 3, 2)
    model, reached = history(vectors, labels, iterations=7, tolerance=-np.inf)
    again, _ = history(vectors, labels, iterations=6, tolerance=-np.inf)
    expected = stacked_log_likelihood(again, vectors, labels) / len(vectors)
    assert reached[-1] == pytest.approx(expected, rel=1e-10)
    assert model.log_likelihood(vectors, labels) > again.log_likelihood(vectors, labels)


def plain_step(model, vectors, labels):
    """One iteration, vector by vector: regression on the expected z, then z made standard."""
    size, precision = model.loading.shape[1], np.linalg.inv(model.within)
    square = np.zeros((size + 1, size + 1))
    cross = np.zeros((len(model.mean), size + 1))
    latent, spread = [], []
    for speaker in np.unique(labels):
        chosen = vectors[labels == speaker]
        posterior = np.eye(size) + len(chosen) * model.loading.T @ precision @ model.loading
        evidence = model.loading.T @ precision @ (chosen - model.mean).sum(axis=0)
        spread.append(np.linalg.inv(posterior))
        latent.append(spread[-1] @ evidence)
        extended = np.append(latent[-1], 1.0)
        for vector in chosen:
            square += np.outer(extended, extended) + block_diag(spread[-1], 0.0)
            cross += np.outer(vector, extended)
    weights = cross @ np.linalg.inv(square)
    within = (vectors.T @ vectors - weights @ cross.T) / len(vectors)
    offset = np.mean(latent, axis=0)
    covariance = np.cov(np.transpose(latent), ddof=0).reshape(size, size) + np.mean(spread, axis=0)
    loading = weights[:, :size] @ np.linalg.cholesky(covariance)
    return TwoCovariance(weights[:, size] + weights[:, :size] @ offset, loading, within)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_an_iteration_is_that_of_a_plain_loop(rank):
    # Numbers so unequal that the mean over vectors is far from the one over speakers.
    _, vectors, labels = simulate(8, 3, 2)
    vectors, labels = vectors.repeat(labels**2 + 1, axis=0), labels.repeat(labels**2 + 1)
    vectors = vectors + np.random.default_rng(1).normal(size=vectors.shape)
    first, second = (
        fit_two_covariance(vectors, labels, rank=rank, iterations=count, tolerance=-np.inf)
        for count in (1, 2)
    )
    expected = plain_step(first, vectors, labels)
    assert np.abs(second.mean - first.mean).max() > 1e-3
    np.testing.assert_allclose(second.mean, expected.mean, rtol=1e-8)
    np.testing.assert_allclose(second.within, expected.within, rtol=1e-7, atol=1e-9)
    between, plain_between = (m.loading @ m.loading.T for m in (second, expected))
    np.testing.assert_allclose(between, plain_between, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("prior", [0.0, 15.0])
def test_where_it_ends_the_objective_is_flat(prior):
    _, vectors, labels = simulate(80, 2, 1, seed=4)
    model = fit_two_covariance(
        vectors, labels, rank=1, prior=prior, iterations=5000, tolerance=-np.inf
    )
    residuals = vectors - np.array([vectors[labels == s].mean(axis=0) for s in labels])
    freedom = len(vectors) - len(np.unique(labels))
    target = np.eye(2) * (residuals**2).sum() / (2 * freedom)

    def objective(point):
        root = np.array([[point[4], 0.0], [point[5], point[6]]])
        trial = TwoCovariance(point[:2], point[2:4, None], root @ root.T)
        _, log_determinant = np.linalg.slogdet(trial.within)
        distance = np.trace(np.linalg.solve(trial.within, target))
        likelihood = stacked_log_likelihood(trial, vectors, labels)
        return (likelihood - 0.5 * prior * (log_determinant + distance)) / len(vectors)

    root = np.linalg.cholesky(model.within)
    point = np.concatenate([model.mean, model.loading[:, 0], root[[0, 1, 1], [0, 0, 1]]])
    np.testing.assert_allclose(approx_fprime(point, objective, 1e-6), 0.0, atol=2e-5)
    away = point + np.random.default_rng(0).normal(size=7) * 0.05
    assert np.abs(approx_fprime(away, objective, 1e-6)).max() > 1e-3


@pytest.mark.parametrize("rank", [2, 5])
def test_known_covariances_are_recovered(rank):
    truth, vectors, labels = simulate(4000, 5, rank)
    found = fit_two_covariance(vectors, labels, rank=rank, iterations=300)
    between, expected = (m.loading @ m.loading.T for m in (found, truth))
    assert np.linalg.norm(between - expected) < 0.08 * np.linalg.norm(expected)
    assert np.linalg.norm(found.within - truth.within) < 0.05 * np.linalg.norm(truth.within)
    np.testing.assert_allclose(found.mean, truth.mean, atol=0.15)


def test_equal_numbers_have_the_estimate_of_analysis_of_variance():
    # One dimension, k vectors of each speaker: the maximum is known in closed form.
    rng = np.random.default_rng(2)
    values = rng.normal(0, 2, size=(50, 1)) + rng.normal(size=(50, 6))
    labels = np.repeat(np.arange(50), 6)
    model = fit_two_covariance(values.reshape(-1, 1), labels, iterations=2000, tolerance=-np.inf)
    means = values.mean(axis=1)
    within = ((values - means[:, None]) ** 2).sum() / (50 * 5)
    between = ((means - means.mean()) ** 2).mean() - within / 6
    assert model.within[0, 0] == pytest.approx(within, rel=1e-6)
    assert model.loading[0, 0] ** 2 == pytest.approx(between, rel=1e-6)
    assert model.mean[0] == pytest.approx(means.mean(), rel=1e-9)


def test_vectors_far_from_the_origin_make_no_difference():
    _, vectors, labels = simulate(60, 4, 2)
    near = fit_two_covariance(vectors, labels, rank=2, iterations=30)
    far = fit_two_covariance(vectors + 1e5, labels, rank=2, iterations=30)
    np.testing.assert_allclose(far.within, near.within, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(far.mean - 1e5, near.mean, atol=1e-6)


def test_too_few_vectors_are_refused_without_a_prior_and_usable_with_one():
    _, vectors, labels = simulate(5, 30, 3, least=2, most=4)
    with pytest.raises(UsageError, match="too few for 30 dimensions"):
        fit_two_covariance(vectors, labels)
    model = fit_two_covariance(vectors, labels, prior=30.0)
    assert np.isfinite(model.log_likelihood(vectors, labels))


def test_a_dimension_that_never_varies_is_refused_without_a_prior():
    _, vectors, labels = simulate(50, 3, 1)
    with pytest.raises(UsageError, match="do not vary"):
        fit_two_covariance(np.column_stack([vectors, np.ones(len(vectors))]), labels)


@pytest.mark.parametrize("settings", [{"rank": 0}, {"rank": 4}, {"iterations": 0}, {"prior": -1.0}])
def test_settings_out_of_range_are_refused(settings):
    _, vectors, labels = simulate(50, 3, 1)
    with pytest.raises(UsageError):
        fit_two_covariance(vectors, labels, **settings)


def test_it_stops_when_nothing_is_gained():
    _, vectors, labels = simulate(100, 3, 2)
    _, reached = history(vectors, labels, iterations=5000, tolerance=1e-7)
    assert len(reached) < 5000
    assert 0 <= reached[-1] - reached[-2] < 1e-7 < reached[-2] - reached[-3]
