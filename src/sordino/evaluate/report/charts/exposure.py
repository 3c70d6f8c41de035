"""How well an attribute is guessed against how well speakers are verified."""

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
from sordino.evaluate.report.words import figure, is_known, tick_text
from sordino.evaluate.results import Measure

_LEFT, _PLOT, _TALL = 58.0, 400.0, 360.0


@dataclass(frozen=True)
class Exposure:
    """A way of concealing with its figures.

    Attributes:
        name: of the way.
        error: of verification, a share.
        ignorant: how well ignorant attackers guess.
        informed: how well informed attackers guess.
    """

    name: str
    error: Measure
    ignorant: Measure
    informed: Measure


def exposure_chart(
    title: str, ways: Sequence[Exposure], guessed: str, guess: float = 0.5
) -> Markup:
    """Ways of concealing by what they leave to attackers and to verification.

    Each has a number, a ring for ignorant and a full mark for informed attackers, one above the
    other, and the intervals of verification and of informed attackers.

    Args:
        title: of the chart.
        ways: those that lack a figure are left out of the plot.
        guessed: what the upright axis is called.
        guess: what a guess reaches.

    Example:
        >>> way = Exposure("mine", Measure(0.02), Measure(0.6), Measure(0.7, 0.6, 0.8))
        >>> "1 mine" in exposure_chart("Exposure", [way], "AUC")
        True
    """
    names = [f"{number} {way.name}" for number, way in enumerate(ways, start=1)]
    legend_rows, top = legend(names, 4, curves=False)
    errors = [end for way in ways for end in _ends(way.error)]
    across = Scale(0.0, max([0.02, *(1.08 * end for end in errors)]), _LEFT, _LEFT + _PLOT)
    up = Scale(min(guess, 0.5), 1.0, top + 16 + _TALL, top + 16)
    grid = [
        *(
            join(
                [
                    line(across(tick), up.start, across(tick), up.end),
                    label(across(tick), up.start + 17, tick_text(tick), anchor="middle"),
                ]
            )
            for tick in ticks(0, across.high)
        ),
        *(
            join(
                [
                    line(across.start, up(tick), across.end, up(tick)),
                    label(across.start - 7, up(tick) + 4, tick_text(tick, ""), anchor="end"),
                ]
            )
            for tick in ticks(up.low, up.high, 7)
        ),
        line(across.start, up(guess), across.end, up(guess), "guide"),
        label(across.end - 4, up(guess) - 5, "a guess", anchor="end", class_="t small"),
    ]
    middle = up.end + _TALL / 2
    axes = [
        label(_LEFT + _PLOT / 2, up.start + 37, "errors of verification (EER)", anchor="middle"),
        tag(
            "text",
            guessed,
            class_="t",
            text_anchor="middle",
            transform=f"translate(13 {middle:.0f}) rotate(-90)",
        ),
    ]
    drawn = [_drawn(across, up, way, series) for series, way in enumerate(ways)]
    return chart(title, up.start + 46, legend_rows, *grid, *drawn, *axes, width=WIDTH)


def _ends(measure: Measure) -> list[float]:
    return [end for end in (measure.value, measure.high) if end is not None and is_known(end)]


def _drawn(across: Scale, up: Scale, way: Exposure, series: int) -> Markup | None:
    error, ignorant, informed = way.error.value, way.ignorant.value, way.informed.value
    if error is None or ignorant is None or informed is None:
        return None
    x, low, high = across(error), up(ignorant), up(informed)
    bar = f"bar s{series % 6}"
    parts = [line(x, low, x, high, "axis")]
    if way.informed.low is not None and way.informed.high is not None:
        parts.append(line(x, up(way.informed.low), x, up(way.informed.high), bar))
    if way.error.low is not None and way.error.high is not None:
        parts.append(line(across(way.error.low), high, across(way.error.high), high, bar))
    tip = (
        f"{way.name}: EER {figure(error)}, ignorant {figure(ignorant, '')}, informed"
        f" {figure(informed, '')}"
    )
    return join(
        [
            *parts,
            marker(x, low, series, tip, 5, hollow=True),
            marker(x, high, series, tip, 6),
            label(x + 9, high - 6, str(series + 1), class_="t strong"),
        ]
    )
