"""How far a figure would vary with other speakers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError

Statistic = Callable[[npt.NDArray[np.int64]], float]
"""A figure of trials that each count as often as a weight says, shape (trials,); NaN where the
weights leave too little for it."""

# Where more draws than this lack a target or a non-target there are too few speakers.
_MOST_UNDEFINED = 0.05


@dataclass(frozen=True)
class Interval:
    """A figure and how sure it is.

    Attributes:
        value: the figure of the trials as they are.
        low: lower end of the interval.
        high: upper end.
        level: how often such an interval should hold the true figure, between 0 and 1.
        speakers: how many speakers were drawn from.
        undefined: draws that had no target or no non-target and do not count.
    """

    value: float
    low: float
    high: float
    level: float
    speakers: int
    undefined: int


def bootstrap_over_speakers(
    statistic: Statistic,
    enrolled: npt.NDArray[np.generic],
    tried: npt.NDArray[np.generic],
    *,
    draws: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """A percentile interval from drawing speakers anew.

    Trials of one speaker are alike, so that drawing trials would give intervals far too small.
    Each draw takes as many speakers as there are, with replacement. A trial between two speakers
    counts as often as the product of how often each was drawn; a trial of a speaker against
    himself as often as he was drawn, since two copies of a speaker are two people who are never
    tried against each other. This is the bootstrap of vertices for data on pairs (T. Snijders and
    S. Borgatti, "Non-parametric standard errors and tests for network statistics", Connections
    22(2), 1999); for verification scores see also N. Poh and S. Bengio, "Performance
    generalization in biometric authentication using joint user-specific and sample bootstraps",
    IEEE TPAMI 29(3), 2007.

    Args:
        statistic: the figure, as a function of weights, such as `WeightedEER`.
        enrolled: who is enrolled in each trial (a name or a number), shape (trials,).
        tried: who speaks in each trial, in the same names or numbers, shape (trials,).
        draws: how many times speakers are drawn, at least 100.
        level: of the interval, between 0 and 1.
        seed: of the draws.

    Raises:
        UsageError: a number is out of range, the shapes differ, the figure is not defined for the
            trials as they are, or there are too few speakers: more than 1 draw in 20 has no target
            or no non-target.

    Example:
        >>> from sordino.evaluate.metrics.eer import WeightedEER
        >>> rng = np.random.default_rng(1)
        >>> enrolled, tried = np.divmod(np.arange(20 * 20), 20)
        >>> is_target = enrolled == tried
        >>> scores = rng.standard_normal(400) + 2 * is_target
        >>> eer = bootstrap_over_speakers(WeightedEER(scores, is_target), enrolled, tried)
        >>> eer.low < eer.value < eer.high
        True
    """
    if draws < 100 or not 0 < level < 1:
        raise UsageError(
            f"{draws} draws at level {level}: expected at least 100, at a level between 0 and 1"
        )
    if enrolled.ndim != 1 or enrolled.shape != tried.shape:
        raise UsageError(
            f"speakers have shapes {enrolled.shape} and {tried.shape}; expected (trials,) twice"
        )
    names, numbers = np.unique(np.concatenate([enrolled, tried]), return_inverse=True)
    first, second = numbers[: enrolled.size], numbers[enrolled.size :]
    others = np.flatnonzero(first != second)
    first_of_others, second_of_others = first[others], second[others]
    value = statistic(np.ones(enrolled.size, dtype=np.int64))
    if np.isnan(value):
        raise UsageError("the figure is not defined for these trials")

    rng = np.random.default_rng(seed)
    values = np.empty(draws)
    for draw in range(draws):
        drawn = np.bincount(rng.integers(names.size, size=names.size), minlength=names.size)
        weights = drawn[first]
        weights[others] = drawn[first_of_others] * drawn[second_of_others]
        values[draw] = statistic(weights)
    defined = values[~np.isnan(values)]
    undefined = draws - defined.size
    if undefined > _MOST_UNDEFINED * draws:
        raise UsageError(
            f"{names.size} speakers are too few for an interval:"
            f" {undefined} of {draws} draws have no target or no non-target"
        )
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high), level, int(names.size), undefined)
