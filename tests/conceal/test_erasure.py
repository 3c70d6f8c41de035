from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sordino.conceal.erasure import Erasure, fit_erasure
from sordino.errors import UsageError


def sample(
    *, count: int = 400, size: int = 12, classes: int = 2, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Correlated vectors whose classes differ in mean, and the classes."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % classes
    mix = rng.normal(size=(size, size)) * np.geomspace(0.1, 10, size)
    means = rng.normal(size=(classes, size))
    vectors = (rng.normal(size=(count, size)) + means[labels]) @ mix + 7
    return vectors, labels.astype(np.str_)


def means(vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.array([vectors[labels == name].mean(axis=0) for name in np.unique(labels)])


@given(
    classes=st.integers(2, 5),
    size=st.integers(5, 30),
    shrinkage=st.sampled_from([None, 0.0, 0.3, 1.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_class_means_become_the_mean_of_all(classes, size, shrinkage, seed):
    vectors, labels = sample(classes=classes, size=size, seed=seed, count=60)
    erased = fit_erasure(vectors, labels, shrinkage=shrinkage).apply(vectors)
    scale = np.abs(vectors).max()
    found = means(erased, labels)
    assert np.abs(means(vectors, labels) - vectors.mean(axis=0)).max() > 1e-4 * scale
    np.testing.assert_allclose(
        found, np.tile(vectors.mean(axis=0), (classes, 1)), atol=1e-9 * scale
    )


def test_nothing_is_left_for_a_linear_classifier():
    from sklearn.linear_model import LogisticRegression

    vectors, labels = sample()
    erased = fit_erasure(vectors, labels).apply(vectors)
    unit = [array / array.std() for array in (vectors, erased)]
    fits = [LogisticRegression(max_iter=2000).fit(array, labels) for array in unit]
    assert fits[0].score(unit[0], labels) > 0.75
    assert np.abs(fits[1].coef_).max() < 1e-3


def test_no_other_affine_map_that_erases_moves_vectors_less():
    # By the method of multipliers: least change of A with A S = 0 and an unchanged mean.
    vectors, labels = sample(classes=3)
    centred = vectors - vectors.mean(axis=0)
    covariance = centred.T @ centred / len(vectors)
    cross = centred.T @ np.eye(3)[labels.astype(int)] / len(vectors)
    cross = cross[:, :2]
    step = cross @ np.linalg.solve(cross.T @ np.linalg.solve(covariance, cross), cross.T)
    expected = np.eye(12) - step @ np.linalg.inv(covariance)
    erasure = fit_erasure(vectors, labels, shrinkage=0)
    np.testing.assert_allclose(erasure.matrix, expected, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_allclose(
        erasure.apply(vectors), centred @ expected.T + vectors.mean(axis=0), atol=1e-8
    )


def test_it_is_a_projection_of_the_right_rank():
    vectors, labels = sample(classes=4)
    matrix = fit_erasure(vectors, labels).matrix
    np.testing.assert_allclose(matrix @ matrix, matrix, atol=1e-9)
    assert np.linalg.matrix_rank(matrix, tol=1e-6) == 12 - 3


def test_as_the_package_of_the_authors():
    leace = pytest.importorskip("concept_erasure", reason="not installed: concept-erasure")
    torch = pytest.importorskip("torch")
    vectors, labels = sample(classes=3)
    theirs = leace.LeaceFitter(12, 3, dtype=torch.float64, shrinkage=False, svd_tol=1e-7)
    theirs.update(torch.tensor(vectors), torch.eye(3).double()[labels.astype(int)])
    np.testing.assert_allclose(
        fit_erasure(vectors, labels, shrinkage=0).apply(vectors),
        theirs.eraser(torch.tensor(vectors)).numpy(),
        atol=1e-8,
    )


def test_several_attributes_with_unknown_values():
    vectors, first = sample(classes=2, count=600)
    second = np.random.default_rng(1).choice(["young", "old", "older"], 600)
    vectors[second == "old"] += np.arange(12)
    vectors[second == "older", 3] -= 9
    known = np.where(np.random.default_rng(2).random(600) < 0.3, "", second)
    erased = fit_erasure(vectors, {"sex": first, "age": known}).apply(vectors)
    assert np.ptp(means(erased, first), axis=0).max() < 1e-9
    told = known != ""
    assert np.ptp(means(erased[told], known[told]), axis=0).max() < 1e-9
    alone = fit_erasure(vectors, {"sex": first}).apply(vectors)
    assert np.ptp(means(alone[told], known[told]), axis=0).max() > 1


def test_an_attribute_twice_is_erased_once():
    vectors, labels = sample(classes=3)
    once = fit_erasure(vectors, labels)
    names = np.array(["a", "b", "c"])[labels.astype(int)]
    twice = fit_erasure(vectors, {"one": labels, "other": names})
    np.testing.assert_allclose(twice.matrix, once.matrix, atol=1e-9)
    np.testing.assert_allclose(fit_erasure(vectors, labels.astype(int)).matrix, once.matrix)


def test_weights_count_as_repetition():
    vectors, labels = sample(count=40)
    times = np.arange(40) % 4
    weighted = fit_erasure(vectors, labels, weights=times, shrinkage=0)
    repeated = fit_erasure(np.repeat(vectors, times, axis=0), np.repeat(labels, times), shrinkage=0)
    np.testing.assert_allclose(weighted.matrix, repeated.matrix, atol=1e-9)
    np.testing.assert_allclose(weighted.bias, repeated.bias, atol=1e-7)


def test_what_does_not_differ_is_left_alone():
    half = np.random.default_rng(0).normal(size=(50, 6))
    vectors, labels = np.vstack([half, half]), np.repeat(["a", "b"], 50)
    np.testing.assert_array_equal(fit_erasure(vectors, labels).matrix, np.eye(6))


def test_shrinkage_spares_new_vectors_where_there_are_hardly_enough():
    rng = np.random.default_rng(0)
    direction = rng.normal(size=58)

    def draw(count: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.arange(count) % 2
        return rng.normal(size=(count, 58)) + np.outer(labels, direction), labels

    vectors, labels = draw(60)
    fresh, whose = draw(1000)
    moved, apart = {}, {}
    for shrinkage in (None, 0):
        erased = fit_erasure(vectors, labels, shrinkage=shrinkage).apply(fresh)
        moved[shrinkage] = np.linalg.norm(erased - fresh)
        apart[shrinkage] = np.linalg.norm(np.diff(means(erased, whose), axis=0))
    assert moved[None] < moved[0] / 2
    assert apart[None] < apart[0]


def test_shrinkage_is_estimated_as_published():
    from sklearn.covariance import OAS

    vectors, labels = sample(count=30)
    fit = OAS().fit(vectors)
    given_it = fit_erasure(vectors, labels, shrinkage=float(fit.shrinkage_))
    np.testing.assert_allclose(fit_erasure(vectors, labels).matrix, given_it.matrix, atol=0.05)


def test_other_shapes_are_refused():
    vectors, labels = sample(count=20)
    for wrong, message in (
        ((vectors[0], labels[:1]), "expected .n, d."),
        ((vectors, labels[:-1]), "labels: has 19 labels for 20 vectors"),
        ((vectors, ["a"] * 20), "needs vectors of two classes or more, and has 1"),
        ((vectors, ["a"] * 19 + [""]), "needs vectors of two classes or more, and has 1"),
        ((vectors, {}), "no attribute is given"),
        ((vectors, [1.5] * 20), "neither texts nor whole numbers"),
        ((np.full((20, 3), np.nan), labels), "vectors holds NaN or infinity"),
        ((vectors, np.arange(20).astype(str)), "nothing would be left"),
        ((np.ones((20, 3)), labels), "nothing would be left"),
    ):
        with pytest.raises(UsageError, match=message):
            fit_erasure(*wrong)
    for weights in (-np.ones(20), np.zeros(20), np.ones(19)):
        with pytest.raises(UsageError, match="weights have to be 20 numbers"):
            fit_erasure(vectors, labels, weights=weights)
    for shrinkage in (-0.1, 1.1, np.nan):
        with pytest.raises(UsageError, match="not between 0 and 1"):
            fit_erasure(vectors, labels, shrinkage=shrinkage)


def test_an_erasure_takes_its_own_dimension_only():
    erasure = fit_erasure(*sample())
    assert erasure.dimension == 12
    assert erasure.apply(np.empty((0, 12))).shape == (0, 12)
    with pytest.raises(UsageError, match=r"shape \(2, 3\); this erasure takes \(n, 12\)"):
        erasure.apply(np.ones((2, 3)))
    for arrays, message in (
        ({"matrix": np.eye(3)}, "x: has no array 'bias'"),
        ({"matrix": np.eye(3), "bias": np.ones(2)}, r"x: an erasure needs a matrix"),
        ({"matrix": np.eye(3), "bias": np.array(list("abc"))}, "x: bias does not hold numbers"),
    ):
        with pytest.raises(UsageError, match=message):
            Erasure.from_arrays(arrays, "x")


def test_unseen_vectors_are_told_apart_hardly_better_than_by_chance():
    vectors, labels = sample(count=4000, seed=3)
    erasure = fit_erasure(vectors[:2000], labels[:2000])
    direction = np.linalg.solve(np.cov(vectors.T), np.diff(means(vectors, labels), axis=0)[0])
    unseen, truth = vectors[2000:], labels[2000:] == "1"
    before, after = (
        stats.mannwhitneyu(scores[truth], scores[~truth]).statistic / truth.sum() ** 2
        for scores in (unseen @ direction, erasure.apply(unseen) @ direction)
    )
    assert before > 0.9
    assert after == pytest.approx(0.5, abs=0.05)
