"""What guesses tell of an attribute, with intervals over speakers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.evaluate.attributes.attack import Guesses
from sordino.evaluate.attributes.folds import Names
from sordino.evaluate.metrics.attributes import WeightedArea, balanced_accuracy
from sordino.evaluate.metrics.bootstrap import Interval, intervals_over_speakers
from sordino.evaluate.metrics.ordered import Weights
from sordino.evaluate.results import Measure

Float64Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Outcome:
    """Figures of guesses; see `sordino.evaluate.results.AttributeAttack`.

    Attributes:
        auc: max(AUC, 1 - AUC), of pairs in the same fold; None for more than two values.
        balanced_accuracy: mean recall, of the decision by the largest likelihood.
        cllr: mean over the values of what the calibrated likelihoods cost in bits, over the cost
            of knowing nothing; for two values it is Cllr.
        information: lower bound of the mutual information in bits, H(A) - cross-entropy.
    """

    auc: Measure | None
    balanced_accuracy: Measure
    cllr: Measure
    information: Measure


def measure_guesses(
    labels: IntArray,
    guesses: Guesses,
    speakers: Names,
    folds: IntArray | None = None,
    *,
    draws: int = 1000,
    seed: int = 0,
) -> Outcome:
    """All figures of guesses.

    The AUC compares vectors only with those of the same fold, since scores of attackers who were
    trained on different speakers are on different scales, which would blur what each of them knows.
    The interval of the AUC is that of max(a, 1 - a) for all a in the interval of the area itself,
    so that it starts at 0.5 where a guess is within it. Intervals draw the speakers who were
    guessed; that attackers trained on others would differ too is not in them.

    Args:
        labels: true values, numbers of columns of the guesses; at least two occur, shape (n,).
        guesses: of vectors of speakers whom the attacker was not trained on.
        speakers: shape (n,).
        folds: a number for the attacker whose guess each is, shape (n,); by default there is one.
        draws: of speakers, at least 100.
        seed: of the draws.

    Raises:
        UsageError: the shapes do not fit, or there are fewer draws than 100.

    Example:
        >>> sure = np.log([[0.9, 0.1], [0.1, 0.9], [0.9, 0.1], [0.1, 0.9]])
        >>> people = np.array(["ann", "bob", "cem", "eve"])
        >>> found = measure_guesses(np.array([0, 1, 0, 1]), Guesses(sure, sure), people)
        >>> found.auc.value, found.balanced_accuracy.value, round(found.cllr.value, 3)
        (1.0, 1.0, 0.152)
    """
    figures = _Figures(labels, guesses, np.zeros_like(labels) if folds is None else folds)
    area, accuracy, cost, bits = (
        _measure(interval, value)
        for interval, value in zip(
            intervals_over_speakers(figures, speakers, speakers, draws=draws, seed=seed),
            figures(np.ones(labels.size, dtype=np.int64)),
            strict=True,
        )
    )
    return Outcome(
        None if guesses.log_likelihoods.shape[1] > 2 else either_way(area),
        accuracy,
        cost,
        _from_0(bits),
    )


def either_way(area: Measure) -> Measure:
    """max(a, 1 - a) of an area and of its interval.

    Args:
        area: under the ROC, 0 to 1.

    Example:
        >>> either_way(Measure(0.25, 0.125, 0.375)), either_way(Measure(0.5, 0.375, 0.75))
        (Measure(value=0.75, low=0.625, high=0.875), Measure(value=0.5, low=0.5, high=0.75))
    """
    assert area.value is not None
    value = max(area.value, 1 - area.value)
    if area.low is None or area.high is None:
        return Measure(value)
    away = [abs(end - 0.5) for end in (area.low, area.high)]
    inside = area.low <= 0.5 <= area.high
    return Measure(value, 0.5 if inside else 0.5 + min(away), 0.5 + max(away))


class _Figures:
    """Area, balanced accuracy, cost and information of weighted guesses."""

    def __init__(self, labels: IntArray, guesses: Guesses, folds: IntArray) -> None:
        likelihoods, posteriors = guesses.log_likelihoods, guesses.log_posteriors
        self._labels = labels
        self._values = likelihoods.shape[1]
        self._decisions = likelihoods.argmax(axis=1)
        rows = np.arange(labels.size)
        self._costs = -likelihoods[rows, labels] / math.log(2)
        self._left = -posteriors[rows, labels] / math.log(2)
        self._area = None
        if self._values == 2:
            self._area = AreaWithinFolds(likelihoods[:, 1] - likelihoods[:, 0], labels == 1, folds)

    def __call__(self, weights: Weights) -> Sequence[float]:
        counts = np.bincount(self._labels, weights, self._values)
        met = counts > 0
        if met.sum() < min(2, self._values):
            return [math.nan] * 4
        sums = np.bincount(self._labels, weights * self._costs, self._values)
        shares = counts[met] / counts.sum()
        entropy = -float(shares @ np.log2(shares))
        return [
            math.nan if self._area is None else self._area(weights),
            balanced_accuracy(self._labels, self._decisions, weights),
            float(np.mean(sums[met] / counts[met])) / math.log2(self._values),
            entropy - float(weights @ self._left) / float(counts.sum()),
        ]


class AreaWithinFolds:
    """The share of pairs in the right order, of all pairs of the same fold.

    Args:
        scores: higher for a positive, shape (n,).
        is_positive: shape (n,).
        folds: a number for the attacker who gave each score, shape (n,).

    Example:
        >>> right = np.array([False, True, False, True])
        >>> area = AreaWithinFolds(np.array([1.0, 2.0, 7.0, 8.0]), right, np.array([0, 0, 1, 1]))
        >>> area(np.ones(4, dtype=np.int64))
        1.0
    """

    def __init__(
        self, scores: Float64Array, is_positive: npt.NDArray[np.bool_], folds: IntArray
    ) -> None:
        self._parts = []
        for fold in np.unique(folds):
            rows = np.flatnonzero(folds == fold)
            positive = is_positive[rows]
            if positive.any() and not positive.all():
                self._parts.append((rows, positive, WeightedArea(scores[rows], positive)))

    def __call__(self, weights: Weights) -> float:
        """The area with each vector counted so many times; NaN where there is no pair.

        Args:
            weights: whole numbers from 0, shape (n,).
        """
        right = pairs = 0.0
        for rows, positive, area in self._parts:
            own = weights[rows]
            count = float(own[positive].sum()) * float(own[~positive].sum())
            if count:
                right += count * area(own)
                pairs += count
        return right / pairs if pairs else math.nan


def _measure(interval: Interval | None, value: float) -> Measure:
    return Measure(value) if interval is None else Measure.of(interval)


def _from_0(measure: Measure) -> Measure:
    value, low, high = (
        None if number is None else max(0.0, number)
        for number in (measure.value, measure.low, measure.high)
    )
    return Measure(value, low, high)
