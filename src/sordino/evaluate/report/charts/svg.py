"""What all charts share: the frame, scales, the looks of a series, and a legend."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sordino.evaluate.report.markup import Markup, join, tag
from sordino.evaluate.report.words import shortened

WIDTH = 480
"""Of a chart, in units that are about a pixel on a telephone and on a screen."""

SERIES = 6
"""So many looks there are; then they begin anew."""

_DASHES = (None, "7 4", "2 3", "9 3 2 3", "12 4", "4 2 1 2")
_LETTER = 7.3
_LEGEND_ROW = 18


@dataclass(frozen=True)
class Scale:
    """Where a value lies on an axis.

    Attributes:
        low: value at the start.
        high: value at the end; above `low`.
        start: of the axis, in units of the chart.
        end: of the axis.
        bend: makes values those that are spread evenly.

    Example:
        >>> Scale(0.0, 1.0, 100.0, 300.0)(0.25), Scale(0.0, 1.0, 100.0, 300.0)(9.0)
        (150.0, 300.0)
    """

    low: float
    high: float
    start: float
    end: float
    bend: Callable[[float], float] = float

    def __call__(self, value: float) -> float:
        """The place of a value; one beyond an end is put at the end."""
        low, high = self.bend(self.low), self.bend(self.high)
        share = (self.bend(min(max(value, self.low), self.high)) - low) / (high - low)
        return self.start + share * (self.end - self.start)


def chart(title: str, height: float, *parts: str | None, width: float = WIDTH) -> Markup:
    """A chart that scales with the page and has a name for those who do not see it."""
    return tag(
        "svg",
        tag("title", title),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:g} {height:.0f}",
        role="img",
        aria_label=title,
    )


def line(x1: float, y1: float, x2: float, y2: float, class_: str = "grid") -> Markup:
    """A straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def label(
    x: float, y: float, text: str, *, anchor: str | None = None, class_: str = "t", room: int = 0
) -> Markup:
    """A line of text; what is longer than `room` letters loses its middle, and says it in a tip."""
    short = shortened(text, room) if room else text
    tip = tag("title", text) if short != text else None
    return tag("text", short, tip, x=x, y=y, class_=class_, text_anchor=anchor)


def path(points: Sequence[tuple[float, float]], series: int) -> Markup:
    """A curve of a series."""
    return tag(
        "path",
        d=corners(points),
        class_=f"s{series % SERIES}",
        stroke_dasharray=_DASHES[series % SERIES],
    )


def corners(points: Sequence[tuple[float, float]]) -> str:
    """Points as the description of a path, relative ones, which are shorter.

    Example:
        >>> corners([(10.0, 20.0), (11.26, 20.0)])
        'M10 20l1.3 0'
    """
    # Whole tenths, so that rounding does not add up along the path.
    whole = [(round(10 * x), round(10 * y)) for x, y in points]
    steps = [(x - before_x, y - before_y) for (before_x, before_y), (x, y) in pairwise(whole)]
    start = f"M{whole[0][0] / 10:g} {whole[0][1] / 10:g}"
    rest = "".join(f"l{x / 10:g} {y / 10:g}" for x, y in steps if (x, y) != (0, 0))
    return start + rest


def marker(
    x: float,
    y: float,
    series: int,
    tip: str | None = None,
    size: float = 5,
    *,
    hollow: bool = False,
) -> Markup:
    """A mark of a series, whose shape tells as much as its colour."""
    shape = series % SERIES
    class_ = f"{'ring' if hollow else 'm'} s{shape}"
    title = None if tip is None else tag("title", tip)
    if shape == 0:
        return tag("circle", title, cx=x, cy=y, r=size, class_=class_)
    outline = {
        1: ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        2: ((0, -1.3), (1.2, 0.9), (-1.2, 0.9)),
        3: ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
        4: ((0, 1.3), (1.2, -0.9), (-1.2, -0.9)),
        5: ((-1.2, -0.5), (0, -1.3), (1.2, -0.5), (0.8, 1.1), (-0.8, 1.1)),
    }[shape]
    d = corners([(x + size * across, y + size * down) for across, down in outline])
    return tag("path", title, d=d + "z", class_=class_)


def legend(
    names: Sequence[str], top: float, *, curves: bool = True, width: float = WIDTH
) -> tuple[Markup, float]:
    """A row for each series, and where they end."""
    rows = []
    room = int((width - 50) / _LETTER)
    for series, name in enumerate(names):
        y = top + _LEGEND_ROW * series + 9
        rows.append(
            join(
                [
                    path([(4.0, y), (36.0, y)], series) if curves else marker(20, y, series),
                    label(46, y + 4, name, room=room),
                ]
            )
        )
    return join(rows), top + _LEGEND_ROW * len(names)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from the lowest to the highest, at most so many.

    Example:
        >>> ticks(0.0, 0.37)
        [0.0, 0.1, 0.2, 0.3]
    """
    for power in range(-9, 16):
        for factor in (1, 2, 5):
            step = factor * 10.0**power
            # A hair wider, so that an end that is a round number but for rounding has its tick.
            first = math.ceil(low / step - 1e-9)
            last = math.floor(high / step + 1e-9)
            if last - first < most:
                return [round(place * step, 12) for place in range(first, last + 1)]
    return []
