"""Bars for parts of a whole: how many of a speaker's utterances were recognised."""

from __future__ import annotations

from collections.abc import Sequence

from sordino.evaluate.report.charts.svg import WIDTH, Scale, chart, label
from sordino.evaluate.report.markup import Markup, join, tag

_LEFT, _RIGHT, _ROW = 140.0, 335.0, 24.0


def shares_chart(title: str, rows: Sequence[tuple[str, int, int, str]]) -> Markup:
    """A bar a row, with the numbers beside it.

    Args:
        title: of the chart.
        rows: name, part, whole, and what else to say.

    Example:
        >>> "3 of 4" in shares_chart("Recognised", [("anna", 3, 4, "")])
        True
    """
    drawn = []
    for place, (name, part, whole, more) in enumerate(rows):
        y = 4 + place * _ROW
        across = Scale(0.0, max(1, whole), _LEFT, _RIGHT)
        drawn.append(
            join(
                [
                    label(_LEFT - 8, y + 14, name, anchor="end", room=18),
                    tag(
                        "rect",
                        x=_LEFT,
                        y=y + 3,
                        width=_RIGHT - _LEFT,
                        height=_ROW - 9,
                        class_="empty",
                    ),
                    tag(
                        "rect",
                        x=_LEFT,
                        y=y + 3,
                        width=across(part) - _LEFT,
                        height=_ROW - 9,
                        class_="full s0",
                    ),
                    label(_RIGHT + 8, y + 14, f"{part} of {whole}{more}", class_="t small"),
                ]
            )
        )
    return chart(title, 8 + _ROW * len(rows), *drawn, width=WIDTH)
