"""Levels of protection, and what a verdict is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sordino.evaluate.results import Attack, Measure

Level = Literal["none", "weak", "partial", "strong", "unknown", "plain"]
Bands = tuple[tuple[float, Level], ...]

SPEAKER = "speaker"
BANDS: Bands = (
    (0.0, "none"),
    (0.15, "weak"),
    (0.30, "partial"),
    (0.40, "strong"),
)
"""From which error of the strongest attacker on which level begins; 0.5 is a guess."""

LEVEL_NAMES: dict[Level, str] = {
    "none": "No protection shown",
    "weak": "Weak protection",
    "partial": "Partial protection",
    "strong": "Held in this test",
    "unknown": "Cannot be said",
    "plain": "Figures",
}
BAND_WORDS: dict[Level, str] = {
    "none": "hardly any protection",
    "weak": "weak protection",
    "partial": "partial protection",
    "strong": "strong protection",
}
FEW_SPEAKERS = 20


@dataclass(frozen=True)
class Verdict:
    """What is said of a system.

    Attributes:
        system: its name.
        about: "speaker", or the attribute that is guessed.
        level: by the strongest attacker who knows the system, at the careful end of the interval.
        headline: one sentence.
        evidence: sentences with the figures.
        cautions: what weakens or limits it, a sentence each.
        attack: the attack on speakers that it is about.
    """

    system: str
    about: str
    level: Level
    headline: str
    evidence: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    attack: Attack | None = None


def level_of(error: Measure, bands: Bands = BANDS) -> tuple[Level, Level] | None:
    """The levels that the two ends of an interval fall into; None where there is no interval.

    Example:
        >>> level_of(Measure(0.2, 0.16, 0.33))
        ('weak', 'partial')
    """
    if error.low is None or error.high is None:
        return None
    # The figures can be a hair outside 0 to 1, after a bootstrap or 1 - x.
    low, high = (
        next(level for start, level in reversed(bands) if max(end, 0.0) >= start)
        for end in (error.low, error.high)
    )
    return low, high


def too_wide(ends: tuple[Level, Level]) -> str | None:
    """The sentence for an interval that reaches over more than two levels, else None.

    Example:
        >>> too_wide(("weak", "partial")) is None
        True
        >>> too_wide(("none", "partial"))
        'The interval is too wide to say: from hardly any protection to partial protection.'
    """
    steps = [level for _, level in BANDS]
    low, high = ends
    if steps.index(high) - steps.index(low) <= 1:
        return None
    return f"The interval is too wide to say: from {BAND_WORDS[low]} to {BAND_WORDS[high]}."
