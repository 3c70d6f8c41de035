"""Rows of dots with intervals: one row a group, with room for long names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sordino.evaluate.report.charts.svg import (
    WIDTH,
    Scale,
    chart,
    label,
    legend,
    line,
    marker,
    ticks,
)
from sordino.evaluate.report.markup import Markup, join, tag
from sordino.evaluate.report.words import is_known, tick_text, with_interval
from sordino.evaluate.results import Measure

_LEFT, _RIGHT = 14.0, 336.0
_NAME, _MARK, _AFTER = 19.0, 17.0, 7.0
_ROOM = 70


@dataclass(frozen=True)
class Row:
    """A group and its figures.

    Attributes:
        name: of the group, above its figures.
        figures: a number of the series, which decides the looks, and the figure.
    """

    name: str
    figures: Sequence[tuple[int, Measure]]


def intervals_chart(
    title: str,
    rows: Sequence[Row],
    names: Sequence[str],
    *,
    unit: str = "%",
    low: float = 0.0,
    high: float = 0.5,
    guess: float | None = 0.5,
) -> Markup:
    """Dots with intervals, the figures written beside them.

    Args:
        title: of the chart.
        rows: groups.
        names: of the series, for the legend; one alone needs none.
        unit: of the figures.
        low: where the axis begins.
        high: where it ends at least; larger figures make it longer.
        guess: a value to mark as a guess.

    Example:
        >>> rows = [Row("women", [(0, Measure(0.2, 0.1, 0.3))])]
        >>> "women" in intervals_chart("Errors", rows, ["protected"])
        True
    """
    ends = [
        end
        for row in rows
        for _, measure in row.figures
        for end in (measure.value, measure.high)
        if end is not None and is_known(end)
    ]
    legend_rows, top = legend(names, 4, curves=False) if len(names) > 1 else (None, 0.0)
    across = Scale(low, max([high, *ends]), _LEFT, _RIGHT)
    first = top + (40 if guess is not None else 26)
    drawn, y = [], first + 4
    for row in rows:
        drawn.append(label(_LEFT, y + 12, row.name, class_="t strong", room=_ROOM))
        y += _NAME
        for series, measure in row.figures:
            drawn.append(_figure(across, y + _MARK / 2, series, measure, unit))
            y += _MARK
        y += _AFTER
    grid = [
        join(
            [
                line(across(tick), first, across(tick), y),
                label(
                    across(tick),
                    first - 6,
                    tick_text(tick, unit),
                    anchor="middle",
                    class_="t small",
                ),
            ]
        )
        for tick in ticks(low, across.high)
    ]
    if guess is not None:
        grid += [
            line(across(guess), first, across(guess), y, "guide"),
            label(
                across(guess),
                first - 21,
                "a guess",
                anchor="middle" if guess > low else None,
                class_="t small",
            ),
        ]
    return chart(title, y + 4, legend_rows, *grid, *drawn, width=WIDTH)


def _figure(across: Scale, y: float, series: int, measure: Measure, unit: str) -> Markup:
    text = with_interval(measure, unit)
    parts: list[Markup] = []
    if measure.low is not None and measure.high is not None:
        parts.append(
            tag(
                "line",
                x1=across(measure.low),
                y1=y,
                x2=across(measure.high),
                y2=y,
                class_=f"bar s{series % 6}",
            )
        )
    if measure.value is not None and is_known(measure.value):
        parts.append(marker(across(measure.value), y, series, text, 4.5))
    return join([*parts, label(_RIGHT + 8, y + 4, text, class_="t small", room=24)])
