"""Accuracy round by round, as one picture that stands for itself."""

from __future__ import annotations

import numpy as np

from sordino.evaluate.report.charts.svg import WIDTH, Scale, chart, label, legend, line, path, ticks
from sordino.evaluate.report.markup import Markup, join, tag
from sordino.evaluate.report.words import tick_text
from sordino.federated.simulate.compare import Comparison

_LEFT, _PLOT, _TALL = 58.0, 400.0, 280.0
_COLOURS = ("#00609c", "#b8470a", "#00704f", "#8e3b78", "#7a5c00", "#4a4f57")
_STYLE = (
    "text{font:12.5px system-ui,sans-serif;fill:#1d1f23}.small{font-size:11.5px;fill:#565b64}"
    ".grid{stroke:#dcd9d3}.guide{stroke:#565b64;stroke-dasharray:2 3}"
    "path{fill:none;stroke:var(--c);stroke-width:2}.band{fill:var(--c);stroke:none;opacity:.15}"
    + "".join(f".s{number}{{--c:{colour}}}" for number, colour in enumerate(_COLOURS))
)


def accuracy_plot(comparison: Comparison) -> str:
    """A curve for each regime: the mean over seeds, with a band from the worst to the best.

    Returns:
        An SVG file.
    """
    names = list(comparison.trained)
    shown = [_named(comparison, name) for name in names]
    legend_rows, top = legend(shown, 4)
    curves = [
        np.array(
            [
                [run.start, *(each.accuracy for each in run.rounds)]
                for run in comparison.trained[name]
            ]
        )
        for name in names
    ]
    across = Scale(0, curves[0].shape[1] - 1, _LEFT, _LEFT + _PLOT)
    lowest = min(comparison.chance, *(float(curve.min()) for curve in curves))
    up = Scale(max(0.0, lowest - 0.05), 1.0, top + 16 + _TALL, top + 16)
    right = across.end
    parts = [
        *(
            join(
                [
                    line(_LEFT, up(tick), right, up(tick)),
                    label(_LEFT - 7, up(tick) + 4, tick_text(tick), anchor="end"),
                ]
            )
            for tick in ticks(up.low, up.high)
        ),
        *(
            label(across(tick), up.start + 17, f"{tick:g}", anchor="middle")
            for tick in ticks(0, across.high)
        ),
        line(_LEFT, up(comparison.chance), right, up(comparison.chance), "guide"),
        label(right - 4, up(comparison.chance) - 5, "chance", anchor="end", class_="t small"),
        label(_LEFT + _PLOT / 2, up.start + 37, "rounds", anchor="middle"),
        tag(
            "text",
            "accuracy on speakers held out",
            class_="t",
            text_anchor="middle",
            transform=f"translate(13 {up.end + _TALL / 2:.0f}) rotate(-90)",
        ),
        *(_band(across, up, curve, series) for series, curve in enumerate(curves)),
        *(
            path([(across(at), up(value)) for at, value in enumerate(curve.mean(axis=0))], series)
            for series, curve in enumerate(curves)
        ),
    ]
    title = "Accuracy of federated training by regime"
    drawn = chart(
        title, up.start + 46, tag("style", Markup(_STYLE)), legend_rows, *parts, width=WIDTH
    )
    return drawn + "\n"


def _named(comparison: Comparison, name: str) -> str:
    statement = comparison.statements[name]
    said = [
        f"epsilon {part['epsilon_total' if which == 'central' else 'epsilon']:.3g}"
        f"{'' if which == 'central' else ' per upload'}"
        for which in ("central", "local")
        if (part := statement[which]) is not None
    ]
    return f"{name} ({', '.join(said)})" if said else name


def _band(across: Scale, up: Scale, curve: np.ndarray, series: int) -> Markup | None:
    if len(curve) < 2:
        return None
    there = [(across(at), up(value)) for at, value in enumerate(curve.max(axis=0))]
    back = [(across(at), up(value)) for at, value in enumerate(curve.min(axis=0))]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*there, *reversed(back)])
    return tag("polygon", points=points, class_=f"band s{series}")
