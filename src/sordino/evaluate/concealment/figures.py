"""Figures of several trainings, with intervals over speakers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.evaluate.attributes.outcome import AreaWithinFolds
from sordino.evaluate.metrics.attributes import balanced_accuracy
from sordino.evaluate.metrics.bootstrap import intervals_over_speakers
from sordino.evaluate.metrics.eer import WeightedEER
from sordino.evaluate.metrics.ordered import Weights
from sordino.evaluate.privacy import FEWEST_DRAWS, MOST_WORK
from sordino.evaluate.results import Measure, Repeated

Float64Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Statistic = Callable[[Weights], float]


@dataclass(frozen=True, eq=False)
class Attacked:
    """The vectors whose attribute is guessed.

    Attributes:
        labels: numbers of their values, shape (n,).
        values: how many values there are.
        speakers: whose they are, shape (n,).
        folds: a number for the attacker who guesses each, shape (n,).
    """

    labels: IntArray
    values: int
    speakers: npt.NDArray[np.str_]
    folds: IntArray


def guessing_figure(
    scores: Sequence[Float64Array], attacked: Attacked, draws: int, seed: int
) -> Repeated:
    """How well an attacker guesses, over all trainings.

    For two values it is the area under the ROC within folds. An area below 0.5 tells as much as
    one above: scores are turned round where a whole interval is below 0.5, that of all trainings
    together and then that of each. Turning wherever it helps would make several trainings that
    tell nothing seem to tell a little.

    Args:
        scores: of each training, shape (n, values).
        attacked: what they are of.
        draws: of speakers, at least 100.
        seed: of the draws.

    Example:
        >>> labels, people = np.arange(40) % 2, np.arange(40).astype(str)
        >>> about = Attacked(labels, 2, people, np.zeros(40, dtype=np.int64))
        >>> right = np.stack([1 - labels, labels], axis=1).astype(float)
        >>> guessing_figure([right, -right], about, 100, 0).each
        (1.0, 1.0)
    """

    def over_speakers(figures: Sequence[Statistic]) -> Repeated:
        return repeated(figures, attacked.speakers, attacked.speakers, draws, seed)

    if attacked.values > 2:
        return over_speakers([_recall(given, attacked) for given in scores])

    def surely_below(figures: Sequence[Statistic]) -> bool:
        everybody = np.ones(attacked.labels.size, dtype=np.int64)
        if not np.mean([figure(everybody) for figure in figures]) < 0.5:
            return False
        high = over_speakers(figures).mean.high
        return high is not None and high < 0.5

    areas = [_area(given, attacked) for given in scores]
    if surely_below(areas):
        areas = [_turned(area) for area in areas]
    return over_speakers([_turned(area) if surely_below([area]) else area for area in areas])


def verification_figure(
    scores: Sequence[npt.NDArray[np.floating]],
    is_target: npt.NDArray[np.bool_],
    speakers: tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]],
    draws: int,
    seed: int,
) -> Repeated:
    """The equal error rate over all trainings.

    Args:
        scores: of each training, shape (trials,).
        is_target: shape (trials,).
        speakers: numbers of those who are enrolled and of those who are tried, (trials,) each.
        draws: of speakers; fewer are drawn where trials are very many.
        seed: of the draws.
    """
    figures = [WeightedEER(given, is_target) for given in scores]
    return repeated(figures, *speakers, draws, seed)


def repeated(
    figures: Sequence[Statistic],
    enrolled: npt.NDArray[np.generic],
    tried: npt.NDArray[np.generic],
    draws: int,
    seed: int,
) -> Repeated:
    """The mean of a figure over trainings; each draw of speakers is the same for all of them.

    Args:
        figures: of each training, as a function of weights, shape (trials,).
        enrolled: who is enrolled in each trial, shape (trials,).
        tried: who is tried, shape (trials,).
        draws: of speakers.
        seed: of the draws.

    Example:
        >>> people = np.arange(40)
        >>> heights = [np.linspace(0, 1, 40), np.linspace(1, 2, 40)]
        >>> found = repeated([lambda w, h=h: w @ h / w.sum() for h in heights], people, people,
        ...                  200, 0)
        >>> round(found.mean.value, 6), [round(value, 6) for value in found.each]
        (1.0, [0.5, 1.5])
    """
    everybody = np.ones(enrolled.size, dtype=np.int64)
    each = tuple(float(figure(everybody)) for figure in figures)
    value = float(np.mean(each))
    if math.isnan(value):
        return Repeated(Measure(None), ())
    count = min(draws, MOST_WORK // (enrolled.size * len(figures)))
    if count < FEWEST_DRAWS:
        return Repeated(Measure(value), each)

    def mean(weights: Weights) -> Sequence[float]:
        return [float(np.mean([figure(weights) for figure in figures]))]

    (interval,) = intervals_over_speakers(mean, enrolled, tried, draws=count, seed=seed)
    if interval is None:
        return Repeated(Measure(value), each)
    return Repeated(Measure(value, interval.low, interval.high), each)


def _recall(scores: Float64Array, attacked: Attacked) -> Statistic:
    decisions = scores.argmax(axis=1)
    return lambda weights: balanced_accuracy(attacked.labels, decisions, weights)


def _area(scores: Float64Array, attacked: Attacked) -> Statistic:
    ratios = scores[:, 1] - scores[:, 0]
    return AreaWithinFolds(ratios, attacked.labels == 1, attacked.folds)


def _turned(area: Statistic) -> Statistic:
    return lambda weights: 1 - area(weights)
