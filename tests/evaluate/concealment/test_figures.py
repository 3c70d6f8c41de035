from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import recall_score, roc_auc_score

from sordino.evaluate.concealment.figures import (
    Attacked,
    guessing_figure,
    repeated,
    verification_figure,
)
from sordino.evaluate.results import Measure, Repeated


def of_people(labels: np.ndarray, values: int = 2, folds: np.ndarray | None = None) -> Attacked:
    names = np.array([f"s{number}" for number in range(labels.size)])
    return Attacked(labels, values, names, np.zeros_like(labels) if folds is None else folds)


def two_columns(ratios: np.ndarray) -> np.ndarray:
    return np.stack([-ratios, ratios], axis=1) / 2


def test_gaussian_classes_have_the_area_that_theory_says():
    rng = np.random.default_rng(1)
    labels = np.arange(4000) % 2
    trainings = [two_columns(rng.normal(1.2 * labels, 1)) for _ in range(3)]
    found = guessing_figure(trainings, of_people(labels), 200, 0)
    best = norm.cdf(1.2 / math.sqrt(2))
    assert found.mean.low < best < found.mean.high
    assert found.mean.high - found.mean.low < 0.03
    areas = [roc_auc_score(labels, scores[:, 1]) for scores in trainings]
    assert found.each == pytest.approx(areas, abs=1e-12)
    assert found.mean.value == pytest.approx(np.mean(areas), abs=1e-12)
    assert found.spread == pytest.approx(np.std(areas, ddof=1))


def test_each_training_is_turned_round_by_itself():
    labels = np.arange(400) % 2
    scores = two_columns(np.random.default_rng(0).normal(3.0 * labels, 1))
    found = guessing_figure([scores, -scores], of_people(labels), 100, 0)
    assert found.each[0] == pytest.approx(found.each[1], abs=1e-12)
    assert found.mean.low > 0.95


def test_trainings_that_tell_nothing_are_a_guess_together():
    holds = 0
    labels = np.arange(200) % 2
    for seed in range(10):
        rng = np.random.default_rng(seed)
        trainings = [two_columns(rng.normal(0, 1, 200)) for _ in range(5)]
        found = guessing_figure(trainings, of_people(labels), 100, 0)
        assert found.mean.value == pytest.approx(0.5, abs=0.07)
        holds += found.mean.low <= 0.5 <= found.mean.high
    assert holds >= 8


def test_a_little_below_a_guess_in_all_trainings_is_turned_round():
    labels = np.arange(200) % 2
    rng = np.random.default_rng(0)
    trainings = [two_columns(rng.normal(-0.25 * labels, 1)) for _ in range(9)]
    found = guessing_figure(trainings, of_people(labels), 200, 0)
    assert found.mean.low > 0.5
    assert found.mean.low < norm.cdf(0.25 / math.sqrt(2)) < found.mean.high


def test_scores_of_two_attackers_are_not_compared_with_each_other():
    labels = np.arange(200) % 2
    folds = np.repeat([0, 1], 100)
    ratios = labels + 100.0 * folds + np.random.default_rng(0).normal(0, 0.1, 200)
    found = guessing_figure([two_columns(ratios)], of_people(labels, folds=folds), 100, 0)
    assert found.mean.value == 1.0
    assert roc_auc_score(labels, ratios) < 0.8


def test_more_than_two_values_have_the_mean_recall():
    rng = np.random.default_rng(2)
    labels = np.arange(300) % 3
    scores = rng.normal(0, 1, (300, 3)) + 1.5 * np.eye(3)[labels]
    found = guessing_figure([scores], of_people(labels, 3), 200, 0)
    wanted = recall_score(labels, scores.argmax(axis=1), average="macro")
    assert found.mean.value == pytest.approx(wanted)
    assert found.mean.low < wanted < found.mean.high
    assert found.spread is None


def test_speakers_and_not_vectors_are_drawn():
    """Twenty vectors of one speaker that are all the same are no more than one of them."""
    labels = np.repeat(np.arange(30) % 2, 20)
    ratios = np.repeat(np.random.default_rng(4).normal(np.arange(30) % 2, 1), 20)
    names = np.repeat([f"s{number}" for number in range(30)], 20)
    many = Attacked(labels, 2, names, np.zeros_like(labels))
    few = of_people(labels[::20])
    wide, wanted = (
        guessing_figure([two_columns(given)], about, 300, 0).mean
        for given, about in ((ratios, many), (ratios[::20], few))
    )
    assert wide.high - wide.low == pytest.approx(wanted.high - wanted.low, abs=0.02)
    assert wide.high - wide.low > 0.2


def test_equal_error_rate_of_gaussian_scores():
    rng = np.random.default_rng(5)
    enrolled, tried = np.divmod(np.arange(60 * 60), 60)
    is_target = enrolled == tried
    # Scores that do not depend on the speakers have the error of theory.
    trainings = [rng.normal(2.0 * is_target, 1) for _ in range(2)]
    found = verification_figure(trainings, is_target, (enrolled, tried), 200, 0)
    assert found.mean.low < norm.cdf(-1.0) < found.mean.high
    assert len(found.each) == 2


def test_too_little_for_an_interval_or_for_a_figure():
    people = np.arange(3)

    def nothing(weights: np.ndarray) -> float:
        return math.nan

    assert repeated([nothing], people, people, 100, 0) == Repeated(Measure(None), ())
    labels = np.array([0, 1])
    found = guessing_figure([two_columns(np.array([1.0, 0.0]))], of_people(labels), 100, 0)
    assert found.mean == Measure(0.0)  # too little to say that it is no chance
