from __future__ import annotations

import math

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.evaluate.metrics.bootstrap import bootstrap_over_speakers, intervals_over_speakers
from sordino.evaluate.metrics.eer import WeightedEER, equal_error_rate


def world(rng, speakers=20, utterances=3):
    """All trials of some speakers, some of whom are easier to tell apart: scores and speakers."""
    tried_by = np.repeat(np.arange(speakers), utterances)
    enrolled = np.repeat(np.arange(speakers), tried_by.size)
    tried = np.tile(tried_by, speakers)
    ease, like = rng.standard_normal((2, speakers))
    scores = rng.standard_normal(tried.size) + like[enrolled] + like[tried]
    return scores + (enrolled == tried) * (2.5 + ease[tried]), enrolled, tried


def test_interval_is_that_of_drawing_copies():
    scores, enrolled, tried = world(np.random.default_rng(0), speakers=8, utterances=2)
    same = enrolled == tried
    found = bootstrap_over_speakers(
        WeightedEER(scores, same), enrolled, tried, draws=200, level=0.9, seed=5
    )
    rng = np.random.default_rng(5)
    rates = []
    for _ in range(200):
        drawn = rng.integers(8, size=8)
        targets = [scores[same & (enrolled == speaker)] for speaker in drawn]
        nontargets = [
            scores[(enrolled == one) & (tried == other)]
            for one in drawn
            for other in drawn
            if one != other
        ]
        rates.append(equal_error_rate(np.concatenate(targets), np.concatenate(nontargets)).rate)
    assert (found.low, found.high) == tuple(np.quantile(rates, [0.05, 0.95]))
    assert found.value == equal_error_rate(scores[same], scores[~same]).rate
    assert (found.level, found.speakers, found.undefined) == (0.9, 8, 0)


def test_width_is_the_spread_over_worlds_and_not_that_over_trials():
    rng = np.random.default_rng(0)
    rates, widths = [], []
    for number in range(150):
        scores, enrolled, tried = world(rng)
        same = enrolled == tried
        rates.append(equal_error_rate(scores[same], scores[~same]).rate)
        if number < 15:
            found = bootstrap_over_speakers(WeightedEER(scores, same), enrolled, tried, draws=100)
            widths.append(found.high - found.low)
    assert np.mean(widths) == pytest.approx(2 * 1.96 * np.std(rates), rel=0.3)
    alone = np.arange(enrolled.size)
    by_trial = bootstrap_over_speakers(WeightedEER(scores, same), alone, alone, draws=100)
    assert by_trial.high - by_trial.low < 0.6 * np.mean(widths)


def test_names_do_as_well_as_numbers_and_seeds_tell():
    scores, enrolled, tried = world(np.random.default_rng(0))
    rate = WeightedEER(scores, enrolled == tried)
    found = bootstrap_over_speakers(rate, enrolled, tried, draws=100)
    names = np.array([f"{number:02}" for number in range(20)])
    assert bootstrap_over_speakers(rate, names[enrolled], names[tried], draws=100) == found
    assert bootstrap_over_speakers(rate, enrolled, tried, draws=100, seed=1) != found


def test_impostors_who_are_never_enrolled_are_drawn_too():
    enrolled = np.zeros(4, dtype=int)
    tried = np.array([0, 1, 2, 3])
    seen = []

    def note(weights):
        seen.append(weights.copy())
        return 0.0

    bootstrap_over_speakers(note, enrolled, tried, draws=100)
    drawn = np.array(seen[1:])
    own = drawn[:, 0]
    assert (seen[0] == 1).all()
    assert (drawn[own == 0] == 0).all()
    # Of the other trials' weights, that is own times how often each impostor was drawn.
    kept = own > 0
    assert (drawn[kept, 1:].sum(axis=1) / own[kept] + own[kept] == 4).all()
    assert own.max() > 1


def test_few_speakers_are_refused():
    scores, enrolled, tried = world(np.random.default_rng(0), speakers=2)
    with pytest.raises(UsageError, match=r"^2 speakers are too few for an interval: \d+ of 100"):
        bootstrap_over_speakers(WeightedEER(scores, enrolled == tried), enrolled, tried, draws=100)


def test_draws_without_a_figure_are_counted():
    calls = iter(range(1000))

    def now_and_then(weights):
        return math.nan if next(calls) % 40 == 1 else 0.5

    found = bootstrap_over_speakers(now_and_then, np.array([0, 1]), np.array([0, 0]), draws=400)
    assert (found.undefined, found.low, found.high) == (10, 0.5, 0.5)


def test_several_figures_have_the_intervals_of_each_alone():
    scores, enrolled, tried = world(np.random.default_rng(0))
    rate = WeightedEER(scores, enrolled == tried)
    calls = iter(range(1000))

    def several(weights):
        rare = math.nan if next(calls) % 10 == 1 else 0.5
        return [rate(weights), math.nan, rare, float(weights.sum())]

    found = intervals_over_speakers(several, enrolled, tried, draws=100)
    wanted = bootstrap_over_speakers(rate, enrolled, tried, draws=100)
    assert found[:3] == (wanted, None, None)
    assert found[3].value == enrolled.size


@pytest.mark.parametrize(
    "settings", [{"draws": 99}, {"level": 0.0}, {"level": 1.0}, {"level": math.nan}]
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(UsageError, match="expected at least 100, at a level between 0 and 1"):
        bootstrap_over_speakers(lambda _: 0.5, np.arange(3), np.arange(3), **settings)


def test_arrays_that_do_not_fit_are_refused():
    with pytest.raises(UsageError, match=r"\(3,\) and \(2,\)"):
        bootstrap_over_speakers(lambda _: 0.5, np.arange(3), np.arange(2))
    with pytest.raises(UsageError, match="is not defined for these trials"):
        bootstrap_over_speakers(lambda _: math.nan, np.arange(3), np.arange(3))
