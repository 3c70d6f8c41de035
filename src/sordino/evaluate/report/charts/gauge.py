"""Where the strongest attacker stands between no errors and a guess."""

from __future__ import annotations

from collections.abc import Sequence

from sordino.evaluate.report.charts.svg import Scale, chart, label, line, marker
from sordino.evaluate.report.markup import Markup, join, tag
from sordino.evaluate.report.words import is_known
from sordino.evaluate.results import Measure

_WIDTH = 350.0
_LEFT, _RIGHT = 10.0, _WIDTH - 10.0


def gauge_chart(
    title: str, error: Measure, original: Measure | None, bands: Sequence[tuple[float, str]]
) -> Markup:
    """The error with its interval, the same attacker's on original speech, and what errors mean.

    Args:
        title: of the chart.
        error: of the strongest attacker.
        original: the same attacker's on original speech.
        bands: where each begins, and its name.

    Example:
        >>> "weak" in gauge_chart("Error", Measure(0.2, 0.1, 0.3), None, [(0.0, "weak")])
        True
    """
    ends = [end for end in (error.high, error.value) if end is not None and is_known(end)]
    across = Scale(0.0, max([0.5, *ends]), _LEFT, _RIGHT)
    starts = [start for start, _ in bands]
    names = [
        join(
            [
                tag(
                    "rect",
                    x=across(start),
                    y=36,
                    width=across(end) - across(start),
                    height=20,
                    class_=f"band b{place}",
                ),
                label(
                    (across(start) + across(end)) / 2, 50, name, anchor="middle", class_="t small"
                ),
            ]
        )
        for place, ((start, name), end) in enumerate(
            zip(bands, [*starts[1:], across.high], strict=True)
        )
    ]
    axis = [
        label(_LEFT, 72, "0 %", class_="t small"),
        *(
            label(across(start), 72, f"{100 * start:.0f} %", anchor="middle", class_="t small")
            for start in starts[1:]
        ),
        label(across(0.5), 72, "50 %", anchor="end", class_="t small"),
    ]
    marks: list[Markup] = []
    if original is not None and original.value is not None:
        x = across(original.value)
        marks += [
            line(x, 18, x, 36, "axis"),
            tag("circle", cx=x, cy=12, r=5.5, class_="hollow"),
        ]
    if error.value is not None and is_known(error.value):
        if error.low is not None and error.high is not None:
            marks.append(line(across(error.low), 28, across(error.high), 28, "bar s0"))
        marks.append(marker(across(error.value), 28, 0, None, 6))
    return chart(title, 77, *names, *axis, *marks, width=_WIDTH)
