"""Which outcome tells two inputs apart best: a threshold on a score, chosen on spare releases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino.privacy.audit.bounds import Bound, FloatArray, proved

_TAIL = 60


@dataclass(frozen=True)
class Event:
    """The outcomes whose score lies on one side of a threshold.

    Attributes:
        threshold: belongs to the event.
        above: whether the event is at and above it; else at and below it.
        favours: 0 or 1, the input on which the event is the likelier one.
    """

    threshold: float
    above: bool
    favours: int

    def hits(self, scores: FloatArray) -> int:
        """How many scores are in the event."""
        inside = scores >= self.threshold if self.above else scores <= self.threshold
        return int(np.count_nonzero(inside))


def best_event(scores: tuple[FloatArray, FloatArray], bound: Bound, false_alarm: float) -> Event:
    """The event that proves most.

    Args:
        scores: of releases of either input, equally many, shape (n,) each. They must not be used
            again to prove something: the event has been fitted to them.
        bound: see `bounds`.
        false_alarm: as in the proof to come.

    Example:
        >>> from sordino.privacy.audit.bounds import pure_bound
        >>> scores = np.arange(100.0), np.arange(50.0, 150.0)
        >>> event = best_event(scores, pure_bound, 0.05)
        >>> event.favours == int(event.above)
        True
    """
    trials = scores[0].size
    thresholds = _thresholds(np.sort(np.concatenate(scores)))
    ordered = np.sort(scores[0]), np.sort(scores[1])
    best, chosen = -1.0, Event(float(thresholds[0]), True, 0)
    for above in (True, False):
        counts = [_counts(side, thresholds, above) for side in ordered]
        for favours in (0, 1):
            found = proved(bound, (counts[favours], counts[1 - favours]), trials, false_alarm)
            place = int(np.argmax(found))
            if found[place] > best:
                best = float(found[place])
                chosen = Event(float(thresholds[place]), above, favours)
    return chosen


def _thresholds(ordered: FloatArray) -> FloatArray:
    """Scores at ranks that are dense towards both ends."""
    middle = (ordered.size - 1) // 2
    ranks = np.unique(np.geomspace(1, middle + 1, _TAIL).astype(np.int64)) - 1
    return np.unique(np.concatenate([ordered[ranks], ordered[ordered.size - 1 - ranks]]))


def _counts(ordered: FloatArray, thresholds: FloatArray, above: bool) -> FloatArray:
    if above:
        return (ordered.size - np.searchsorted(ordered, thresholds, "left")).astype(np.float64)
    return np.searchsorted(ordered, thresholds, "right").astype(np.float64)
