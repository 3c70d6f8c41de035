"""Voice similarity matrices: original, mixed, protected."""

from __future__ import annotations

from collections.abc import Sequence

from sordino.evaluate.report.charts.raster import picture
from sordino.evaluate.report.charts.svg import WIDTH, chart, label
from sordino.evaluate.report.markup import Markup, join, tag

_SIDE, _GAP, _TOP = 148.0, 18.0, 20.0
Rows = Sequence[Sequence[float]]


def matrices_chart(title: str, matrices: Sequence[tuple[str, Rows]]) -> Markup:
    """Up to three matrices side by side, each with its name, and what the colours mean.

    Args:
        title: of the chart.
        matrices: names, and similarities from 0 to 1, shape (speakers, speakers).

    Example:
        >>> matrices_chart("Alike", [("before", [[1.0, 0.0], [0.0, 1.0]])]).count("<image")
        2
    """
    parts: list[Markup | None] = []
    for place, (name, rows) in enumerate(matrices):
        left = place * (_SIDE + _GAP)
        parts.append(
            join(
                [
                    label(left + _SIDE / 2, 13, name, anchor="middle", room=24),
                    _image(rows, left, _TOP, _SIDE, _SIDE),
                    tag("rect", x=left, y=_TOP, width=_SIDE, height=_SIDE, class_="frame"),
                ]
            )
        )
    bottom = _TOP + _SIDE + 14
    scale = [[place / 63 for place in range(64)]]
    parts += [
        label(0, bottom + 10, "surely two voices", class_="t small"),
        _image(scale, 112, bottom, 220, 12),
        tag("rect", x=112, y=bottom, width=220, height=12, class_="frame"),
        label(340, bottom + 10, "surely one voice", class_="t small"),
    ]
    return chart(title, bottom + 18, *parts, width=WIDTH)


def _image(rows: Rows, x: float, y: float, width: float, height: float) -> Markup | None:
    if not rows or not rows[0]:
        return None
    return tag(
        "image",
        href=picture(rows),
        x=x,
        y=y,
        width=width,
        height=height,
        preserveAspectRatio="none",
        style="image-rendering:pixelated",
    )
