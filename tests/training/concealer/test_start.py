"""What is computed of a concealer: against closed forms, scikit-learn and by what it has to do."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from sordino.errors import UsageError
from sordino.training.concealer.data import labelled
from sordino.training.concealer.start import (
    barycentre,
    classes_of,
    erasure_of,
    gaussian_maps,
    logistic,
    prepared_vectors,
    starting_networks,
)
from tests.training.concealer.toy_vectors import GATED, people, table_of, toy


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    vectors = people(speakers=60)
    table = table_of(vectors, tmp_path_factory.mktemp("t") / "t.csv", frozenset({"p003"}))
    return labelled(vectors, table, ["sex"])


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    vectors = people(speakers=60)
    table = table_of(vectors, tmp_path_factory.mktemp("t") / "t.csv", frozenset({"p003"}))
    return labelled(vectors, table, ["sex", "age"])


def covariance(rng, size):
    root = rng.normal(size=(size, size))
    return root @ root.T + 0.1 * np.eye(size)


class TestMaps:
    def test_all_classes_get_the_same_moments(self):
        rng = np.random.default_rng(0)
        moments = [(rng.normal(size=4), covariance(rng, 4)) for _ in range(3)]
        maps = gaussian_maps(moments, 0.0)
        means = [
            turn @ mean + shift for (mean, _), (turn, shift) in zip(moments, maps, strict=True)
        ]
        spreads = [turn @ own @ turn.T for (_, own), (turn, _) in zip(moments, maps, strict=True)]
        for number in (1, 2):
            np.testing.assert_allclose(means[number], means[0], atol=1e-8)
            np.testing.assert_allclose(spreads[number], spreads[0], rtol=1e-4)
        np.testing.assert_allclose(means[0], np.mean([mean for mean, _ in moments], axis=0))

    def test_maps_are_gradients_that_average_to_nothing(self):
        # Of a barycentre, the maps from it to the classes have the identity as their mean.
        rng = np.random.default_rng(1)
        maps = gaussian_maps([(np.zeros(3), covariance(rng, 3)) for _ in range(2)], 0.0)
        for turn, _ in maps:
            np.testing.assert_allclose(turn, turn.T, atol=1e-10)
            assert np.linalg.eigvalsh(turn).min() > 0
        np.testing.assert_allclose(
            sum(np.linalg.inv(turn) for turn, _ in maps) / 2, np.eye(3), atol=1e-4
        )

    def test_commuting_covariances_have_a_closed_form(self):
        one, two = np.diag([1.0, 16.0]), np.diag([9.0, 4.0])
        maps = gaussian_maps([(np.zeros(2), one), (np.zeros(2), two)], 0.0)
        # Deviations are averaged: (1 + 3) / 2 and (4 + 2) / 2.
        np.testing.assert_allclose(maps[0][0], np.diag([2.0, 0.75]), atol=1e-6)
        np.testing.assert_allclose(maps[1][0], np.diag([2 / 3, 1.5]), atol=1e-6)

    def test_shared_covariances_move_means_only(self):
        rng = np.random.default_rng(2)
        moments = [(rng.normal(size=3), covariance(rng, 3)) for _ in range(2)]
        for turn, _ in gaussian_maps(moments, 1.0):
            np.testing.assert_allclose(turn, np.eye(3), atol=1e-8)

    def test_too_few_vectors(self):
        with pytest.raises(UsageError, match="too few speakers for so many latents"):
            gaussian_maps([(np.zeros(2), np.eye(2)), (np.zeros(2), np.diag([1.0, 0.0]))], 0.0)


class TestLogistic:
    @pytest.mark.parametrize("classes", [2, 3])
    def test_against_sklearn(self, classes):
        linear = pytest.importorskip("sklearn.linear_model")
        rng = np.random.default_rng(0)
        truth = rng.integers(0, classes, 200)
        vectors = rng.normal(size=(200, 4)) + np.eye(4)[truth]
        vectors /= np.sqrt(((vectors - vectors.mean(axis=0)) ** 2).mean())
        weights = rng.uniform(0.5, 2, 200)
        slopes, biases = logistic(vectors, truth, weights)
        totals = np.bincount(truth, weights)
        shares = weights * weights.sum() / (classes * totals[truth])
        model = linear.LogisticRegression(C=1.0, tol=1e-8, max_iter=2000)
        model.fit(vectors, truth, sample_weight=shares)
        logits = vectors @ slopes.T + biases
        found = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
        expected = model.predict_proba(vectors)
        # With two classes, scikit-learn's ridge is on the difference of the slopes.
        np.testing.assert_allclose(found, expected, atol=1e-3 if classes == 3 else 0.05)


class TestBarycentre:
    def test_latents_of_both_sexes_have_the_same_moments(self, data):
        recipe = toy(GATED, start={"shared": 0.0})
        inputs = prepared_vectors(data, unit_length=True)
        networks = starting_networks(recipe, inputs, data)
        classes = data.labels[:, 0]
        with torch.no_grad():
            # As the gate would say that were sure.
            encoder = networks.encoder
            encoder.gate.weight.mul_(1e4)
            encoder.gate.bias.mul_(1e4)
            latents = encoder(torch.from_numpy(inputs).float()).double().numpy()
            guessed = encoder.gate(torch.from_numpy(inputs).float()).argmax(dim=1).numpy()
        assert (guessed == classes)[classes >= 0].all()
        means, spreads = [], []
        for label in (0, 1):
            own = latents[classes == label]
            means.append(own.mean(axis=0))
            spreads.append(np.cov(own.T, bias=True))
        scale = np.sqrt(np.trace(spreads[0]) / 5)
        np.testing.assert_allclose(means[0], means[1], atol=1e-3 * scale)
        np.testing.assert_allclose(spreads[0], spreads[1], atol=1e-3 * scale**2)

    def test_the_way_back_keeps_angles(self, data):
        recipe = toy(GATED)
        back = barycentre(recipe, prepared_vectors(data, unit_length=True), data).back
        assert back.shape == (12, 5)
        np.testing.assert_allclose(back.T @ back, np.eye(5), atol=1e-10)

    def test_several_attributes_are_classes_of_their_own(self, both):
        assert sorted(set(classes_of(both).tolist())) == [-1, 0, 1, 2, 3, 4, 5]
        pairs = {tuple(row) for row in both.labels.tolist() if min(row) >= 0}
        assert len(pairs) == 6
        recipe = toy(GATED, network={"latent": 2})
        inputs = prepared_vectors(both, unit_length=True)
        assert starting_networks(recipe, inputs, both).encoder.bias.shape == (6, 2)

    def test_more_latents_than_there_can_be(self, data):
        recipe = toy(GATED, network={"latent": 13})
        with pytest.raises(UsageError, match=r"set network\.latent"):
            starting_networks(recipe, prepared_vectors(data, unit_length=True), data)


def test_the_erasure_is_of_all_attributes(both):
    inputs = erasure_of(both, unit_length=True).apply(prepared_vectors(both, unit_length=True))
    for column in both.labels.T:
        known = column >= 0
        weights = both.by_speaker
        means = [
            np.average(inputs[column == label], axis=0, weights=weights[column == label])
            for label in set(column[known])
        ]
        for mean in means[1:]:
            np.testing.assert_allclose(mean, means[0], atol=1e-6)


def test_vectors_as_the_encoder_gets_them(data):
    plain = prepared_vectors(data, unit_length=False)
    np.testing.assert_array_equal(plain, data.vectors)
    unit = prepared_vectors(data, unit_length=True)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1)
    erasure = erasure_of(data, unit_length=True)
    erased = prepared_vectors(data, unit_length=True, erasure=erasure)
    np.testing.assert_allclose(erased, erasure.apply(unit))
