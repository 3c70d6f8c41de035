"""What protection costs: errors of the attacker against errors in the words."""

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

_LEFT, _PLOT, _TALL = 58.0, 400.0, 400.0


@dataclass(frozen=True)
class Trade:
    """A system with both of its figures.

    Attributes:
        name: of the system.
        errors: of the strongest attacker, a share.
        words: recognised wrongly, a share.
    """

    name: str
    errors: Measure
    words: Measure


def tradeoff_chart(title: str, trades: Sequence[Trade], words: str) -> Markup:
    """Systems by what they hide and what they keep, with intervals both ways.

    Args:
        title: of the chart.
        trades: systems; those without one of the figures are left out.
        words: what the axis across is called.

    Example:
        >>> trade = Trade("a", Measure(0.2, 0.1, 0.3), Measure(0.1))
        >>> "a guess" in tradeoff_chart("Trade-off", [trade], "word errors")
        True
    """
    legend_rows, top = legend([trade.name for trade in trades], 4, curves=False)
    wrong = [end for trade in trades for end in _ends(trade.words)]
    # Beyond 150 % nothing is understood anyhow; what lies there is put at the edge.
    across = Scale(0.0, min(1.5, max([0.1, *(1.08 * end for end in wrong)])), _LEFT, _LEFT + _PLOT)
    errors = [end for trade in trades for end in _ends(trade.errors)]
    up = Scale(0.0, max([0.55, *errors]), top + 16 + _TALL, top + 16)
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
                    label(across.start - 7, up(tick) + 4, tick_text(tick), anchor="end"),
                ]
            )
            for tick in ticks(0, up.high, 7)
        ),
        line(across.start, up(0.5), across.end, up(0.5), "guide"),
        label(across.end - 4, up(0.5) - 5, "a guess", anchor="end", class_="t small"),
    ]
    middle = up.end + _TALL / 2
    names = [
        label(_LEFT + _PLOT / 2, up.start + 37, words, anchor="middle"),
        tag(
            "text",
            "errors of the strongest attacker",
            class_="t",
            text_anchor="middle",
            transform=f"translate(13 {middle:.0f}) rotate(-90)",
        ),
    ]
    dots = [_dot(across, up, trade, series) for series, trade in enumerate(trades)]
    return chart(title, up.start + 46, legend_rows, *grid, *dots, *names, width=WIDTH)


def _ends(measure: Measure) -> list[float]:
    return [end for end in (measure.value, measure.high) if end is not None and is_known(end)]


def _dot(across: Scale, up: Scale, trade: Trade, series: int) -> Markup | None:
    errors, words = trade.errors, trade.words
    if not _ends(errors) or not _ends(words) or errors.value is None or words.value is None:
        return None
    x, y, bar = across(words.value), up(errors.value), f"bar s{series % 6}"
    parts: list[Markup] = []
    if errors.low is not None and errors.high is not None:
        parts.append(line(x, up(errors.low), x, up(errors.high), bar))
    if words.low is not None and words.high is not None:
        parts.append(line(across(words.low), y, across(words.high), y, bar))
    tip = f"{trade.name}: attacker {figure(errors.value)}, text {figure(words.value)}"
    return join([*parts, marker(x, y, series, tip, 6)])
