"""Equal error rates of several trainings, with intervals over speakers, and their differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.corpus.trials import Trials
from sordino.evaluate.metrics.bootstrap import intervals_over_speakers
from sordino.evaluate.metrics.eer import WeightedEER
from sordino.evaluate.results import Measure, Repeated

Scores = npt.NDArray[np.float64]

_NONE = Measure(None)


@dataclass(frozen=True)
class Compared:
    """What a row of a comparison reaches in verification.

    Attributes:
        eer: mean over trainings, each training's own, 0 to 1.
        change: mean difference to the baseline with the same seeds, from the same draws of
            speakers; not known for the baseline.
        relative: that as a part of the baseline's error: -0.06 is 6 % better; likewise.
    """

    eer: Repeated
    change: Repeated
    relative: Measure


def compare_errors(
    scores: Mapping[str, list[Scores]],
    trials: Sequence[Trials],
    *,
    draws: int = 1000,
    seed: int = 0,
) -> dict[str, Compared]:
    """Compare rows with the first by equal error rates, paired by training and by speaker.

    Each draw takes speakers anew and computes every row's mean over trainings from the same
    speakers, so that what rows have in common cancels in differences.

    Args:
        scores: for each row the scores of each training, shape (trials,); the first row is the
            baseline; all rows have as many trainings, the same seeds in the same order.
        trials: of each training, the same for all rows; each list may draw other enrolments of
            the same speakers.
        draws: of speakers, at least 100.
        seed: of the draws.

    Returns:
        Intervals of level 0.95; without ends where there are too few speakers.

    Example:
        >>> from sordino.corpus.trials import Enrolment
        >>> trials = Trials(
        ...     tuple(Enrolment(str(n), str(n), (f"e{n}",)) for n in range(20)),
        ...     tuple(f"t{n}" for n in range(20)), tuple(str(n) for n in range(20)),
        ...     np.repeat(np.arange(20, dtype=np.int32), 20),
        ...     np.tile(np.arange(20, dtype=np.int32), 20))
        >>> noise = np.random.default_rng(0).normal(size=400)
        >>> found = compare_errors({"baseline": [noise + trials.is_target],
        ...     "better": [noise + 2 * trials.is_target]}, [trials], draws=100)
        >>> found["better"].change.mean.high < 0
        True
    """
    rates = {
        name: [WeightedEER(one, its.is_target) for one, its in zip(each, trials, strict=True)]
        for name, each in scores.items()
    }
    names = list(rates)
    ends = np.cumsum([len(its) for its in trials])[:-1]

    def each_of(weights: npt.NDArray[np.int64]) -> dict[str, list[float]]:
        parts = np.split(weights, ends)
        return {
            name: [rate(part) for rate, part in zip(rates[name], parts, strict=True)]
            for name in names
        }

    def means(weights: npt.NDArray[np.int64]) -> list[float]:
        found = [float(np.mean(each)) for each in each_of(weights).values()]
        first = found[0]
        changes = [rate - first for rate in found]
        parts = [change / first if first else np.nan for change in changes]
        return [*found, *changes, *parts]

    # Lists may number speakers differently, but they name them alike.
    enrolled = [np.array([one.speaker for one in its.enrolments])[its.model] for its in trials]
    tried = [np.array(its.speakers)[its.utterance] for its in trials]
    intervals = intervals_over_speakers(
        means, np.concatenate(enrolled), np.concatenate(tried), draws=draws, seed=seed
    )
    everything = np.ones(sum(map(len, trials)), dtype=np.int64)
    values, each = means(everything), each_of(everything)
    measures = [
        Measure(None if np.isnan(value) else value)
        if interval is None
        else Measure(interval.value, interval.low, interval.high)
        for value, interval in zip(values, intervals, strict=True)
    ]
    count = len(names)
    result = {}
    for number, name in enumerate(names):
        paired = [a - b for a, b in zip(each[name], each[names[0]], strict=True)]
        result[name] = Compared(
            Repeated(measures[number], tuple(each[name])),
            Repeated(measures[count + number] if number else _NONE, tuple(paired)),
            measures[2 * count + number] if number else _NONE,
        )
    return result
