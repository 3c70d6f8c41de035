"""How well scores tell speakers apart: every figure of it, with intervals over speakers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sordino.corpus.trials import Trials
from sordino.errors import UsageError
from sordino.evaluate.metrics.bootstrap import intervals_over_speakers
from sordino.evaluate.metrics.cllr import WeightedCllr, cllr, least_cost
from sordino.evaluate.metrics.det import det_points
from sordino.evaluate.metrics.eer import WeightedEER, equal_error_rate
from sordino.evaluate.metrics.hull import hull_detection_cost, hull_equal_error_rate
from sordino.evaluate.metrics.linkability import WeightedLinkability, linkability
from sordino.evaluate.metrics.ordered import Weights
from sordino.evaluate.metrics.pav import WeightedCalibration, optimal_calibration
from sordino.evaluate.metrics.scores import Scores, finite_scores
from sordino.evaluate.metrics.zebra import disclosure_of, expected_disclosure
from sordino.evaluate.results import Histogram, Measure, Privacy

IntArray = npt.NDArray[np.integer]
BoolArray = npt.NDArray[np.bool_]

MOST_WORK = 400_000_000
"""The most trials times draws for an interval; with more trials there are fewer draws."""

FEWEST_DRAWS = 100
"""With fewer draws there is no interval."""

# The other figures take some times as long as the equal error rate.
_DETAIL_WORK = MOST_WORK // 4
_BINS = 60


def measure(
    scores: npt.ArrayLike,
    trials: Trials,
    *,
    ratios: bool = False,
    draws: int = 1000,
    seed: int = 0,
    detail: bool = True,
) -> Privacy:
    """All figures of the scores of a list of trials.

    Infinite scores count as what they are: above or below all others. Where trials are so many
    that the draws of an interval would exceed `MOST_WORK`, fewer are drawn; below `FEWEST_DRAWS`,
    or where speakers are too few, a figure has no interval (`why_no_interval`).

    Args:
        scores: higher where the speaker is more likely the enrolled one, shape (trials,).
        trials: what each score is of.
        ratios: whether the scores are log-likelihood ratios (natural logarithm), so that they have
            a Cllr.
        draws: of speakers, for the intervals, at least 100.
        seed: of the draws.
        detail: intervals of all figures and not only of the equal error rate.

    Raises:
        UsageError: there are no targets or no non-targets, a score is missing, too many or NaN, or
            there are fewer draws than 100.

    Example:
        >>> from sordino.corpus.trials import Enrolment
        >>> trials = Trials(
        ...     (Enrolment("ann", "ann", ("a1",)),),
        ...     ("a2", "b1"),
        ...     ("ann", "bob"),
        ...     np.array([0, 0], dtype=np.int32),
        ...     np.array([0, 1], dtype=np.int32),
        ... )
        >>> measure([0.9, 0.2], trials).eer
        Measure(value=0.0, low=None, high=None)
    """
    return measure_labelled(
        checked_scores(scores, trials),
        trials.is_target,
        (trials.enrolled, trials.tried),
        ratios=ratios,
        draws=draws,
        seed=seed,
        detail=detail,
    )


def measure_labelled(
    scores: Scores,
    is_target: BoolArray,
    speakers: tuple[IntArray, IntArray] | None = None,
    *,
    ratios: bool = False,
    draws: int = 1000,
    seed: int = 0,
    detail: bool = True,
) -> Privacy:
    """As `measure`, where there is no list of trials.

    Args:
        scores: shape (trials,).
        is_target: whether each is of the enrolled speaker, shape (trials,).
        speakers: numbers of the enrolled speakers and of those who are tried, shape (trials,)
            each; None where they are not known, and there are no intervals.
        ratios: as for `measure`.
        draws: as for `measure`.
        seed: as for `measure`.
        detail: as for `measure`.

    Raises:
        UsageError: as for `measure`.

    Example:
        >>> found = measure_labelled(np.array([2.0, 1.0]), np.array([True, False]))
        >>> found.targets, found.nontargets, found.speakers, found.category
        (1, 1, 0, 'A')
    """
    if draws < FEWEST_DRAWS:
        raise UsageError(f"{draws} draws are too few for an interval: at least {FEWEST_DRAWS}")
    own, others = scores[is_target], scores[~is_target]
    privacy = measure_lists(own, others, ratios=ratios)
    if speakers is None:
        return privacy
    privacy = replace(privacy, speakers=int(np.unique(np.concatenate(speakers)).size))
    # In the order of their scores, weights are split in one sweep through memory.
    order = np.argsort(scores, kind="stable")
    (finite,) = finite_scores(scores[order])
    is_target = is_target[order]
    enrolled, tried = (numbers[order] for numbers in speakers)

    def with_intervals(part: Privacy, figures: _Rate | _Details, count: int) -> Privacy:
        found = intervals_over_speakers(figures, enrolled, tried, draws=count, seed=seed)
        changed = {
            name: replace(getattr(part, name), low=interval.low, high=interval.high)
            for name, interval in zip(figures.names, found, strict=True)
            if interval is not None
        }
        return replace(part, **changed)

    count = min(draws, MOST_WORK // scores.size)
    if count >= FEWEST_DRAWS:
        privacy = with_intervals(privacy, _Rate(finite, is_target), count)
    count = min(draws, _DETAIL_WORK // scores.size)
    if detail and count >= FEWEST_DRAWS:
        figures = _Details(finite, is_target, ratios and bool(np.isfinite(scores).all()))
        privacy = with_intervals(privacy, figures, count)
    return privacy


def measure_lists(
    targets: npt.ArrayLike, nontargets: npt.ArrayLike, *, ratios: bool = False
) -> Privacy:
    """All figures of two lists of scores, without intervals since nobody says who speaks.

    Args:
        targets: scores of trials of the enrolled speaker, shape (targets,).
        nontargets: scores of trials of others, shape (nontargets,).
        ratios: as for `measure`.

    Raises:
        UsageError: a list is empty or holds NaN.

    Example:
        >>> found = measure_lists([1.0, 3.0, np.inf], [0.0, 2.0, -np.inf])
        >>> round(found.eer.value, 3), found.cllr, found.speakers
        (0.333, None, 0)
    """
    own, others = (
        _ordered(kind, values) for kind, values in (("target", targets), ("non-target", nontargets))
    )
    cost = Measure(_cost(own, others)) if ratios else None
    histogram = _histogram(own, others)
    own, others = finite_scores(own, others)
    steps = optimal_calibration(own, others)
    disclosed = disclosure_of(steps)
    return Privacy(
        targets=own.size,
        nontargets=others.size,
        speakers=0,
        eer=Measure(equal_error_rate(own, others).rate),
        eer_hull=Measure(hull_equal_error_rate(steps)),
        min_dcf=Measure(hull_detection_cost(steps)),
        cllr=cost,
        min_cllr=Measure(least_cost(steps)),
        linkability=Measure(linkability(own, others).system),
        disclosure=Measure(disclosed.expected),
        worst=disclosed.worst,
        category=disclosed.category,
        det=det_points(own, others),
        histogram=histogram,
    )


def why_no_interval(privacy: Privacy) -> str:
    """Why an equal error rate has no interval, as a sentence; empty where it has one.

    Example:
        >>> why_no_interval(measure_lists([1.0], [0.0]))
        'There are no intervals, since it is not known who speaks.'
    """
    if privacy.eer.low is not None:
        return ""
    if not privacy.speakers:
        return "There are no intervals, since it is not known who speaks."
    trials = privacy.targets + privacy.nontargets
    if trials * FEWEST_DRAWS > MOST_WORK:
        return f"There are no intervals, since there are so many trials: {trials:,}."
    return f"There are no intervals, since {privacy.speakers} speakers are too few to draw from."


def checked_scores(scores: npt.ArrayLike, trials: Trials) -> Scores:
    """The scores as floating-point numbers, one for each trial.

    Args:
        scores: shape (trials,).
        trials: what each is of.

    Raises:
        UsageError: there are more or fewer than trials, or one is NaN; the message names it.
    """
    values = np.asarray(scores)
    if values.shape != (len(trials),):
        raise UsageError(
            f"the scores have shape {values.shape}; expected ({len(trials)},), one for each trial"
        )
    if not np.issubdtype(values.dtype, np.floating):
        values = values.astype(np.float64)
    missing = np.isnan(values)
    if missing.any():
        at = int(missing.argmax())
        raise UsageError(
            f"{int(missing.sum())} of {values.size} scores are NaN; the first is that of utterance"
            f" {trials.utterances[trials.utterance[at]]} against"
            f" {trials.enrolments[trials.model[at]].model}"
        )
    return values


class _Rate:
    """The equal error rate of weighted trials."""

    names = ("eer",)

    def __init__(self, scores: Scores, is_target: BoolArray) -> None:
        self._rate = WeightedEER(scores, is_target)

    def __call__(self, weights: Weights) -> Sequence[float]:
        return [self._rate(weights)]


class _Details:
    """The other figures of weighted trials."""

    names: tuple[str, ...] = ("eer_hull", "min_dcf", "min_cllr", "disclosure", "linkability")

    def __init__(self, scores: Scores, is_target: BoolArray, ratios: bool) -> None:
        self._calibration = WeightedCalibration(scores, is_target)
        self._linkability = WeightedLinkability(scores, is_target)
        self._cost = WeightedCllr(scores, is_target) if ratios else None
        if ratios:
            self.names = (*self.names, "cllr")

    def __call__(self, weights: Weights) -> Sequence[float]:
        steps = self._calibration(weights)
        if steps is None:
            return [math.nan] * len(self.names)
        return [
            hull_equal_error_rate(steps),
            hull_detection_cost(steps),
            least_cost(steps),
            expected_disclosure(steps),
            self._linkability(weights),
            *([self._cost(weights)] if self._cost else []),
        ]


def _ordered(kind: str, values: npt.ArrayLike) -> Scores:
    array = np.asarray(values)
    if array.ndim != 1:
        raise UsageError(f"the {kind} scores have shape {array.shape}; expected (trials,)")
    if not array.size:
        raise UsageError(f"there are no {kind} trials; an error rate needs targets and non-targets")
    if not np.issubdtype(array.dtype, np.floating):
        array = array.astype(np.float64)
    ordered = np.sort(array)
    # NaN sorts last.
    if np.isnan(ordered[-1]):
        raise UsageError(f"{int(np.isnan(ordered).sum())} of the {kind} scores are NaN")
    return ordered


def _cost(own: Scores, others: Scores) -> float:
    """Cllr; a ratio that is sure costs nothing where it is right, without limit where it is not."""
    if own[0] == -np.inf or others[-1] == np.inf:
        return math.inf
    return cllr(
        np.minimum(own, np.finfo(own.dtype).max), np.maximum(others, np.finfo(others.dtype).min)
    )


def _histogram(own: Scores, others: Scores) -> Histogram:
    ends = [end for scores in (own, others) for end in _finite_ends(scores)]
    low, high = (min(ends), max(ends)) if ends else (0.0, 0.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    # Halves, since the whole width may be too large a number.
    edges = 2 * np.linspace(low / 2, high / 2, _BINS + 1)
    counts = [
        np.diff(np.searchsorted(scores, edges[1:-1]), prepend=0, append=scores.size)
        for scores in (own, others)
    ]
    return Histogram(tuple(edges.tolist()), *(tuple(count.tolist()) for count in counts))


def _finite_ends(ordered: Scores) -> list[float]:
    first = int(np.searchsorted(ordered, -np.inf, "right"))
    last = int(np.searchsorted(ordered, np.inf)) - 1
    return [float(ordered[first]), float(ordered[last])] if first <= last else []
