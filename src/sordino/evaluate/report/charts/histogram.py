"""Histograms of scores: of one speaker, and of two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from sordino.evaluate.report.charts.svg import Scale, chart, corners, label, line, ticks
from sordino.evaluate.report.markup import Markup, tag
from sordino.evaluate.results import Histogram

_WIDTH, _HEIGHT, _FLOOR = 232.0, 132.0, 96.0
_MOST_BINS = 50
_DASHED = "5 3"


def histogram_chart(title: str, histogram: Histogram) -> Markup:
    """Scores of the same speaker (filled, whole line) and of different ones (dashed).

    Each kind sums to the same area, however many trials there are of it.

    Args:
        title: of the chart.
        histogram: of scores; neighbouring bins are merged where there are more than 50.

    Example:
        >>> histogram_chart("Scores", Histogram((0.0, 0.5, 1.0), (1, 3), (4, 0))).count("<path")
        4
    """
    edges, kinds = _merged(histogram)
    shares = [_shares(counts) for counts in kinds]
    highest = max((share for kind in shares for share in kind), default=0.0) or 1.0
    if len(edges) < 2 or not edges[0] < edges[-1]:
        return chart(title, 30, label(8, 20, "no scores to show"), width=_WIDTH)
    across = Scale(edges[0], edges[-1], 8, _WIDTH - 8)
    up = Scale(0, highest, _FLOOR, 6)
    same, different = (_steps(edges, share, across, up) for share in shares)
    floor = f"L{across.end:g} {_FLOOR:g}L{across.start:g} {_FLOOR:g}z"
    return chart(
        title,
        _HEIGHT,
        tag("path", d=corners(different) + floor, class_="fill s1"),
        tag("path", d=corners(same) + floor, class_="fill s0"),
        tag("path", d=corners(different), class_="s1", stroke_dasharray=_DASHED),
        tag("path", d=corners(same), class_="s0"),
        line(across.start, _FLOOR, across.end, _FLOOR, "axis"),
        *(
            label(across(tick), _FLOOR + 15, f"{tick:g}", anchor="middle", class_="t small")
            for tick in ticks(edges[0], edges[-1], 5)
        ),
        label(_WIDTH / 2, _HEIGHT - 5, "score", anchor="middle", class_="t small"),
        width=_WIDTH,
    )


def histogram_legend() -> Markup:
    """What the lines of such charts are, for all of them."""
    return chart(
        "Lines: same speaker, different speakers",
        20,
        tag("path", d=corners([(4, 11), (36, 11)]), class_="s0"),
        label(44, 15, "same speaker"),
        tag("path", d=corners([(190, 11), (222, 11)]), class_="s1", stroke_dasharray=_DASHED),
        label(230, 15, "different speakers"),
    )


def _merged(histogram: Histogram) -> tuple[list[float], list[list[int]]]:
    bins = len(histogram.targets)
    step = max(1, math.ceil(bins / _MOST_BINS))
    starts = range(0, bins, step)
    edges = [histogram.edges[start] for start in starts] + list(histogram.edges[-1:])
    kinds = [
        [sum(counts[start : start + step]) for start in starts]
        for counts in (histogram.targets, histogram.nontargets)
    ]
    return edges, kinds


def _shares(counts: Sequence[int]) -> list[float]:
    total = sum(counts) or 1
    return [count / total for count in counts]


def _steps(
    edges: Sequence[float], shares: Sequence[float], across: Scale, up: Scale
) -> list[tuple[float, float]]:
    points = [(across(edges[0]), up(0))]
    for (left, right), share in zip(pairwise(edges), shares, strict=True):
        points += [(across(left), up(share)), (across(right), up(share))]
    return [*points, (across(edges[-1]), up(0))]
