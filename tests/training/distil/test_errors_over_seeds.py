"""Error rates over trainings and their differences."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_curve

from sordino.corpus.trials import Enrolment, Trials
from sordino.training.distil.errors_over_seeds import compare_errors

SPEAKERS = 30


@pytest.fixture(scope="module")
def trials() -> Trials:
    names = [str(number) for number in range(SPEAKERS)]
    return Trials(
        tuple(Enrolment(name, name, (f"e{name}",)) for name in names),
        tuple(f"t{name}" for name in names),
        tuple(names),
        np.repeat(np.arange(SPEAKERS, dtype=np.int32), SPEAKERS),
        np.tile(np.arange(SPEAKERS, dtype=np.int32), SPEAKERS),
    )


def _scores(trials: Trials, gap: float, seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=len(trials))
    return np.asarray(noise + gap * trials.is_target)


def _by_sklearn(trials: Trials, scores: np.ndarray) -> float:
    alarms, hits, _ = roc_curve(trials.is_target, scores, drop_intermediate=False)
    return float(np.interp(0.0, 1 - hits[::-1] - alarms[::-1], alarms[::-1]))


def test_rates_are_those_of_the_roc(trials: Trials) -> None:
    scores = {"baseline": [_scores(trials, 1.0, seed) for seed in range(3)]}
    found = compare_errors(scores, [trials] * 3, draws=100)["baseline"]
    each = [_by_sklearn(trials, one) for one in scores["baseline"]]
    assert found.eer.each == pytest.approx(each, abs=1e-9)
    assert found.eer.mean.value == pytest.approx(np.mean(each))
    assert found.change.mean.value is None


def test_what_rows_have_in_common_cancels(trials: Trials) -> None:
    # The better row differs in little: alone its interval holds the baseline, paired it does not.
    base = [_scores(trials, 1.0, seed) for seed in range(3)]
    better = [one + 0.15 * trials.is_target for one in base]
    found = compare_errors({"baseline": base, "better": better}, [trials] * 3, draws=200)
    assert found["better"].eer.mean.high is not None
    assert found["baseline"].eer.mean.value is not None
    assert found["better"].eer.mean.high > found["baseline"].eer.mean.value
    change = found["better"].change
    assert change.mean.high is not None
    assert change.mean.high < 0
    assert change.each == pytest.approx(
        [
            _by_sklearn(trials, new) - _by_sklearn(trials, old)
            for new, old in zip(better, base, strict=True)
        ],
        abs=1e-9,
    )
    relative = found["better"].relative.value
    assert relative is not None
    assert change.mean.value is not None
    assert relative == pytest.approx(change.mean.value / found["baseline"].eer.mean.value)


def test_the_same_row_differs_by_nothing(trials: Trials) -> None:
    base = [_scores(trials, 1.0, 0)]
    change = compare_errors({"a": base, "b": base}, [trials], draws=100)["b"].change.mean
    assert (change.value, change.low, change.high) == (0, 0, 0)


def test_each_training_may_have_trials_of_its_own(trials: Trials) -> None:
    # The same trials in another order, with speakers numbered in another way.
    order = np.random.default_rng(0).permutation(SPEAKERS)
    other = Trials(
        tuple(trials.enrolments[place] for place in order),
        trials.utterances,
        trials.speakers,
        trials.model,
        trials.utterance,
    )
    scores = _scores(trials, 1.0, 0)
    moved = scores.reshape(SPEAKERS, SPEAKERS)[order].ravel()
    both = compare_errors({"a": [scores, moved]}, [trials, other], draws=100)["a"].eer
    once = compare_errors({"a": [scores]}, [trials], draws=100)["a"].eer
    assert both.mean == once.mean
