from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from sordino.errors import UsageError
from sordino.speaker.scoring.lda import fit_lda, fit_wccn
from sordino.speaker.scoring.scatter import Grouped, shrink


def speakers(count, dimension, seed=0, most=9):
    """Speakers of unequal numbers of vectors that differ in the first dimensions."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(count), rng.integers(2, most, size=count))
    mix = rng.normal(size=(dimension, dimension))
    means = rng.normal(size=(count, dimension)) * np.linspace(3, 0, dimension)
    return (means[labels] + rng.normal(size=(labels.size, dimension))) @ mix + 5, labels


@pytest.mark.parametrize("kept", [1, 3, 7])
def test_the_directions_are_those_of_scikit_learn(kept):
    vectors, labels = speakers(12, 7)
    reference = LinearDiscriminantAnalysis(solver="eigen", n_components=kept).fit(vectors, labels)
    found = fit_lda(vectors, labels, kept, shrinkage=0.0)
    theirs = reference.scalings_[:, :kept]
    assert subspace_angles(found.matrix, theirs).max() < 1e-6
    for ours, other in zip(found.matrix.T, theirs.T, strict=True):
        cosine = ours @ other / np.linalg.norm(ours) / np.linalg.norm(other)
        assert abs(cosine) == pytest.approx(1.0, abs=1e-9)


def test_fewer_speakers_than_dimensions_span_what_scikit_learn_spans():
    vectors, labels = speakers(4, 10, most=20)
    reference = LinearDiscriminantAnalysis(solver="svd").fit(vectors, labels)
    found = fit_lda(vectors, labels, shrinkage=0.0)
    assert found.matrix.shape == (10, 3)
    assert subspace_angles(found.matrix, reference.scalings_[:, :3]).max() < 1e-6


def test_two_speakers_have_fishers_direction():
    vectors, labels = speakers(2, 5, most=60)
    groups = Grouped.by(vectors, labels)
    expected = np.linalg.solve(shrink(groups.residuals, 0.3), groups.means[1] - groups.means[0])
    found = fit_lda(vectors, labels, 1, shrinkage=0.3).matrix
    assert subspace_angles(found, expected[:, None])[0] < 1e-7


@pytest.mark.parametrize("shrinkage", [0.0, 0.2, None])
def test_the_covariance_within_becomes_the_identity(shrinkage):
    vectors, labels = speakers(20, 6)
    within = shrink(Grouped.by(vectors, labels).residuals, shrinkage)
    for projection in (
        fit_lda(vectors, labels, 4, shrinkage=shrinkage),
        fit_wccn(vectors, labels, shrinkage=shrinkage),
    ):
        mapped = projection.matrix.T @ within @ projection.matrix
        np.testing.assert_allclose(mapped, np.eye(len(mapped)), atol=1e-9)


def test_the_first_directions_tell_speakers_apart_best():
    vectors, labels = speakers(40, 8)
    between = np.diag(Grouped.by(fit_lda(vectors, labels)(vectors), labels).between)
    assert (np.diff(between) < 0).all()


def test_the_mapped_vectors_have_mean_zero():
    vectors, labels = speakers(10, 5)
    np.testing.assert_allclose(fit_lda(vectors, labels)(vectors).mean(axis=0), 0, atol=1e-9)


def test_wccn_is_the_factor_of_the_inverse():
    vectors, labels = speakers(10, 5)
    matrix = fit_wccn(vectors, labels, shrinkage=0.0).matrix
    residuals = Grouped.by(vectors, labels).residuals
    inverse = np.linalg.inv(residuals.T @ residuals / len(vectors))
    np.testing.assert_allclose(matrix @ matrix.T, inverse, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(matrix, np.tril(matrix))


def test_more_dimensions_than_vectors_are_usable():
    rng = np.random.default_rng(1)
    labels = np.repeat(np.arange(30), 4)
    means = rng.normal(size=(30, 200)) * (np.arange(200) < 20) * 3
    vectors = means[labels] + rng.normal(size=(120, 200))
    fresh = means[labels] + rng.normal(size=(120, 200))
    with pytest.raises(UsageError, match="singular"):
        fit_lda(vectors, labels, 20, shrinkage=0.0)
    for projection in (fit_lda(vectors, labels, 20), fit_wccn(vectors, labels)):
        enrolled, tried = (projection(x).reshape(30, 4, -1).mean(axis=1) for x in (vectors, fresh))
        nearest = ((tried[:, None] - enrolled) ** 2).sum(axis=2).argmin(axis=1)
        assert (nearest == np.arange(30)).all()


def test_a_dimension_that_never_varies_gives_no_nan():
    vectors, labels = speakers(10, 5)
    vectors[:, 2] = 7.0
    for fit in (fit_lda, fit_wccn):
        assert np.isfinite(fit(vectors, labels)(vectors)).all()


def test_the_same_vectors_give_the_same_signs():
    vectors, labels = speakers(10, 5)
    order = np.random.default_rng(0).permutation(len(vectors))
    first, second = fit_lda(vectors, labels), fit_lda(vectors[order], labels[order])
    np.testing.assert_allclose(first.matrix, second.matrix, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kept", [0, 6, 12])
def test_a_dimension_out_of_range_is_refused(kept):
    vectors, labels = speakers(12, 5)
    with pytest.raises(UsageError, match="allow 1 to 5"):
        fit_lda(vectors, labels, kept)
