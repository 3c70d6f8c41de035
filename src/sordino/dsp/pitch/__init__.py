"""Pitch trackers by name."""

from __future__ import annotations

from collections.abc import Mapping

from sordino.dsp.pitch.base import Tracker
from sordino.dsp.pitch.swift import Swift
from sordino.dsp.pitch.yaapt import Yaapt
from sordino.errors import UsageError

TRACKERS: Mapping[str, type[Tracker]] = {tracker.name: tracker for tracker in (Swift, Yaapt)}


def load_tracker(name: str) -> Tracker:
    """A pitch tracker; what it needs is imported when it first tracks.

    Args:
        name: "swift" or "yaapt".

    Raises:
        UsageError: there is no such tracker.

    Example:
        >>> load_tracker("swift").context
        6400
    """
    if name not in TRACKERS:
        raise UsageError(f"there is no pitch tracker {name!r}; there are: {', '.join(TRACKERS)}")
    return TRACKERS[name]()
