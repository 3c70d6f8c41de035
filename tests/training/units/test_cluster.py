"""k-means against known blobs, scikit-learn and SciPy."""

from __future__ import annotations

import sys

import numpy as np
import pytest

sklearn_cluster = pytest.importorskip("sklearn.cluster", reason="needs scikit-learn")
pytest.importorskip("torch", reason="needs the extra train")

from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import entropy

from sordino.errors import UsageError
from sordino.training.units.cluster import cluster, nearest, usage
from sordino.training.units.recipe import ClusteringSettings

METHODS = [ClusteringSettings("lloyd", starts=5), ClusteringSettings("minibatch", batch=400)]


@pytest.fixture(scope="module")
def blobs():
    generator = np.random.default_rng(0)
    centres = 6 * generator.standard_normal((8, 5))
    labels = generator.integers(8, size=1600)
    frames = centres[labels] + 0.2 * generator.standard_normal((1600, 5))
    return frames.astype(np.float32), centres, labels


@pytest.mark.parametrize("settings", METHODS, ids=["lloyd", "minibatch"])
def test_finds_the_blobs(blobs, settings):
    frames, centres, labels = blobs
    found = cluster(frames, 8, settings, seed=1)
    assert found.shape == (8, 5)
    assert found.dtype == np.float32
    order = cdist(centres, found).argmin(axis=1)
    assert sorted(order) == list(range(8))
    assert np.abs(found[order] - centres).max() < 0.15
    np.testing.assert_array_equal(nearest(frames, found), order[labels])


def test_is_as_good_as_scikit_learn(blobs):
    frames, _, _ = blobs
    theirs = sklearn_cluster.KMeans(8, n_init=5, random_state=3).fit(frames)
    found = cluster(frames, 8, METHODS[0], seed=3)
    assert usage(frames, found).distance == pytest.approx(theirs.inertia_ / 1600, rel=1e-4)
    np.testing.assert_allclose(
        np.sort(found, axis=0), np.sort(theirs.cluster_centers_, axis=0), 1e-3
    )


@pytest.mark.parametrize("settings", METHODS, ids=["lloyd", "minibatch"])
def test_a_seed_gives_the_same(blobs, settings):
    frames = blobs[0]
    first, again, other = (cluster(frames, 20, settings, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@given(seed=st.integers(0, 100), units=st.integers(1, 9), count=st.integers(1, 40))
def test_nearest_is_that_of_all_distances(seed, units, count):
    generator = np.random.default_rng(seed)
    frames, centroids = generator.normal(size=(count, 3)), generator.normal(size=(units, 3))
    expected = cdist(frames, centroids).argmin(axis=1)
    np.testing.assert_array_equal(nearest(frames, centroids.astype(np.float32)), expected)


def test_nearest_in_parts(blobs):
    frames = np.tile(blobs[0], (12, 1))
    expected = cdist(blobs[0], blobs[1]).argmin(axis=1)
    np.testing.assert_array_equal(nearest(frames, blobs[1]), np.tile(expected, 12))


def test_usage_by_hand(blobs):
    frames, centres, labels = blobs
    with_spare = np.concatenate([centres, [[99.0] * 5]]).astype(np.float32)
    found = usage(frames, with_spare)
    squares = np.square(frames - centres[labels]).sum(axis=1)
    spread = np.square(frames - frames.mean(axis=0)).sum(axis=1)
    assert found.used == 8
    assert found.distance == pytest.approx(squares.mean(), rel=1e-4)
    assert found.explained == pytest.approx(1 - squares.sum() / spread.sum(), rel=1e-4)
    assert found.perplexity == pytest.approx(np.exp(entropy(np.bincount(labels))), rel=1e-9)


@pytest.mark.parametrize("frames", [np.zeros((3, 2)), np.repeat(np.eye(2), 10, axis=0)])
def test_too_few_different_frames(frames):
    with pytest.raises(UsageError, match="different frames are too few for 5 units"):
        cluster(frames.astype(np.float32), 5, METHODS[0], 0)


def test_without_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    with pytest.raises(UsageError, match="units need scikit-learn"):
        cluster(np.zeros((3, 2), np.float32), 2, METHODS[0], 0)
