from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import roc_curve

from sordino.corpus.trials import Enrolment, Trials
from sordino.errors import UsageError
from sordino.evaluate import privacy as module
from sordino.evaluate.metrics.bootstrap import bootstrap_over_speakers
from sordino.evaluate.metrics.cllr import WeightedCllr, WeightedMinCllr
from sordino.evaluate.metrics.eer import WeightedEER, equal_error_rate_convex_hull, min_dcf
from sordino.evaluate.metrics.linkability import WeightedLinkability, linkability
from sordino.evaluate.metrics.zebra import WeightedDisclosure, disclosure
from sordino.evaluate.privacy import measure, measure_labelled, measure_lists, why_no_interval
from sordino.evaluate.results import Measure


def crossing(speakers=12, utterances=3) -> Trials:
    """Every utterance against every speaker's enrolment."""
    names = [f"s{number:02}" for number in range(speakers)]
    tried = [(f"{name}-{take}", name) for name in names for take in range(utterances)]
    model, utterance = np.divmod(np.arange(speakers * len(tried), dtype=np.int32), len(tried))
    return Trials(
        tuple(Enrolment(name, name, (f"{name}-enrolled",)) for name in names),
        tuple(name for name, _ in tried),
        tuple(speaker for _, speaker in tried),
        model,
        utterance,
    )


def scores_of(trials: Trials, distance=2.0, seed=0) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal(len(trials))
    return noise + distance * trials.is_target


def gaussian(distance: float, size=300_000, seed=0):
    """Log-likelihood ratios of two normal distributions so many deviations apart."""
    rng = np.random.default_rng(seed)
    half = distance**2 / 2
    own, others = rng.standard_normal((2, size)) * distance
    return own + half, others - half


@pytest.mark.parametrize("distance", [0.5, 1.0, 2.5])
def test_gaussian_scores_have_the_figures_of_closed_forms(distance):
    found = measure_lists(*gaussian(distance), ratios=True)
    half, deviation = distance**2 / 2, distance
    density = norm(half, deviation).pdf
    ends = half - 12 * deviation, half + 12 * deviation

    def mean(function):
        return quad(lambda ratio: function(ratio) * density(ratio), *ends, limit=200)[0]

    # By symmetry, non-targets cost as much as targets.
    cost = mean(lambda ratio: np.logaddexp(0, -ratio)) / math.log(2)
    assert found.eer.value == pytest.approx(norm.cdf(-distance / 2), abs=0.002)
    assert found.eer_hull.value == pytest.approx(norm.cdf(-distance / 2), abs=0.002)
    assert found.cllr is not None
    assert found.cllr.value == pytest.approx(cost, abs=0.003)
    assert found.min_cllr.value == pytest.approx(cost, abs=0.003)
    linked = mean(lambda ratio: max(0.0, math.tanh(ratio / 2)))
    assert found.linkability.value == pytest.approx(linked, abs=0.006)
    # ZEBRA: the entropy less the cross-entropy, over all priors.
    odds = np.log(np.linspace(0.0005, 0.9995, 1000) / np.linspace(0.9995, 0.0005, 1000))
    prior = 1 / (1 + np.exp(-odds))
    ratios = np.linspace(*ends, 4000)
    weights = density(ratios) / density(ratios).sum()
    left = [
        chance * weights @ np.logaddexp(0, -ratios - odd)
        + (1 - chance) * weights @ np.logaddexp(0, odd - ratios)
        for chance, odd in zip(prior, odds, strict=True)
    ]
    entropy = -prior * np.log(prior) - (1 - prior) * np.log(1 - prior)
    spared = np.mean(entropy - left) / math.log(2)
    assert found.disclosure.value == pytest.approx(spared, abs=0.003)
    # The least cost is where the ratio is the odds of the costs.
    threshold = math.log(99)
    least = norm.cdf(threshold, half, deviation) + 99 * norm.sf(threshold, -half, deviation)
    assert found.min_dcf.value == pytest.approx(min(1, least), abs=0.01)


@pytest.mark.parametrize("decimals", [1, 8])
@pytest.mark.parametrize("sizes", [(4, 7), (60, 900), (500, 30)])
def test_figures_are_those_of_scikit_learn_and_of_each_function(sizes, decimals):
    rng = np.random.default_rng(sum(sizes))
    own = (rng.standard_normal(sizes[0]) + 1.2).round(decimals)
    others = rng.standard_normal(sizes[1]).round(decimals)
    found = measure_lists(own, others)
    scores = np.concatenate([own, others])
    labels = np.arange(scores.size) < own.size
    alarms, hits, _ = roc_curve(labels, scores, drop_intermediate=False)
    misses = 1 - hits
    at = int(np.argmax(alarms >= misses))
    before, after = (alarms - misses)[[at - 1, at]]
    part = -before / (after - before)
    rate = alarms[at - 1] + part * (alarms[at] - alarms[at - 1])
    assert found.eer.value == pytest.approx(rate, abs=1e-12)
    costs = (0.01 * misses + 0.99 * alarms) / 0.01
    assert found.min_dcf.value == pytest.approx(costs.min(), abs=1e-12)
    assert found.min_dcf.value == pytest.approx(min_dcf(own, others).cost, abs=1e-12)
    chances = IsotonicRegression().fit_transform(scores, labels)
    with np.errstate(divide="ignore"):
        ratios = np.log(chances / (1 - chances)) - math.log(own.size / others.size)
    cost = np.logaddexp(0, np.where(labels, -ratios, ratios)) / math.log(2)
    assert found.min_cllr.value == pytest.approx(
        (cost[labels].mean() + cost[~labels].mean()) / 2, abs=1e-9
    )
    hull = equal_error_rate_convex_hull(own, others).rate
    assert found.eer_hull.value == pytest.approx(hull, abs=1e-12)
    assert found.linkability.value == linkability(own, others).system
    disclosed = disclosure(own, others)
    assert found.disclosure.value == disclosed.expected
    assert (found.worst, found.category) == (disclosed.worst, disclosed.category)
    points = set(zip(alarms.round(9), misses.round(9), strict=True))
    assert {(round(x, 9), round(y, 9)) for x, y in found.det} <= points


def test_intervals_are_those_of_each_figure_alone():
    trials = crossing()
    scores = scores_of(trials)
    found = measure(scores, trials, ratios=True, draws=120, seed=3)
    speakers = trials.enrolled, trials.tried
    for name, statistic in {
        "eer": WeightedEER,
        "min_cllr": WeightedMinCllr,
        "cllr": WeightedCllr,
        "linkability": WeightedLinkability,
        "disclosure": WeightedDisclosure,
    }.items():
        weighted = statistic(scores, trials.is_target)
        alone = bootstrap_over_speakers(weighted, *speakers, draws=120, seed=3)
        assert getattr(found, name).value == pytest.approx(alone.value, abs=1e-12)
        assert getattr(found, name).low == pytest.approx(alone.low, abs=1e-12)
        assert getattr(found, name).high == pytest.approx(alone.high, abs=1e-12)
    assert found.speakers == 12


def test_interval_of_detection_cost_and_hull_is_that_of_copied_trials():
    trials = crossing(6, 2)
    scores = scores_of(trials, 1.0)
    found = measure(scores, trials, draws=100, seed=1)
    rng = np.random.default_rng(1)
    costs, rates = [], []
    for _ in range(100):
        drawn = np.bincount(rng.integers(6, size=6), minlength=6)
        times = drawn[trials.enrolled] * np.where(trials.is_target, 1, drawn[trials.tried])
        own = np.repeat(scores[trials.is_target], times[trials.is_target])
        others = np.repeat(scores[~trials.is_target], times[~trials.is_target])
        costs.append(min_dcf(own, others).cost)
        rates.append(equal_error_rate_convex_hull(own, others).rate)
    for measured, values in ((found.min_dcf, costs), (found.eer_hull, rates)):
        assert (measured.low, measured.high) == pytest.approx(
            tuple(np.quantile(values, [0.025, 0.975])), abs=1e-12
        )


def test_order_of_trials_does_not_matter():
    trials = crossing()
    scores = scores_of(trials)
    order = np.random.default_rng(1).permutation(len(trials))
    shuffled = Trials(
        trials.enrolments,
        trials.utterances,
        trials.speakers,
        trials.model[order],
        trials.utterance[order],
    )
    first, second = (
        measure(*given, draws=100) for given in ((scores, trials), (scores[order], shuffled))
    )
    assert first == second


def test_without_detail_only_the_error_rate_has_an_interval():
    trials = crossing()
    scores = scores_of(trials)
    full, brief = (measure(scores, trials, draws=100, detail=detail) for detail in (True, False))
    assert brief.eer == full.eer
    assert brief.min_cllr == Measure(full.min_cllr.value)
    assert brief.linkability.low is None
    assert brief.cllr is None


def test_infinite_scores_are_above_and_below_all_others():
    trials = crossing()
    scores = scores_of(trials)
    scores[[0, 50]], scores[[3, 70]] = np.inf, -np.inf
    finite = np.where(np.isinf(scores), np.sign(scores) * 99, scores)
    found, plain = (measure(given, trials, draws=100) for given in (scores, finite))
    for name in ("eer", "eer_hull", "min_dcf", "min_cllr", "linkability", "disclosure", "det"):
        assert getattr(found, name) == getattr(plain, name), name
    assert (found.worst, found.category) == (plain.worst, plain.category)
    histogram = found.histogram
    assert np.isfinite(histogram.edges).all()
    assert sum(histogram.targets) == found.targets
    assert sum(histogram.nontargets) == found.nontargets
    inside = scores[np.isfinite(scores) & trials.is_target]
    counts, _ = np.histogram(inside, histogram.edges)
    extra = np.subtract(histogram.targets, counts)
    assert extra[0] + extra[-1] == np.isinf(scores[trials.is_target]).sum()
    assert not extra[1:-1].any()


def test_infinite_ratios_cost_nothing_where_right_and_all_where_wrong():
    right = measure_lists([np.inf, 0.0], [-np.inf, 0.0], ratios=True)
    assert right.cllr == Measure(0.5)
    for own, others in (([-np.inf, 3.0], [0.0]), ([3.0], [np.inf, 0.0])):
        assert measure_lists(own, others, ratios=True).cllr == Measure(math.inf)
    trials = crossing()
    scores = scores_of(trials)
    scores[np.flatnonzero(~trials.is_target)[0]] = np.inf
    found = measure(scores, trials, ratios=True, draws=100)
    assert found.cllr == Measure(math.inf)
    assert found.min_cllr.low is not None


def test_scores_that_are_all_infinite():
    found = measure_lists([np.inf, np.inf], [-np.inf])
    assert found.eer == Measure(0.0)
    assert sum(found.histogram.targets) == 2
    assert found.histogram.targets[-1] == 2
    assert found.histogram.nontargets[0] == 1


@pytest.mark.parametrize("value", [0.0, -3.5, np.inf])
def test_identical_scores_are_a_guess(value):
    trials = crossing()
    found = measure(np.full(len(trials), value), trials, draws=100)
    assert found.eer == Measure(0.5, 0.5, 0.5)
    assert found.eer_hull == Measure(0.5, 0.5, 0.5)
    assert found.min_dcf == Measure(1.0, 1.0, 1.0)
    cost = found.min_cllr
    assert (cost.value, cost.low, cost.high) == pytest.approx((1.0, 1.0, 1.0), abs=1e-12)
    assert found.linkability == Measure(0.0, 0.0, 0.0)
    assert found.disclosure == Measure(0.0, 0.0, 0.0)
    assert (found.worst, found.category) == (0.0, "0")
    assert found.det == ((0.0, 1.0), (1.0, 0.0))
    assert max(found.histogram.targets) == found.targets


def test_three_mated_scores():
    found = measure_lists([0.9, 0.4, 0.6], [0.5, 0.1, 0.3, 0.2])
    # At 0.5 one target of three is missed and one non-target of four accepted.
    assert found.eer.value == pytest.approx(1 / 4)
    assert (found.targets, found.nontargets) == (3, 4)
    assert found.linkability.value is not None
    assert 0 < found.linkability.value <= 1
    assert why_no_interval(found) == "There are no intervals, since it is not known who speaks."


def test_enormous_scores_do_not_overflow():
    found = measure_lists([1.7e308, -1.7e308], [0.0, 1.0], ratios=True)
    assert np.isfinite(found.histogram.edges).all()
    assert found.eer.value == 0.5


def test_what_cannot_be_measured_is_named():
    trials = crossing()
    scores = scores_of(trials)
    with pytest.raises(UsageError, match=r"shape \(431,\); expected \(432,\)"):
        measure(scores[1:], trials)
    scores[[37, 40]] = np.nan
    with pytest.raises(UsageError, match=r"2 of 432 scores are NaN.*s00-1 against s01"):
        measure(scores, trials)
    with pytest.raises(UsageError, match="no non-target trials"):
        measure(scores_of(trials)[trials.is_target], trials.select(trials.is_target))
    with pytest.raises(UsageError, match="no target trials"):
        measure(scores_of(trials)[~trials.is_target], trials.select(~trials.is_target))
    with pytest.raises(UsageError, match="1 of the non-target scores are NaN"):
        measure_lists([1.0], [0.0, np.nan])
    with pytest.raises(UsageError, match="99 draws are too few"):
        measure(scores_of(trials), trials, draws=99)


def test_too_few_speakers_have_no_interval():
    trials = crossing(2, 5)
    found = measure(scores_of(trials), trials)
    assert found.eer.low is None
    assert found.min_cllr.high is None
    assert why_no_interval(found) == (
        "There are no intervals, since 2 speakers are too few to draw from."
    )


def test_many_trials_have_fewer_draws_and_then_none(monkeypatch):
    trials = crossing()
    scores = scores_of(trials)
    monkeypatch.setattr(module, "MOST_WORK", 150 * len(trials))
    monkeypatch.setattr(module, "_DETAIL_WORK", 99 * len(trials))
    found = measure(scores, trials)
    assert found.eer == measure(scores, trials, draws=150).eer
    assert found.eer.low is not None
    assert found.min_cllr.low is None
    assert why_no_interval(found) == ""
    monkeypatch.setattr(module, "MOST_WORK", 99 * len(trials))
    found = measure(scores, trials)
    assert found.eer.low is None
    assert why_no_interval(found) == "There are no intervals, since there are so many trials: 432."


def test_few_points_tell_the_curve():
    own, others = gaussian(2.0, 50_000)
    points = np.array(measure_lists(own, others).det)
    assert 150 < len(points) <= 200
    assert (np.diff(points[:, 0]) >= 0).all()
    assert (np.diff(points[:, 1]) <= 0).all()
    falling = np.concatenate([[np.inf], np.sort(others)[::-1], [-np.inf]])
    for alarm, miss in points[::17]:
        accepted = round(alarm * others.size)
        # The threshold is at the last that is accepted, or lower but above the next.
        assert (own <= falling[accepted + 1]).mean() <= miss <= (own < falling[accepted]).mean()
    # Evenly spread as deviates, so that both ends of the curve are told.
    inner = points[(points > 1e-4).all(axis=1) & (points < 1 - 1e-4).all(axis=1)]
    assert np.abs(np.diff(norm.ppf(inner), axis=0)).max() < 0.3


def test_labels_are_enough():
    found = measure_labelled(np.array([3, 1, 2, 0.0]), np.array([True, True, False, False]))
    assert found.eer.value == 0.5
    assert found.speakers == 0


def test_float32_is_kept_and_integers_are_scores_too():
    own, others = (part.astype(np.float32) for part in gaussian(1.0, 1000))
    assert measure_lists(own, others).eer.value == pytest.approx(
        measure_lists(own.astype(float), others.astype(float)).eer.value
    )
    assert measure_lists([3, 2], [1, 2]).eer.value == 0.25
