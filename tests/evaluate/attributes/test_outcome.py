from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

from sordino.evaluate.attributes.attack import Guesses
from sordino.evaluate.attributes.outcome import either_way, measure_guesses
from sordino.evaluate.metrics.cllr import cllr
from sordino.evaluate.results import Measure


def gaussian(number: int, distance: float, seed: int = 0) -> tuple[np.ndarray, Guesses, np.ndarray]:
    """Two values whose true log-likelihood ratio is normal; everybody is a speaker of their own."""
    rng = np.random.default_rng(seed)
    labels = np.arange(number) % 2
    ratios = rng.normal((labels - 0.5) * distance**2, distance)
    logs = np.stack([-np.logaddexp(0, ratios), -np.logaddexp(0, -ratios)], axis=1)
    return labels, Guesses(logs, logs), np.array([f"s{row}" for row in range(number)])


def test_gaussian_values_have_the_figures_of_the_closed_forms():
    distance = 1.5
    labels, guesses, speakers = gaussian(40_000, distance)
    found = measure_guesses(labels, guesses, speakers, draws=100)
    lost, _ = quad(
        lambda z: np.log2(1 + np.exp(-z)) * norm.pdf(z, distance**2 / 2, distance), -20, 30
    )
    assert found.auc.value == pytest.approx(norm.cdf(distance / math.sqrt(2)), abs=0.005)
    assert found.balanced_accuracy.value == pytest.approx(norm.cdf(distance / 2), abs=0.005)
    assert found.cllr.value == pytest.approx(lost, abs=0.01)
    assert found.information.value == pytest.approx(1 - lost, abs=0.01)
    for measure in (found.auc, found.balanced_accuracy, found.cllr, found.information):
        assert measure.low < measure.value < measure.high < measure.low + 0.05


def test_against_scikit_learn():
    labels, guesses, speakers = gaussian(300, 1.0)
    labels = labels.copy()
    labels[::5] = 0
    found = measure_guesses(labels, guesses, speakers, draws=100)
    ratios = np.diff(guesses.log_likelihoods)[:, 0]
    shares = np.bincount(labels) / labels.size
    entropy = -np.sum(shares * np.log2(shares))
    left = log_loss(labels, np.exp(guesses.log_posteriors)) / math.log(2)
    assert found.auc.value == pytest.approx(roc_auc_score(labels, ratios))
    assert found.balanced_accuracy.value == balanced_accuracy_score(labels, ratios > 0)
    assert found.cllr.value == pytest.approx(cllr(ratios[labels == 1], ratios[labels == 0]))
    assert found.information.value == pytest.approx(max(0.0, entropy - left))


def test_area_compares_within_folds():
    labels, guesses, speakers = gaussian(200, 1.0)
    folds = np.repeat(np.arange(4), 50)
    ratios = np.diff(guesses.log_likelihoods)[:, 0]
    areas = [roc_auc_score(labels[folds == fold], ratios[folds == fold]) for fold in range(4)]
    found = measure_guesses(labels, guesses, speakers, folds, draws=100)
    # All folds have as many pairs.
    assert found.auc.value == pytest.approx(np.mean(areas))
    # What all scores of an attacker have in common does not matter.
    shifted = guesses.log_likelihoods + np.outer(folds, [0.0, 5.0])
    moved = measure_guesses(labels, Guesses(shifted, shifted), speakers, folds, draws=100)
    assert moved.auc == found.auc
    assert measure_guesses(labels, Guesses(shifted, shifted), speakers, draws=100).auc != found.auc


def test_a_fold_of_one_value_has_no_pairs():
    labels, guesses, speakers = gaussian(60, 1.0)
    folds = np.where(np.arange(60) < 40, 0, 1 + labels)
    found = measure_guesses(labels, guesses, speakers, folds, draws=100)
    ratios = np.diff(guesses.log_likelihoods)[:, 0]
    assert found.auc.value == pytest.approx(roc_auc_score(labels[:40], ratios[:40]))


def test_three_values():
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    logs = np.log(rng.dirichlet(np.ones(3), 90))
    speakers = np.array([f"s{row % 30}" for row in range(90)])
    found = measure_guesses(labels, Guesses(logs, logs), speakers, draws=100)
    assert found.auc is None
    assert found.balanced_accuracy.value == pytest.approx(
        balanced_accuracy_score(labels, logs.argmax(axis=1))
    )
    means = [-logs[labels == value, value].mean() for value in range(3)]
    assert found.cllr.value == pytest.approx(np.mean(means) / math.log(3))


def test_knowing_nothing_costs_1_for_any_number_of_values():
    for values in (2, 5):
        labels = np.arange(50) % values
        flat = np.full((50, values), -math.log(values))
        speakers = np.array([f"s{row}" for row in range(50)])
        found = measure_guesses(labels, Guesses(flat, flat), speakers, draws=100)
        assert found.cllr.value == pytest.approx(1)
        assert found.information.value == pytest.approx(0, abs=1e-12)
        assert found.balanced_accuracy.value == pytest.approx(1 / values)


def test_posteriors_and_not_likelihoods_decide_the_information():
    labels = np.array([0] * 90 + [1] * 10)
    flat = np.full((100, 2), math.log(0.5))
    prior = np.tile(np.log([0.9, 0.1]), (100, 1))
    speakers = np.array([f"s{row}" for row in range(100)])
    knows = measure_guesses(labels, Guesses(flat, prior), speakers, draws=100)
    assert knows.information.value == pytest.approx(0, abs=1e-12)
    # Somebody who thinks that both are as frequent does worse than knowing nothing: no bits.
    assert measure_guesses(labels, Guesses(flat, flat), speakers, draws=100).information == Measure(
        0.0, 0.0, 0.0
    )


def test_interval_draws_speakers_and_not_vectors():
    labels, guesses, speakers = gaussian(40, 1.0)
    once = measure_guesses(labels, guesses, speakers, draws=200)
    often = np.repeat(np.arange(40), 10)
    repeated = Guesses(guesses.log_likelihoods[often], guesses.log_posteriors[often])
    tenfold = measure_guesses(labels[often], repeated, speakers[often], draws=200)
    # Ten utterances that tell the same add nothing to how sure a figure is.
    assert once.auc.high - once.auc.low > 0.15
    for name in ("auc", "balanced_accuracy", "cllr", "information"):
        one, ten = getattr(once, name), getattr(tenfold, name)
        np.testing.assert_allclose(
            [ten.value, ten.low, ten.high], [one.value, one.low, one.high], atol=1e-9
        )


def test_area_either_way():
    assert either_way(Measure(0.2, 0.1, 0.3)) == Measure(0.8, 0.7, 0.9)
    assert either_way(Measure(0.8, 0.75, 0.875)) == Measure(0.8, 0.75, 0.875)
    assert either_way(Measure(0.4375, 0.375, 0.5625)) == Measure(0.5625, 0.5, 0.625)
    assert either_way(Measure(0.25)) == Measure(0.75)
