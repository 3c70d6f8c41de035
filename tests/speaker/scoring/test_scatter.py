from __future__ import annotations

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf

from sordino.errors import UsageError
from sordino.speaker.scoring.scatter import Grouped, best_shrinkage, shrink

RNG = np.random.default_rng(5)
LABELS = np.array(["c", "a", "a", "b", "c", "c", "a", "b", "d"])
VECTORS = RNG.normal(size=(9, 3))


def test_groups_are_those_of_the_labels():
    groups = Grouped.by(VECTORS, LABELS)
    for number, name in enumerate("abcd"):
        np.testing.assert_array_equal(groups.speaker == number, name == LABELS)
        np.testing.assert_allclose(groups.means[number], VECTORS[name == LABELS].mean(axis=0))
    assert groups.counts.tolist() == [3, 2, 3, 1]


def test_within_and_between_add_up_to_the_whole():
    groups = Grouped.by(VECTORS, LABELS)
    within = groups.residuals.T @ groups.residuals / len(VECTORS)
    np.testing.assert_allclose(within + groups.between, np.cov(VECTORS.T, ddof=0))


def test_labels_have_to_match():
    with pytest.raises(UsageError, match="8 speaker labels for 9 vectors"):
        Grouped.by(VECTORS, LABELS[:-1])


@pytest.mark.parametrize(
    ("labels", "word"), [(["a"] * 9, "one speaker"), (list("abcdefghi"), "no speaker has two")]
)
def test_what_teaches_nothing_is_refused(labels, word):
    with pytest.raises(UsageError, match=word):
        Grouped.to_learn(VECTORS, labels)


@pytest.mark.parametrize("shape", [(5, 40), (40, 40), (400, 10), (2000, 3)])
def test_the_best_shrinkage_is_that_of_scikit_learn(shape):
    vectors = RNG.normal(size=shape) * np.linspace(1, 4, shape[1])
    covariance, share = ledoit_wolf(vectors, assume_centered=True)
    assert best_shrinkage(vectors) == pytest.approx(share, rel=1e-9)
    np.testing.assert_allclose(shrink(vectors), covariance, rtol=1e-9, atol=1e-12)


def test_a_covariance_without_direction_is_all_identity():
    assert best_shrinkage(np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])) == 1.0


def test_a_singular_covariance_is_refused_and_some_shrinkage_helps():
    few = RNG.normal(size=(3, 10))
    with pytest.raises(UsageError, match="singular"):
        shrink(few, 0.0)
    assert np.linalg.eigvalsh(shrink(few, 0.1))[0] > 0


def test_no_variance_at_all_is_refused():
    with pytest.raises(UsageError, match="singular"):
        shrink(np.zeros((5, 3)))


@pytest.mark.parametrize("share", [-0.1, 1.1, np.nan])
def test_a_share_outside_its_range_is_refused(share):
    with pytest.raises(UsageError, match="outside 0 to 1"):
        shrink(VECTORS, share)
