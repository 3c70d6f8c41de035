from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sordino.corpus.corpus import Corpus
from sordino.corpus.trials import make_trials
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError
from sordino.evaluate.anonymization.attack import scores_of, train
from sordino.evaluate.metrics.cllr import cllr, min_cllr
from sordino.evaluate.metrics.eer import equal_error_rate
from sordino.speaker.scoring.backend import CosineBackend

BACKENDS = ("cosine", "lda", "plda")


def talkers(seed: int, speakers: int, takes: int = 6) -> tuple[Corpus, dict[str, np.ndarray]]:
    """Speakers in four dimensions, under strong noise in eight others."""
    rng = np.random.default_rng(seed)
    centres = np.zeros((speakers, 12))
    centres[:, :4] = rng.normal(0, 1, (speakers, 4))
    spread = np.r_[np.full(4, 0.4), np.full(8, 1.5)]
    utterances, vectors = [], {}
    for number in range(speakers):
        for take in range(takes):
            name = f"{seed}-{number}-{take}"
            utterances.append(Utterance(name, Path(name), f"{seed}-{number}"))
            vectors[name] = (centres[number] + rng.normal(0, spread)).astype(np.float32)
    return Corpus(tuple(utterances)), vectors


def error(kind: str, training: Corpus, learnt: dict[str, np.ndarray]) -> tuple[float, float, float]:
    tested, vectors = talkers(1, 30)
    trials = make_trials(tested, enrolments_per_speaker=3)
    trained = train(kind, learnt, training, seed=0)
    assert trained.calibration is not None
    scores = trained.score(vectors, vectors, trials)
    own, other = scores[trials.is_target], scores[~trials.is_target]
    return equal_error_rate(own, other).rate, cllr(own, other), min_cllr(own, other)


@pytest.fixture(scope="module")
def found() -> dict[str, tuple[float, float, float]]:
    training = talkers(0, 60)
    return {kind: error(kind, *training) for kind in BACKENDS}


def test_a_trained_attacker_looks_past_the_noise(
    found: dict[str, tuple[float, float, float]],
) -> None:
    assert found["lda"][0] < 0.7 * found["cosine"][0]
    assert found["plda"][0] < 0.7 * found["cosine"][0]


@pytest.mark.parametrize("kind", BACKENDS)
def test_scores_are_calibrated_on_other_speakers(
    found: dict[str, tuple[float, float, float]], kind: str
) -> None:
    _, actual, least = found[kind]
    # The calibration has not seen these speakers; being wrong by it costs little.
    assert actual < least + 0.1


def test_a_score_is_the_mean_vector_of_the_enrolment_against_the_trial() -> None:
    corpus, vectors = talkers(3, 4, takes=3)
    trials = make_trials(corpus, enrolments_per_speaker=2)
    scores = scores_of(CosineBackend(), vectors, vectors, trials)
    for number in range(0, len(trials), 3):
        enrolled = trials.enrolments[trials.model[number]].utterances
        rows = [vectors[name] / np.linalg.norm(vectors[name]) for name in enrolled]
        mean = np.mean(rows, axis=0)
        tried = vectors[trials.utterances[trials.utterance[number]]]
        expected = mean @ tried / np.linalg.norm(mean) / np.linalg.norm(tried)
        assert scores[number] == pytest.approx(expected, abs=1e-6)


def test_enrolments_and_trials_may_be_heard_in_other_forms() -> None:
    corpus, vectors = talkers(3, 4, takes=3)
    trials = make_trials(corpus, enrolments_per_speaker=2)
    turned = {name: -vector for name, vector in vectors.items()}
    same = scores_of(CosineBackend(), vectors, vectors, trials)
    np.testing.assert_allclose(
        scores_of(CosineBackend(), turned, vectors, trials), -same, atol=1e-6
    )


def test_too_few_speakers_to_calibrate_still_give_scores() -> None:
    corpus, vectors = talkers(0, 2)
    trained = train("cosine", vectors, corpus, seed=0)
    assert trained.calibration is None
    trials = make_trials(corpus, enrolments_per_speaker=2)
    assert np.abs(trained.score(vectors, vectors, trials)).max() <= 1 + 1e-6


def test_a_back_end_that_cannot_be_trained_is_an_error() -> None:
    corpus, vectors = talkers(0, 5, takes=1)
    with pytest.raises(UsageError, match=r"back end plda cannot be trained.*5 speakers"):
        train("plda", vectors, corpus, seed=0)


def test_a_calibration_never_turns_scores_round() -> None:
    # Of four speakers with noise alone, half the calibrations would have a slope below zero.
    for seed in range(30):
        rng = np.random.default_rng(seed)
        corpus, _ = talkers(0, 6, takes=3)
        noise = {u.id: rng.normal(size=12).astype(np.float32) for u in corpus}
        trained = train("cosine", noise, corpus, seed=seed)
        assert trained.calibration is None or trained.calibration.slope > 0
        trials = make_trials(corpus, enrolments_per_speaker=2)
        raw = scores_of(CosineBackend(), noise, noise, trials)
        found = trained.score(noise, noise, trials)
        np.testing.assert_array_equal(np.argsort(found), np.argsort(raw))
