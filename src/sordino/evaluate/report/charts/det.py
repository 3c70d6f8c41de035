"""DET curves: both kinds of errors at every threshold, on axes where Gaussian scores are lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from sordino.evaluate.report.charts.svg import WIDTH, Scale, chart, label, legend, line, path
from sordino.evaluate.report.markup import Markup, join, tag

_TICKS = (0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9)
_LEFT, _PLOT = 58.0, 400.0
# Points closer than this, in units of the chart, tell nothing new.
_NEAR = 1.5


@dataclass(frozen=True)
class Curve:
    """A curve and its name.

    Attributes:
        name: for the legend.
        points: pairs of false-alarm and miss rate, from few false alarms to many.
    """

    name: str
    points: Sequence[tuple[float, float]]


def det_chart(title: str, curves: Sequence[Curve]) -> Markup:
    """DET curves.

    The axes are spread by the inverse of the normal distribution (A. Martin et al., "The DET curve
    in assessment of detection task performance", Eurospeech 1997).

    Args:
        title: of the chart.
        curves: from 1; more than 6 repeat their looks.

    Example:
        >>> "<path" in det_chart("Errors", [Curve("a", [(0.01, 0.2), (0.1, 0.05)])])
        True
    """
    legend_rows, top = legend([_named(curve) for curve in curves], 4)
    low, high = _range(curves)
    across = Scale(low, high, _LEFT, _LEFT + _PLOT, NormalDist().inv_cdf)
    down = Scale(low, high, top + 14 + _PLOT, top + 14, NormalDist().inv_cdf)
    shown = [tick for tick in _TICKS if low <= tick <= high]
    grid = [
        join(
            [
                line(across(tick), down.start, across(tick), down.end),
                line(across.start, down(tick), across.end, down(tick)),
                label(across(tick), down.start + 17, _percent(tick), anchor="middle"),
                label(across.start - 7, down(tick) + 4, _percent(tick), anchor="end"),
            ]
        )
        for tick in shown
    ]
    equal = line(across(low), down(low), across(high), down(high), "guide")
    drawn = [
        path([(across(alarm), down(miss)) for alarm, miss in points], series)
        for series, curve in enumerate(curves)
        if len(points := _visible(curve.points, across, down)) > 1
    ]
    middle = down.end + _PLOT / 2
    names = [
        label(_LEFT + _PLOT / 2, down.start + 36, "other speakers accepted, %", anchor="middle"),
        tag(
            "text",
            "same speaker rejected, %",
            class_="t",
            text_anchor="middle",
            transform=f"translate(14 {middle:.0f}) rotate(-90)",
        ),
    ]
    return chart(title, down.start + 44, legend_rows, *grid, equal, *drawn, *names, width=WIDTH)


def _range(curves: Sequence[Curve]) -> tuple[float, float]:
    """The part of the axes that the curves need: to the left of the best, and to a guess."""
    best = min((_nearest(curve.points) for curve in curves), default=0.5)
    worst = max((_nearest(curve.points) for curve in curves), default=0.5)
    return (0.001 if best < 0.05 else 0.01), (0.6 if worst < 0.3 else 0.95)


def _nearest(points: Sequence[tuple[float, float]]) -> float:
    return min((max(point) for point in points), default=0.5)


def _visible(
    points: Sequence[tuple[float, float]], across: Scale, down: Scale
) -> list[tuple[float, float]]:
    inside = [
        (alarm, miss)
        for alarm, miss in points
        if across.low <= alarm <= across.high and down.low <= miss <= down.high
    ]
    kept: list[tuple[float, float]] = []
    for place, (alarm, miss) in enumerate(inside):
        last = place == len(inside) - 1
        if kept and not last:
            moved = abs(across(alarm) - across(kept[-1][0])) + abs(down(miss) - down(kept[-1][1]))
            if moved < _NEAR:
                continue
        kept.append((alarm, miss))
    return kept


def _named(curve: Curve) -> str:
    errorless = curve.points and _nearest(curve.points) == 0
    return f"{curve.name} (no errors: off the chart)" if errorless else curve.name


def _percent(share: float) -> str:
    return f"{100 * share:g}"
