"""Figures against epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sordino.evaluate.report.charts.svg import (
    WIDTH,
    Scale,
    chart,
    label,
    legend,
    line,
    marker,
    path,
    ticks,
)
from sordino.evaluate.report.markup import Markup, join, tag
from sordino.evaluate.report.words import is_known, tick_text, with_interval
from sordino.evaluate.results import Measure

_LEFT, _PLOT, _TALL = 58.0, 400.0, 260.0
# Where there is no noise stands at the right, apart from all numbers.
_APART = 46.0
_CLOSE = 26.0
_STEPS = 60


@dataclass(frozen=True)
class Swept:
    """A curve.

    Attributes:
        name: for the legend.
        points: pairs of epsilon, above 0 and ascending, and a figure; infinity for no noise.
    """

    name: str
    points: Sequence[tuple[float, Measure]]


def sweep_chart(
    title: str,
    curves: Sequence[Swept],
    names: tuple[str, str],
    *,
    unit: str,
    ends: tuple[float, float],
    guess: float,
    bound: tuple[str, Callable[[float], float]] | None = None,
) -> Markup:
    """Curves over epsilon, which is spread by its logarithm.

    Args:
        title: of the chart.
        curves: from 1; more than 6 repeat their looks.
        names: of the axis across and of the upright one.
        unit: of the figures.
        ends: of the upright axis; larger figures make it longer.
        guess: a value to mark as a guess.
        bound: what no figure can be below, with its name.

    Example:
        >>> curve = Swept("mine", [(5.0, Measure(0.3)), (math.inf, Measure(0.1))])
        >>> drawn = sweep_chart("Errors", [curve], ("epsilon", "EER"), unit="%", ends=(0.0, 0.5),
        ...                     guess=0.5)
        >>> "no noise" in drawn
        True
    """
    legend_rows, top = legend([curve.name for curve in curves], 4)
    places = sorted({epsilon for curve in curves for epsilon, _ in curve.points})
    finite = [place for place in places if math.isfinite(place)]
    across = _Across(finite, apart=len(finite) < len(places))
    highest = [m.value for curve in curves for _, m in curve.points if m.value is not None]
    up = Scale(ends[0], max([ends[1], *filter(is_known, highest)]), top + 16 + _TALL, top + 16)
    right = _LEFT + _PLOT
    grid = [
        *(
            join(
                [
                    line(_LEFT, up(tick), right, up(tick)),
                    label(_LEFT - 7, up(tick) + 4, tick_text(tick, unit), anchor="end"),
                ]
            )
            for tick in ticks(up.low, up.high)
        ),
        *(
            join(
                [
                    line(across(place), up.start, across(place), up.end),
                    label(across(place), up.start + 17, _written(place), anchor="middle"),
                ]
            )
            for place in across.spread(places)
        ),
        line(_LEFT, up(guess), right, up(guess), "guide"),
        label(right - 4, up(guess) - 5, "a guess", anchor="end", class_="t small"),
    ]
    drawn = [_curve(across, up, curve, series, unit) for series, curve in enumerate(curves)]
    axes = [
        label(_LEFT + _PLOT / 2, up.start + 37, names[0], anchor="middle"),
        tag(
            "text",
            names[1],
            class_="t",
            text_anchor="middle",
            transform=f"translate(13 {up.end + _TALL / 2:.0f}) rotate(-90)",
        ),
    ]
    limit = _bound(across, up, finite, bound) if bound and len(finite) > 1 else None
    return chart(title, up.start + 46, legend_rows, *grid, limit, *drawn, *axes, width=WIDTH)


class _Across:
    """Where an epsilon lies."""

    def __init__(self, finite: Sequence[float], *, apart: bool) -> None:
        self._end = _LEFT + _PLOT - (12 if apart else 0)
        low, high = (finite[0], finite[-1]) if finite else (1.0, 2.0)
        if low == high:
            low, high = low / 2, high * 2
        last = self._end - (_APART if apart else 0)
        self._scale = Scale(low, high, _LEFT + 8, last, math.log)

    def __call__(self, epsilon: float) -> float:
        return self._end if math.isinf(epsilon) else self._scale(epsilon)

    def spread(self, places: Sequence[float]) -> list[float]:
        """Those that can be written without touching each other."""
        kept: list[float] = []
        for place in reversed(places):
            room = _CLOSE if kept and math.isfinite(kept[-1]) else _APART
            if not kept or self(kept[-1]) - self(place) >= room:
                kept.append(place)
        return kept


def _curve(across: _Across, up: Scale, curve: Swept, series: int, unit: str) -> Markup:
    known = [(place, m) for place, m in curve.points if m.value is not None and is_known(m.value)]
    spots = [(across(place), up(m.value or 0.0)) for place, m in known]
    finite = [spot for spot, (place, _) in zip(spots, known, strict=True) if math.isfinite(place)]
    parts = [path(finite, series)] if len(finite) > 1 else []
    for (x, y), (place, measure) in zip(spots, known, strict=True):
        if measure.low is not None and measure.high is not None:
            parts.append(line(x, up(measure.low), x, up(measure.high), f"bar s{series % 6}"))
        tip = f"{curve.name}, {_written(place)}: {with_interval(measure, unit)}"
        parts.append(marker(x, y, series, tip, 4))
    return join(parts)


def _bound(
    across: _Across, up: Scale, finite: Sequence[float], bound: tuple[str, Callable[[float], float]]
) -> Markup:
    name, least = bound
    ratio = finite[-1] / finite[0]
    places = [finite[0] * ratio ** (step / _STEPS) for step in range(_STEPS + 1)]
    points = [(across(place), up(least(place))) for place in places]
    drawn = [line(*before, *after, "axis") for before, after in pairwise(points)]
    x, y = points[0]
    return join([*drawn, label(x + 6, y - 6, name, class_="t small")])


def _written(epsilon: float) -> str:
    return "no noise" if math.isinf(epsilon) else f"{epsilon:g}"
