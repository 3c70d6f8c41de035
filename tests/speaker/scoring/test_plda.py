from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.stats import multivariate_normal

from sordino.errors import UsageError
from sordino.speaker.scoring.lda import fit_lda
from sordino.speaker.scoring.plda import Plda, fit_plda
from sordino.speaker.scoring.products import trial_products
from sordino.speaker.scoring.projection import Projection
from sordino.speaker.scoring.two_covariance import TwoCovariance
from tests.speaker.scoring.simulated import simulate


def joint(model, vectors):
    """Log density of vectors of one speaker, as one long normal vector."""
    count = len(vectors)
    covariance = np.kron(np.ones((count, count)), model.loading @ model.loading.T)
    covariance = covariance + block_diag(*[model.within] * count)
    return multivariate_normal(np.tile(model.mean, count), covariance).logpdf(np.ravel(vectors))


def ratio(model, enrolments, trial):
    together = joint(model, np.concatenate([enrolments, trial[None]]))
    return together - joint(model, enrolments) - joint(model, trial[None])


def plain(rank=3, **settings):
    model, vectors, labels = simulate(40, 5, rank)
    identity = Projection(np.eye(5), np.zeros(5))
    return Plda(identity, model, length_normalise=False, **settings), vectors, labels


@pytest.mark.parametrize("rank", [1, 3, 5])
@pytest.mark.parametrize("count", [1, 2, 7])
def test_the_score_is_the_ratio_of_the_densities(rank, count):
    plda, vectors, _ = plain(rank)
    enrolments, trials = vectors[:count], vectors[10:20]
    expected = [ratio(plda.model, enrolments, trial) for trial in trials]
    np.testing.assert_allclose(plda.score(enrolments, trials), expected, rtol=1e-8, atol=1e-9)


def test_the_average_is_one_observation():
    plda, vectors, _ = plain(multiple="average")
    expected = [ratio(plda.model, vectors[:4].mean(axis=0)[None], t) for t in vectors[10:20]]
    np.testing.assert_allclose(plda.score(vectors[:4], vectors[10:20]), expected, rtol=1e-8)


def test_the_average_of_normalised_vectors_is_normalised_again():
    _, vectors, labels = plain()
    joint_, average = (fit_plda(vectors, labels, multiple=m) for m in ("joint", "average"))
    normal = joint_.projection(vectors[:3])
    normal *= np.sqrt(5) / np.linalg.norm(normal, axis=1, keepdims=True)
    mean = normal.mean(axis=0)
    mean *= np.sqrt(5) / np.linalg.norm(mean)
    trials = joint_.projection(vectors[10:14])
    trials *= np.sqrt(5) / np.linalg.norm(trials, axis=1, keepdims=True)
    expected = [ratio(average.model, mean[None], trial) for trial in trials]
    np.testing.assert_allclose(average.score(vectors[:3], vectors[10:14]), expected, rtol=1e-7)


def test_one_vector_against_one_is_symmetric():
    plda, vectors, _ = plain()
    scores = np.array([plda.score(vector[None], vectors[:12]) for vector in vectors[:12]])
    np.testing.assert_allclose(scores, scores.T, rtol=1e-9, atol=1e-9)


def test_the_ratios_are_calibrated_where_the_model_is_true():
    # Under the model, E[1 / ratio | same] = 1 = E[ratio | other].
    rng = np.random.default_rng(1)
    plda = Plda(
        Projection(np.eye(2), np.zeros(2)),
        TwoCovariance(np.zeros(2), np.eye(2) * 0.8, np.eye(2)),
        length_normalise=False,
    )
    one = np.array([[0.7, -0.4]])
    other = rng.normal(size=(200_000, 2)) * np.sqrt(1.64)
    given = 0.64 / 1.64 * one + rng.normal(size=other.shape) * np.sqrt(1 + 0.64 / 1.64)
    assert np.mean(np.exp(plda.score(one, other))) == pytest.approx(1.0, rel=0.03)
    assert np.mean(np.exp(-plda.score(one, given))) == pytest.approx(1.0, rel=0.03)


def test_lists_of_trials_equal_the_scores_one_by_one():
    _, vectors, labels = plain()
    plda = fit_plda(vectors, labels)
    sets = [[0], [1, 2, 3], [4, 5]]
    rng = np.random.default_rng(0)
    models, utterances = rng.integers(3, size=60), rng.integers(30, size=60)
    found = trial_products(
        plda.enrol_sets(vectors, sets), plda.prepare(vectors), models, utterances
    )
    expected = [
        plda.score(vectors[sets[m]], vectors[[u]])[0]
        for m, u in zip(models, utterances, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_normalised_vectors_have_the_dimension_as_their_square():
    _, vectors, labels = plain()
    scaled = fit_plda(vectors, labels).prepare(vectors * 3 - 2 * vectors.mean(axis=0))
    np.testing.assert_allclose(scaled, fit_plda(vectors, labels).prepare(vectors), rtol=1e-7)


def test_it_beats_the_cosine_where_speakers_differ_in_a_few_directions():
    _, vectors, labels = simulate(300, 20, 4, least=4, most=5)
    plda = fit_plda(vectors[:800], labels[:800], rank=4)
    fresh, names = vectors[800:], labels[800:]
    scores = np.array([plda.score(fresh[[4 * s]], fresh) for s in range(100)])
    found = (names[None] == names[::4][:, None]) & (np.arange(400) % 4 > 0)
    other = names[None] != names[::4][:, None]
    centred = fresh - vectors[:800].mean(axis=0)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    cosines = centred[::4] @ centred.T

    def confused(matrix):
        targets, nontargets = matrix[found], matrix[other]
        return np.mean(targets[:, None] <= nontargets[None, ::7])

    assert confused(scores) < 0.7 * confused(cosines)


def test_a_projection_comes_first():
    _, vectors, labels = plain()
    lda = fit_lda(vectors, labels, 3)
    plda = fit_plda(vectors, labels, projection=lda)
    assert plda.projection.matrix.shape == (5, 3)
    expected = fit_plda(lda(vectors), labels).score(lda(vectors[:2]), lda(vectors[5:9]))
    np.testing.assert_allclose(plda.score(vectors[:2], vectors[5:9]), expected, rtol=1e-8)


def test_more_dimensions_than_vectors_are_usable():
    _, vectors, labels = simulate(12, 60, 2, least=2, most=4)
    plda = fit_plda(vectors, labels)
    assert np.isfinite(plda.score(vectors[:2], vectors)).all()


def test_float32_vectors_score_alike():
    _, vectors, labels = plain()
    plda = fit_plda(vectors, labels)
    found = plda.score(vectors[:2].astype(np.float32), vectors.astype(np.float32))
    np.testing.assert_allclose(found, plda.score(vectors[:2], vectors), atol=1e-4)


@pytest.mark.parametrize("multiple", ["joint", "average"])
def test_storing_and_loading(multiple, tmp_path):
    _, vectors, labels = plain()
    plda = fit_plda(vectors, labels, rank=2, multiple=multiple)
    np.savez(tmp_path / "plda.npz", **plda.to_arrays())
    with np.load(tmp_path / "plda.npz", allow_pickle=False) as arrays:
        loaded = Plda.from_arrays(arrays)
    np.testing.assert_array_equal(
        loaded.score(vectors[:3], vectors), plda.score(vectors[:3], vectors)
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("plda.mean", np.zeros(4)),
        ("plda.within", -np.eye(5)),
        ("plda.within", np.triu(np.ones((5, 5))) + np.eye(5)),
        ("plda.loading", np.zeros((4, 2))),
        ("plda.average", np.array(0.5)),
        ("plda.projection.matrix", np.zeros((5, 4))),
    ],
)
def test_stored_arrays_that_do_not_fit_are_refused(name, value):
    plda, _, _ = plain()
    with pytest.raises(UsageError):
        Plda.from_arrays({**plda.to_arrays(), name: value})


def test_a_missing_array_is_named():
    plda, _, _ = plain()
    arrays = plda.to_arrays()
    del arrays["plda.loading"]
    with pytest.raises(UsageError, match=r"'plda\.loading' is missing"):
        Plda.from_arrays(arrays)


def test_an_unknown_way_to_count_several_is_refused():
    plda, _, _ = plain()
    with pytest.raises(UsageError, match="'joint' or 'average'"):
        Plda(plda.projection, plda.model, multiple="mean")


def test_vectors_of_another_encoder_are_refused():
    plda, _, _ = plain()
    with pytest.raises(UsageError, match="4 dimensions"):
        plda.score(np.ones((1, 4)), np.ones((1, 4)))
