"""A dot for each speaker, system by system: who is worst off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from sordino.evaluate.report.charts.svg import (
    WIDTH,
    Scale,
    chart,
    label,
    line,
    marker,
    ticks,
)
from sordino.evaluate.report.markup import Markup, join
from sordino.evaluate.report.words import figure, tick_text

_LEFT, _RIGHT, _BAND = 14.0, 462.0, 62.0
_SPREAD = (0, 3, -3, 1, -1, 4, -4, 2, -2)


@dataclass(frozen=True)
class Band:
    """A system and a figure for each speaker.

    Attributes:
        name: of the system.
        speakers: names and figures.
    """

    name: str
    speakers: Sequence[tuple[str, float]]


def strip_chart(title: str, bands: Sequence[Band], *, unit: str = "%") -> Markup:
    """Dots along an axis; the highest is named, the middle one has a line.

    Args:
        title: of the chart.
        bands: systems.
        unit: of the figures.

    Example:
        >>> "anna" in strip_chart("Errors", [Band("mine", [("anna", 0.2), ("bo", 0.1)])])
        True
    """
    values = [value for band in bands for _, value in band.speakers]
    across = Scale(0.0, max([0.1, *values]), _LEFT, _RIGHT)
    bottom = 28 + _BAND * len(bands)
    grid = [
        join(
            [
                line(across(tick), 22, across(tick), bottom),
                label(across(tick), 16, tick_text(tick, unit), anchor="middle", class_="t small"),
            ]
        )
        for tick in ticks(0.0, across.high)
    ]
    drawn = [
        _band(across, 28 + _BAND * place, place, band, unit) for place, band in enumerate(bands)
    ]
    return chart(title, bottom + 4, *grid, *drawn, width=WIDTH)


def _band(across: Scale, top: float, series: int, band: Band, unit: str) -> Markup:
    y = top + 34
    ranked = sorted(band.speakers, key=lambda pair: (pair[1], pair[0]))
    dots = [
        marker(
            across(value),
            y + 2 * _SPREAD[place % len(_SPREAD)],
            series,
            f"{speaker}: {figure(value, unit)}",
            3,
        )
        for place, (speaker, value) in enumerate(ranked)
    ]
    parts = [label(_LEFT, top + 13, band.name, class_="t strong", room=30)]
    if ranked:
        worst, value = ranked[-1]
        middle = across(median(value for _, value in ranked))
        parts += [
            line(middle, y - 13, middle, y + 13, "axis"),
            label(
                _RIGHT,
                top + 13,
                f"highest: {worst}, {figure(value, unit)}",
                anchor="end",
                class_="t small",
                room=30,
            ),
        ]
    return join([*parts, *dots])
