from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from sordino.errors import UsageError
from sordino.evaluate.attributes.attack import Sample, averaged, matched, train
from sordino.evaluate.attributes.learners import LEARNERS
from sordino.evaluate.metrics.cllr import cllr


def planted(speakers: int, distance: float, takes: int = 1, seed: int = 0) -> Sample:
    """Speakers of two values whose vectors differ in one direction only."""
    rng = np.random.default_rng(seed)
    names = np.repeat([f"s{seed}-{number}" for number in range(speakers)], takes)
    labels = np.repeat(np.arange(speakers) % 2, takes)
    vectors = rng.normal(0, 1, (len(names), 8))
    vectors[:, 3] += distance * labels
    return Sample(vectors, labels, names)


@pytest.mark.parametrize("name", LEARNERS)
def test_ratios_are_calibrated(name):
    sample, others = planted(600, 2.0), planted(2000, 2.0, seed=1)
    guesses = train(LEARNERS[name], sample, 2).guess(others.vectors, others.speakers)
    ratios = np.diff(guesses.log_likelihoods)[:, 0]
    assert roc_auc_score(others.labels, ratios) > 0.87  # the best possible is 0.921
    cost = cllr(ratios[others.labels == 1], ratios[others.labels == 0])
    assert cost < 0.65  # knowing the distributions it would be 0.49, knowing nothing 1


def test_posteriors_know_how_frequent_values_are():
    sample = planted(400, 0.0)
    labels = (np.arange(400) % 10 == 0).astype(np.int64)
    attacker = train(
        LEARNERS["logistic-regression"], Sample(sample.vectors, labels, sample.speakers), 2
    )
    guesses = attacker.guess(sample.vectors, np.array([f"x{row}" for row in range(400)]))
    np.testing.assert_allclose(np.exp(guesses.log_posteriors).sum(axis=1), 1)
    assert np.exp(guesses.log_posteriors[:, 1]).mean() == pytest.approx(0.1, abs=0.03)


def test_whoever_was_trained_on_is_not_guessed():
    sample = planted(40, 1.0)
    attacker = train(LEARNERS["nearest-neighbours"], sample, 2)
    with pytest.raises(UsageError, match=r"40 of the speakers .* the first is s0-0"):
        attacker.guess(sample.vectors, sample.speakers)


def test_calibration_speakers_are_held_out():
    """Values that are drawn by lot for speakers who are easily recognised: nothing is learnt.

    Held-out utterances of the same speakers would look like perfect guesses, and the calibration
    would make the attacker sure.
    """
    rng = np.random.default_rng(0)
    names = np.repeat([f"s{number}" for number in range(60)], 10)
    labels = np.repeat(rng.permutation(np.arange(60) % 2), 10)
    vectors = np.repeat(rng.normal(0, 1, (60, 30)), 10, axis=0) + rng.normal(0, 0.05, (600, 30))
    attacker = train(LEARNERS["nearest-neighbours"], Sample(vectors, labels, names), 2)
    strangers = rng.normal(0, 1, (200, 30))
    guesses = attacker.guess(strangers, np.array([f"x{row}" for row in range(200)]))
    assert np.abs(np.diff(guesses.log_likelihoods)).mean() < 0.7


def test_rows_have_to_match():
    with pytest.raises(UsageError, match="as many rows"):
        Sample(np.zeros((2, 1)), np.zeros(2, dtype=np.int64), np.array(["a"]))


def test_averages_use_each_release_once():
    releases = np.arange(16.0)[:, None, None]
    assert averaged(releases, 1).ravel().tolist() == [0, 1, 2, 3]
    assert averaged(releases, 4).ravel().tolist() == [1.5, 5.5, 9.5, 13.5]
    assert averaged(releases, 12).ravel().tolist() == [5.5]
    assert averaged(releases.astype(np.float32), 16).dtype == np.float64
    for count in (0, 17):
        with pytest.raises(UsageError, match=f"{count} releases cannot be averaged; there are 16"):
            averaged(releases, count)


def test_lengths_are_matched_without_changing_directions():
    rng = np.random.default_rng(0)
    vectors, originals = 16 * rng.normal(0, 1, (50, 4)), rng.normal(0, 1, (30, 4))
    found = matched(vectors, originals)
    assert np.mean(np.sum(found**2, axis=1)) == pytest.approx(np.mean(np.sum(originals**2, axis=1)))
    np.testing.assert_allclose(found / vectors, np.full((50, 4), found[0, 0] / vectors[0, 0]))
    np.testing.assert_array_equal(matched(originals, originals), originals)
    with pytest.raises(UsageError, match="all vectors are 0"):
        matched(np.zeros((2, 2)), originals)
