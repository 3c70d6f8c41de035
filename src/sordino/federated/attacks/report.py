"""What attacks achieved, as one table."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

HEAD = ("attack", "regime", "on", "figure", "value (95 %)", "chance", "limit", "verdict")
"""Names of the columns."""

REFUTED, MISSED = "REFUTED", "MISSED"
"""Verdicts that a sound training does not get."""


@dataclass(frozen=True)
class Line:
    """One figure of one attack.

    Attributes:
        attack: "leak", "uploads", "canaries" or "membership".
        regime: what was attacked.
        on: what the attacker sees, or that a mutant was put in the place of what is claimed.
        figure: what is measured.
        value: the figure.
        low: lower end of its 95 % interval over users; NaN where it is a bound itself.
        high: upper end.
        chance: what an attacker gets who sees nothing; NaN where that is no question.
        limit: the most that is compatible with what is claimed; NaN where nothing is.
        verdict: in a word or a few.
        detail: how it was found.
    """

    attack: str
    regime: str
    on: str
    figure: str
    value: float
    low: float = math.nan
    high: float = math.nan
    chance: float = math.nan
    limit: float = math.nan
    verdict: str = ""
    detail: str = ""

    def cells(self) -> list[str]:
        """Texts in the order of `HEAD`."""
        value = _short(self.value)
        if not math.isnan(self.low):
            value += f" ({_short(self.low)} to {_short(self.high)})"
        ends = [_short(self.chance), _short(self.limit)]
        return [self.attack, self.regime, self.on, self.figure, value, *ends, self.verdict]


@dataclass(frozen=True, eq=False)
class Report:
    """All figures.

    Attributes:
        lines: one for each.
        facts: settings and the population.
    """

    lines: Sequence[Line]
    facts: Mapping[str, Any]

    @property
    def sound(self) -> bool:
        """Whether no claim was refuted, and every mutant was caught."""
        return not any(line.verdict in (REFUTED, MISSED) for line in self.lines)

    def to_json(self) -> str:
        """All of it; what is not defined or infinite is null."""
        lines = [
            {name: _plain(value) for name, value in asdict(line).items()} for line in self.lines
        ]
        content = {"facts": dict(self.facts), "sound": self.sound, "lines": lines}
        return json.dumps(content, indent=1, allow_nan=False) + "\n"


def as_markdown(report: Report) -> str:
    """The table for people."""
    rows = [HEAD, ("---",) * len(HEAD), *(line.cells() for line in report.lines)]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def as_csv(report: Report) -> str:
    """The table for programs: all figures as they are."""
    file = io.StringIO()
    fields = list(Line.__dataclass_fields__)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(fields)
    for line in report.lines:
        writer.writerow([getattr(line, name) for name in fields])
    return file.getvalue()


def _short(value: float) -> str:
    if math.isnan(value):
        return ""
    # Adding 0 makes 0 of what would be shown as -0.000.
    return f"{round(value, 3) + 0.0:.3f}" if abs(value) < 100 else f"{value:.4g}"


def _plain(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value
