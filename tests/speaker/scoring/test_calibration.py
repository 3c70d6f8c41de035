from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from sordino.errors import UsageError
from sordino.speaker.scoring import calibration
from sordino.speaker.scoring.calibration import (
    AffineCalibration,
    MonotoneCalibration,
    fit_affine,
    fit_monotone,
)

RNG = np.random.default_rng(11)
TARGETS = RNG.normal(0.6, 0.15, size=300)
NONTARGETS = RNG.normal(0.2, 0.2, size=5000)


def cross_entropy(targets, nontargets, prior):
    """Weighted logarithmic cost of ratios, in nats."""
    logit = np.log(prior / (1 - prior))
    return prior * np.mean(np.logaddexp(0, -targets - logit)) + (1 - prior) * np.mean(
        np.logaddexp(0, nontargets + logit)
    )


def cost(calibrate, prior, targets=TARGETS, nontargets=NONTARGETS):
    return cross_entropy(calibrate(targets), calibrate(nontargets), prior)


@pytest.mark.parametrize("prior", [0.5, 0.01, 0.9])
def test_equals_scikit_learns_weighted_regression(prior):
    scores = np.concatenate([TARGETS, NONTARGETS])[:, None]
    is_target = np.arange(len(scores)) < 300
    weights = np.where(is_target, prior / 300, (1 - prior) / 5000)
    reference = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky", max_iter=500)
    # Weights of mean 1: scikit-learn stops by an absolute rule.
    reference.fit(scores, is_target, sample_weight=weights * len(scores))
    found = fit_affine(TARGETS, NONTARGETS, prior=prior)
    offset = reference.intercept_[0] - np.log(prior / (1 - prior))
    assert found.slope == pytest.approx(reference.coef_[0, 0], rel=1e-6)
    assert found.offset == pytest.approx(offset, rel=1e-6)


@pytest.mark.parametrize("prior", [0.5, 0.03])
def test_no_other_line_costs_less(prior):
    best = fit_affine(TARGETS, NONTARGETS, prior=prior)
    least = cost(best, prior)
    for slope in (0.98, 1.02):
        assert cost(AffineCalibration(best.slope * slope, best.offset), prior) > least
    for offset in (-0.05, 0.05):
        assert cost(AffineCalibration(best.slope, best.offset + offset), prior) > least


def test_normal_scores_of_one_variance_have_their_known_ratio():
    # ln N(s; 3, 2^2) / N(s; 1, 2^2) = s / 2 - 1
    rng = np.random.default_rng(0)
    found = fit_affine(rng.normal(3, 2, 400_000), rng.normal(1, 2, 400_000), prior=0.2)
    assert found.slope == pytest.approx(0.5, abs=0.01)
    assert found.offset == pytest.approx(-1.0, abs=0.02)


def test_the_numbers_of_trials_make_no_difference():
    many = fit_affine(TARGETS, np.tile(NONTARGETS, 5), prior=0.1)
    few = fit_affine(np.tile(TARGETS, 3), NONTARGETS, prior=0.1)
    assert many.slope == pytest.approx(few.slope, rel=1e-6)
    assert many.offset == pytest.approx(few.offset, rel=1e-6)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_scale_of_the_scores_makes_no_difference(scale):
    reference = fit_affine(TARGETS, NONTARGETS)(TARGETS)
    found = fit_affine(TARGETS * scale + 7 * scale, NONTARGETS * scale + 7 * scale)
    np.testing.assert_allclose(found(TARGETS * scale + 7 * scale), reference, rtol=1e-6, atol=1e-6)


def test_blocks_give_the_same(monkeypatch):
    whole = fit_affine(TARGETS, NONTARGETS)
    monkeypatch.setattr(calibration, "_BLOCK", 37)
    parts = fit_affine(TARGETS, NONTARGETS)
    assert parts.slope == pytest.approx(whole.slope, rel=1e-9)
    assert parts.offset == pytest.approx(whole.offset, rel=1e-9)


def test_far_outliers_do_not_stop_it():
    targets = np.concatenate([TARGETS, [-1e4]])
    found = fit_affine(targets, NONTARGETS)
    assert np.isfinite([found.slope, found.offset]).all()
    assert cost(found, 0.5, targets) < np.log(2)


def test_scores_that_tell_nothing_get_a_ratio_near_zero():
    rng = np.random.default_rng(0)
    found = fit_affine(rng.normal(size=50_000), rng.normal(size=50_000))
    assert np.abs(found(np.array([-2.0, 2.0]))).max() < 0.05


def test_scores_that_do_not_overlap_are_refused_without_a_ridge():
    for targets, nontargets in (([2.0, 3.0], [0.0, 1.0]), ([0.0], [1.0, 2.0]), ([1.0], [0.0, 1.0])):
        with pytest.raises(UsageError, match="do not overlap"):
            fit_affine(targets, nontargets)
    found = fit_affine([2.0, 3.0], [0.0, 1.0], ridge=1e-3)
    assert 0 < found.slope < 100
    assert found(np.array([1.5]))[0] == pytest.approx(0.0, abs=1e-6)


def test_equal_scores_are_refused():
    with pytest.raises(UsageError, match="equal"):
        fit_affine([1.0, 1.0], [1.0], ridge=1e-3)


@pytest.mark.parametrize("settings", [{"prior": 0.0}, {"prior": 1.0}, {"ridge": -1.0}])
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(UsageError):
        fit_affine(TARGETS, NONTARGETS, **settings)


def test_float32_scores_stay_float32():
    calibrate = fit_affine(TARGETS.astype(np.float32), NONTARGETS.astype(np.float32))
    assert calibrate(TARGETS.astype(np.float32)).dtype == np.float32
    assert calibrate.slope == pytest.approx(fit_affine(TARGETS, NONTARGETS).slope, rel=1e-4)


@pytest.mark.parametrize("ties", [False, True])
def test_the_steps_are_those_of_scikit_learn(ties):
    targets, nontargets = (np.round(s, 1 if ties else 15) for s in (TARGETS, NONTARGETS))
    low, high = -100.0, 100.0
    scores = np.concatenate([[low], targets, nontargets, [high]])
    is_target = np.concatenate([[1.0], np.ones(300), np.zeros(5000), [0.0]])
    shares = IsotonicRegression().fit_transform(scores, is_target)[1:-1]
    expected = np.log(shares / (1 - shares)) - np.log(301 / 5001)
    found = fit_monotone(targets, nontargets)(np.concatenate([targets, nontargets]))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_rising_steps_cost_less_than_a_line_and_never_fall():
    monotone = fit_monotone(TARGETS, NONTARGETS)
    for prior in (0.5, 0.05):
        assert cost(monotone, prior) < cost(fit_affine(TARGETS, NONTARGETS, prior=prior), prior)
    assert (np.diff(monotone(np.linspace(-2, 2, 5001))) >= 0).all()


def test_separate_scores_get_finite_ratios_by_the_rule_of_succession():
    found = fit_monotone([2.0, 3.0, 4.0], [0.0, 1.0])
    # 3 targets and the added non-target above; 2 non-targets and the added target below.
    high, low = np.log(3 / 1), np.log(1 / 2)
    expected = np.array([low, low, high, high]) - np.log(4 / 3)
    np.testing.assert_allclose(found([-9.0, 1.0, 2.0, 9.0]), expected)
    assert found([1.5])[0] == pytest.approx(expected.mean())


def test_calibrated_ratios_are_right_on_fresh_scores():
    rng = np.random.default_rng(3)
    fresh = rng.normal(0.6, 0.15, 50_000), rng.normal(0.2, 0.2, 50_000)
    for calibrate in (fit_affine(TARGETS, NONTARGETS), fit_monotone(TARGETS, NONTARGETS)):
        posterior = [expit(calibrate(s)) for s in fresh]
        for low, high in ((0.1, 0.4), (0.4, 0.7), (0.7, 0.95)):
            inside = [(p >= low) & (p < high) for p in posterior]
            share = inside[0].sum() / (inside[0].sum() + inside[1].sum())
            assert low - 0.07 < share < high + 0.07


def test_points_that_fall_are_refused():
    with pytest.raises(UsageError, match="rising"):
        MonotoneCalibration(np.array([0.0, 1.0]), np.array([1.0, 0.0]))


@pytest.mark.parametrize("fit", [fit_affine, fit_monotone])
def test_storing_and_loading(fit, tmp_path):
    calibrate = fit(TARGETS, NONTARGETS)
    np.savez(tmp_path / "x.npz", **calibrate.to_arrays())
    with np.load(tmp_path / "x.npz", allow_pickle=False) as arrays:
        loaded = type(calibrate).from_arrays(arrays)
    np.testing.assert_array_equal(loaded(NONTARGETS), calibrate(NONTARGETS))
    with pytest.raises(UsageError, match="is missing"):
        type(calibrate).from_arrays({})


@pytest.mark.parametrize("fit", [fit_affine, fit_monotone])
def test_no_scores_of_a_kind_are_refused(fit):
    with pytest.raises(UsageError, match="no non-target scores"):
        fit(TARGETS, [])
    with pytest.raises(UsageError, match="target scores hold NaN"):
        fit([np.nan], NONTARGETS)
