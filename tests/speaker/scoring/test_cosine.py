from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist

from sordino.errors import UsageError
from sordino.speaker.scoring.cosine import (
    cosine,
    cosine_to_mean,
    mean_cosine,
    mean_models,
    score_trials,
    unit,
)
from sordino.speaker.scoring.products import trial_products

RNG = np.random.default_rng(3)
ENROLMENTS = RNG.normal(size=(4, 12))
TRIALS = RNG.normal(size=(30, 12)) * 100


@given(arrays(np.float64, (3, 5), elements=st.floats(1e-300, 1e300)))
def test_unit_vectors_have_length_one_whatever_their_size(vectors):
    np.testing.assert_allclose(np.linalg.norm(unit(vectors), axis=1), 1.0, rtol=1e-12)


def test_a_vector_of_length_zero_is_named():
    with pytest.raises(UsageError, match="vector 1 has length 0"):
        unit([[1.0, 0.0], [0.0, 0.0]])


def test_the_input_is_left_as_it_is():
    vectors = TRIALS.astype(np.float32)
    before = vectors.copy()
    assert unit(vectors).dtype == np.float32
    np.testing.assert_array_equal(vectors, before)


def test_cosine_equals_scipy():
    expected = 1.0 - cdist(ENROLMENTS, TRIALS, "cosine")
    np.testing.assert_allclose(cosine(ENROLMENTS, TRIALS), expected, atol=1e-12)


def test_cosine_stays_within_its_bounds():
    vectors = RNG.normal(size=(500, 3)).astype(np.float32)
    scores = cosine(vectors, np.concatenate([vectors, -vectors]))
    assert scores.max() == 1.0
    assert scores.min() == -1.0


def test_equation_one_is_the_mean_of_the_cosines():
    expected = np.mean(
        [[e @ t / (np.linalg.norm(e) * np.linalg.norm(t)) for t in TRIALS] for e in ENROLMENTS],
        axis=0,
    )
    np.testing.assert_allclose(mean_cosine(ENROLMENTS, TRIALS), expected, rtol=1e-12)


def test_cosine_to_the_mean_counts_each_utterance_alike():
    mean = np.mean([e / np.linalg.norm(e) for e in ENROLMENTS], axis=0)
    expected = 1.0 - cdist(mean[None], TRIALS, "cosine")[0]
    scaled = ENROLMENTS * [[1.0], [100.0], [0.01], [3.0]]
    np.testing.assert_allclose(cosine_to_mean(scaled, TRIALS), expected, rtol=1e-9)


def test_with_one_utterance_both_scores_are_the_cosine():
    expected = cosine(ENROLMENTS[:1], TRIALS)[0]
    np.testing.assert_allclose(cosine_to_mean(ENROLMENTS[:1], TRIALS), expected, rtol=1e-12)
    np.testing.assert_allclose(mean_cosine(ENROLMENTS[:1], TRIALS), expected, rtol=1e-12)


def test_enrolment_vectors_that_cancel_out_are_refused():
    with pytest.raises(UsageError, match="length 0"):
        cosine_to_mean([[1.0, 0.0], [-1.0, 0.0]], [[1.0, 0.0]])


@pytest.mark.parametrize("score", [cosine, cosine_to_mean, mean_cosine])
def test_vectors_of_two_encoders_are_refused(score):
    with pytest.raises(UsageError, match="from one encoder"):
        score(np.ones((2, 192)), np.ones((2, 256)))


def test_trials_equal_the_scores_one_by_one():
    vectors = np.concatenate([ENROLMENTS, TRIALS])
    sets = [[0, 1], [2], [1, 2, 3]]
    models = RNG.integers(3, size=400)
    utterances = RNG.integers(len(vectors), size=400)
    found = score_trials(mean_models(vectors, sets), vectors, models, utterances)
    expected = [
        cosine_to_mean(vectors[sets[m]], vectors[[u]])[0]
        for m, u in zip(models, utterances, strict=True)
    ]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_equation_one_for_trials():
    vectors = np.concatenate([ENROLMENTS, TRIALS])
    models = mean_models(vectors, [[0, 1, 2], [3]], unit_length=False)
    found = trial_products(models, unit(vectors), [0, 1, 0], [5, 6, 7])
    expected = [
        mean_cosine(vectors[[0, 1, 2]], vectors[[5]])[0],
        mean_cosine(vectors[[3]], vectors[[6]])[0],
        mean_cosine(vectors[[0, 1, 2]], vectors[[7]])[0],
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_trial_scores_stay_within_their_bounds():
    vectors = RNG.normal(size=(300, 5)).astype(np.float32)
    same = np.arange(300)
    assert score_trials(vectors, vectors, same, same).max() == 1.0


def test_an_empty_enrolment_set_is_named():
    with pytest.raises(UsageError, match="enrolment set 1 is empty"):
        mean_models(ENROLMENTS, [[0], []])


def test_no_enrolment_sets_are_refused():
    with pytest.raises(UsageError, match="enrolment sets"):
        mean_models(ENROLMENTS, [])
