"""How far a figure would vary with other speakers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError

Statistic = Callable[[npt.NDArray[np.int64]], float]
"""A figure of trials that each count as often as a weight says, shape (trials,); NaN where the
weights leave too little for it."""

Statistics = Callable[[npt.NDArray[np.int64]], Sequence[float]]
"""Several such figures."""

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
    (found,) = _intervals(lambda weights: [statistic(weights)], enrolled, tried, draws, level, seed)
    if np.isnan(found.value):
        raise UsageError("the figure is not defined for these trials")
    if found.undefined > _MOST_UNDEFINED * draws:
        raise UsageError(
            f"{found.speakers} speakers are too few for an interval:"
            f" {found.undefined} of {draws} draws have no target or no non-target"
        )
    return found


def intervals_over_speakers(
    statistic: Statistics,
    enrolled: npt.NDArray[np.generic],
    tried: npt.NDArray[np.generic],
    *,
    draws: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[Interval | None, ...]:
    """Intervals of several figures from the same draws; see `bootstrap_over_speakers`.

    Args:
        statistic: the figures, as a function of weights, always as many.
        enrolled: as for `bootstrap_over_speakers`.
        tried: the same.
        draws: the same.
        level: the same.
        seed: the same.

    Returns:
        An interval for each figure; None where it is not defined for the trials as they are, or
        where there are too few speakers.

    Raises:
        UsageError: a number is out of range or the shapes differ.

    Example:
        >>> from sordino.evaluate.metrics.eer import WeightedEER
        >>> enrolled, tried = np.divmod(np.arange(20 * 20), 20)
        >>> rate = WeightedEER(np.arange(400.0), enrolled == tried)
        >>> first, second = intervals_over_speakers(
        ...     lambda weights: [rate(weights), np.nan], enrolled, tried, draws=100
        ... )
        >>> first.low < first.value < first.high, second is None
        (True, True)
    """
    found = _intervals(statistic, enrolled, tried, draws, level, seed)
    return tuple(
        None
        if np.isnan(interval.value) or interval.undefined > _MOST_UNDEFINED * draws
        else interval
        for interval in found
    )


def _intervals(
    statistic: Statistics,
    enrolled: npt.NDArray[np.generic],
    tried: npt.NDArray[np.generic],
    draws: int,
    level: float,
    seed: int,
) -> list[Interval]:
    if draws < 100 or not 0 < level < 1:
        raise UsageError(
            f"{draws} draws at level {level}: expected at least 100, at a level between 0 and 1"
        )
    if enrolled.ndim != 1 or enrolled.shape != tried.shape:
        raise UsageError(
            f"speakers have shapes {enrolled.shape} and {tried.shape}; expected (trials,) twice"
        )
    names, numbers = np.unique(np.concatenate([enrolled, tried]), return_inverse=True)
    codes = numbers[: enrolled.size] * names.size + numbers[enrolled.size :]
    # Far fewer pairs of speakers than trials, mostly.
    pairs, pair = np.unique(codes, return_inverse=True)
    first, second = np.divmod(pairs, names.size)
    alone = first == second
    given = statistic(np.ones(enrolled.size, dtype=np.int64))

    rng = np.random.default_rng(seed)
    values = np.empty((draws, len(given)))
    for draw in range(draws):
        drawn = np.bincount(rng.integers(names.size, size=names.size), minlength=names.size)
        counts = drawn[first] * np.where(alone, 1, drawn[second])
        values[draw] = statistic(counts[pair])
    intervals = []
    for value, drawn_values in zip(given, values.T, strict=True):
        defined = drawn_values[~np.isnan(drawn_values)]
        low, high = np.nan, np.nan
        if defined.size:
            low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
        intervals.append(
            Interval(float(value), float(low), float(high), level, names.size, draws - defined.size)
        )
    return intervals
