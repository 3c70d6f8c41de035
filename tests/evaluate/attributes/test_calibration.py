from __future__ import annotations

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.evaluate.attributes.calibration import fit_likelihoods
from sordino.evaluate.metrics.cllr import cllr
from sordino.speaker.scoring.calibration import fit_affine


def test_two_values_give_the_affine_calibration():
    rng = np.random.default_rng(0)
    labels = (rng.random(3000) < 0.3).astype(np.int64)
    score = rng.normal(1.7 * labels, 1.0)
    calibrate = fit_likelihoods(np.stack([np.zeros(3000), score], axis=1), labels)
    ratios = np.diff(calibrate(np.stack([np.zeros(3000), score], axis=1)))[:, 0]
    affine = fit_affine(score[labels == 1], score[labels == 0])
    # The two have a small penalty, or none.
    np.testing.assert_allclose(ratios, affine(score), atol=0.05)


def test_gaussian_values_get_their_true_likelihoods():
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    labels = rng.integers(3, size=30_000)
    vectors = rng.normal(centres[labels], 1.0)
    truth = -0.5 * ((vectors[:, None] - centres) ** 2).sum(axis=2)
    # What the attacker has is squeezed and shifted.
    found = fit_likelihoods(0.25 * truth + [0.3, -0.8, 0.1], labels)
    assert found.scale == pytest.approx(4.0, rel=0.03)
    likelihoods = found(0.25 * truth + [0.3, -0.8, 0.1])
    wanted = truth - np.logaddexp.reduce(truth, axis=1, keepdims=True)
    assert np.abs(likelihoods - wanted).mean() < 0.05


def test_rare_values_weigh_as_much():
    rng = np.random.default_rng(2)
    labels = (np.arange(20_000) % 20 == 0).astype(np.int64)
    score = rng.normal(2.0 * labels, 1.0)
    # Log-probabilities as a classifier gives them that knows how rare the value is.
    logit = 2.0 * score - 2.0 + np.log(1 / 19)
    table = np.stack([-np.logaddexp(0, logit), -np.logaddexp(0, -logit)], axis=1)
    ratios = np.diff(fit_likelihoods(table, labels)(table))[:, 0]
    np.testing.assert_allclose(ratios, 2.0 * score - 2.0, atol=0.35)


def test_separate_scores_stay_finite_and_in_order():
    labels = np.array([0, 0, 1, 1])
    table = np.stack([-np.arange(4.0), np.arange(4.0)], axis=1)
    ratios = np.diff(fit_likelihoods(table, labels)(table))[:, 0]
    assert np.isfinite(ratios).all()
    assert (np.diff(ratios) > 0).all()
    assert cllr(ratios[2:], ratios[:2]) < 0.2


def test_scores_that_mislead_are_not_turned_round():
    labels = np.array([0, 1] * 50)
    table = np.stack([labels, 1 - labels], axis=1) + np.random.default_rng(3).normal(0, 1, (100, 2))
    found = fit_likelihoods(table, labels)
    assert 0 < found.scale < 0.01
    assert np.abs(np.diff(found(table))).max() < 0.05


def test_equal_scores_say_nothing():
    found = fit_likelihoods(np.full((4, 3), -1.1), np.array([0, 1, 2, 0]))
    np.testing.assert_allclose(found(np.full((1, 3), -1.1)), np.log(1 / 3), atol=1e-6)


def test_nan_is_refused():
    with pytest.raises(UsageError, match="the scores hold NaN or infinity"):
        fit_likelihoods([[0.0, np.nan]], np.array([0]))
