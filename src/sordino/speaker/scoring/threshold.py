"""Thresholds: from which score on a trial is accepted. A trial is accepted at or above it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.speaker.scoring.checks import as_scores


def threshold_for_false_accepts(
    nontargets: npt.ArrayLike, rate: float, *, least: int = 10
) -> float:
    """The lowest threshold that accepts no more than a share of these non-targets.

    Args:
        nontargets: scores of trials of other speakers, of the kind to protect from.
        rate: the share that may be accepted, in (0, 1).
        least: how many false accepts that share has to be, at least 1. The true rate then lies
            within about 2 / sqrt(least) of the share, relative to it, if the trials are
            independent; 30 is a widespread rule, 1 gives no more than an order of magnitude.

    Returns:
        A threshold for `score >= threshold`, exact in the scores' own precision.

    Raises:
        UsageError: there are too few scores for the rate; the message tells how many are needed.

    Example:
        >>> scores = np.arange(1000.0)
        >>> threshold = threshold_for_false_accepts(scores, 0.01)
        >>> int((scores >= threshold).sum()), bool(threshold > 989.0)
        (10, True)
    """
    scores = as_scores(nontargets, "non-target scores")
    allowed = _allowed(scores.size, rate, least, "non-target")
    # Just above the highest score that has to be refused, and so above all its equals.
    place = scores.size - 1 - allowed
    refused = np.partition(scores, place)[place]
    return float(np.nextafter(refused, refused.dtype.type(np.inf)))


def threshold_for_false_rejects(targets: npt.ArrayLike, rate: float, *, least: int = 10) -> float:
    """The highest threshold that refuses no more than a share of these targets.

    Args:
        targets: scores of trials of the enrolled speakers.
        rate: the share that may be refused, in (0, 1).
        least: how many false rejects that share has to be, at least 1; as in
            `threshold_for_false_accepts`.

    Returns:
        A threshold for `score >= threshold`.

    Raises:
        UsageError: there are too few scores for the rate; the message tells how many are needed.

    Example:
        >>> threshold_for_false_rejects(np.arange(1000.0), 0.01)
        10.0
    """
    scores = as_scores(targets, "target scores")
    allowed = _allowed(scores.size, rate, least, "target")
    return float(np.partition(scores, allowed)[allowed])


def bayes_threshold(
    target_prior: float, *, miss_cost: float = 1.0, false_accept_cost: float = 1.0
) -> float:
    """The threshold of least expected cost for calibrated log-likelihood ratios, in nats.

    Args:
        target_prior: how often a trial is of the enrolled speaker, in (0, 1).
        miss_cost: what a refused target costs, above 0.
        false_accept_cost: what an accepted non-target costs, above 0.

    Raises:
        UsageError: a value is out of range.

    Example:
        >>> round(bayes_threshold(0.01), 3)
        4.595
    """
    prior = effective_prior(target_prior, miss_cost=miss_cost, false_accept_cost=false_accept_cost)
    return math.log1p(-prior) - math.log(prior)


def effective_prior(
    target_prior: float, *, miss_cost: float = 1.0, false_accept_cost: float = 1.0
) -> float:
    """The prior that with equal costs leads to the same decisions, in (0, 1).

    Args:
        target_prior: how often a trial is of the enrolled speaker, in (0, 1).
        miss_cost: what a refused target costs, above 0.
        false_accept_cost: what an accepted non-target costs, above 0.

    Raises:
        UsageError: a value is out of range.

    Example:
        >>> round(effective_prior(0.01, miss_cost=10), 4)
        0.0917
    """
    if not 0.0 < target_prior < 1.0:
        raise UsageError(f"the prior {target_prior:g} is outside 0 to 1")
    if not (0.0 < miss_cost < math.inf and 0.0 < false_accept_cost < math.inf):
        raise UsageError("costs have to be above 0 and finite")
    missed, accepted = target_prior * miss_cost, (1.0 - target_prior) * false_accept_cost
    return missed / (missed + accepted)


def _allowed(count: int, rate: float, least: int, kind: str) -> int:
    if not 0.0 < rate < 1.0:
        raise UsageError(f"the rate {rate:g} is outside 0 to 1")
    if least < 1:
        raise UsageError(f"least is {least}; at least one error has to be seen")
    allowed = _errors(count, rate)
    if allowed < least:
        needed = math.ceil(least / rate)
        while _errors(needed, rate) < least:
            needed += 1
        raise UsageError(
            f"{count} {kind} scores are too few for a rate of {rate:g}; at least {needed} are"
            f" needed, so that {least} of them may be decided wrongly"
        )
    return allowed


def _errors(count: int, rate: float) -> int:
    # The most errors whose share is not above the rate, as a division gives it.
    errors = round(count * rate)
    return errors if errors / count <= rate else errors - 1
