"""How often the right one is found among N, as N grows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sordino.evaluate.report.charts.svg import WIDTH, Scale, chart, label, legend, line, path
from sordino.evaluate.report.markup import Markup, join, tag
from sordino.evaluate.report.words import tick_text

_LEFT, _PLOT, _TALL = 58.0, 400.0, 260.0
_MOST_TICKS = 8


@dataclass(frozen=True)
class Found:
    """A curve and its name.

    Attributes:
        name: for the legend.
        among: N, ascending, from 1.
        share: how often the right one is found, 0 to 1; None where it is not known.
    """

    name: str
    among: Sequence[int]
    share: Sequence[float | None]


def identification_chart(title: str, curves: Sequence[Found], what: str) -> Markup:
    """Curves over N, which is spread by its logarithm.

    Args:
        title: of the chart.
        curves: the last one is what a guess reaches.
        what: the upright axis is called.

    Example:
        >>> curves = [Found("system", [1, 2], [1.0, 0.8]), Found("a guess", [1, 2], [1.0, 0.5])]
        >>> "a guess" in identification_chart("Found", curves, "found")
        True
    """
    legend_rows, top = legend([curve.name for curve in curves], 4)
    numbers = sorted({number for curve in curves for number in curve.among})
    if len(numbers) < 2:
        return chart(title, top + 24, legend_rows, label(8, top + 18, "too few speakers to draw"))
    across = Scale(numbers[0], numbers[-1], _LEFT, _LEFT + _PLOT, math.log)
    up = Scale(0.0, 1.0, top + 14 + _TALL, top + 14)
    grid = [
        *(
            join(
                [
                    line(across.start, up(tick), across.end, up(tick)),
                    label(across.start - 7, up(tick) + 4, tick_text(tick), anchor="end"),
                ]
            )
            for tick in (0.0, 0.25, 0.5, 0.75, 1.0)
        ),
        *(
            label(across(number), up.start + 17, f"{number}", anchor="middle")
            for number in _spread(numbers, across)
        ),
    ]
    drawn = [
        path(points, series)
        for series, curve in enumerate(curves)
        if len(
            points := [
                (across(number), up(share))
                for number, share in zip(curve.among, curve.share, strict=True)
                if share is not None
            ]
        )
        > 1
    ]
    names = [
        label(_LEFT + _PLOT / 2, up.start + 36, "known voices (N)", anchor="middle"),
        tag(
            "text",
            what,
            class_="t",
            text_anchor="middle",
            transform=f"translate(13 {up.end + _TALL / 2:.0f}) rotate(-90)",
        ),
    ]
    return chart(title, up.start + 44, legend_rows, *grid, *drawn, *names, width=WIDTH)


def _spread(numbers: Sequence[int], across: Scale) -> list[int]:
    """Numbers to write under the axis, far enough from each other."""
    kept = [numbers[-1]]
    for number in reversed(numbers[:-1]):
        if across(kept[-1]) - across(number) > _PLOT / _MOST_TICKS:
            kept.append(number)
    return kept
