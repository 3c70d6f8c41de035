"""Draw what protection costs, from evaluations: docs/images/trade-off.svg.

    python tools/make_tradeoff.py report/results.json
    python tools/make_tradeoff.py report/ablation.csv other/results.json \\
        --system "sordino-small, normalise=neural" --system "speaker=mcadams"

Each of three attackers has a panel, and each system has a point in it: how often the attacker errs,
against how many words a speech recogniser gets wrong, with 95 % intervals. The files are those that
`sordino evaluate anonymization` and `sordino evaluate ablation` write.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sordino.evaluate.report.charts.svg import Scale, chart, label, line, marker, ticks
from sordino.evaluate.report.choose import (
    attackers_error,
    attacks_on,
    quality,
    strongest,
    text_measure,
)
from sordino.evaluate.report.markup import Markup, join, tag
from sordino.evaluate.report.words import ORIGINAL, tick_text
from sordino.evaluate.results import ALL, Measure, read_results

TARGET = Path(__file__).parent.parent / "docs" / "images" / "trade-off.svg"

# By the scenario: its column in ablation.csv, its name, and what the attacker does.
PANELS = {
    "OA": ("EER ignorant", "ignorant", "compares with untouched speech"),
    "AA-lazy": ("EER lazy", "lazy-informed", "anonymizes what it compares with, too"),
    "AA-semi-informed": ("EER semi", "semi-informed", "has also learnt from anonymized speech"),
}
UNTOUCHED = ("OO", "EER original")
WORDS = ("word errors", "character errors")

WIDTH, PLOT, TALL, GAP, LEFT = 900.0, 254.0, 270.0, 24.0, 62.0
HIGHEST = 0.55
# A row of the legend, and a letter of it.
ROW, LETTER = 22.0, 7.0

# As the report's, without its dark mode: a picture does not know on what page it is shown.
STYLE = """\
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  fill: #1d1f23; }
.small { font-size: 11.5px; fill: #565b64; }
.strong { font-weight: 600; }
.paper { fill: #ffffff; }
.grid { stroke: #dcd9d3; }
.guide { stroke: #565b64; stroke-dasharray: 2 3; stroke-width: 1.2; }
.s0 { fill: #00609c; stroke: #00609c; } .s1 { fill: #b8470a; stroke: #b8470a; }
.s2 { fill: #00704f; stroke: #00704f; } .s3 { fill: #8e3b78; stroke: #8e3b78; }
.s4 { fill: #7a5c00; stroke: #7a5c00; } .s5 { fill: #4a4f57; stroke: #4a4f57; }
.bar { stroke-width: 2.2; stroke-linecap: round; }
.m { stroke: #ffffff; stroke-width: 0.8; }
.whisker { stroke: #1d1f23; stroke-width: 1.4; }
.hollow { fill: #ffffff; stroke: #1d1f23; stroke-width: 2; }
"""


@dataclass(frozen=True)
class Point:
    """A system, or the original speech.

    Attributes:
        name: of the system.
        words: recognised wrongly, a share.
        errors: of the strongest attacker, by the scenario.
    """

    name: str
    words: Measure
    errors: Mapping[str, Measure]


def read_points(path: Path, group: str = ALL) -> list[Point]:
    """The points of an evaluation, that of the original speech first.

    Args:
        path: results.json or ablation.csv.
        group: of utterances, for words; such as "language: en". Only results.json has any.
    """
    return from_table(path) if path.suffix == ".csv" else from_results(path, group)


def from_results(path: Path, group: str) -> list[Point]:
    """The points of results.json."""
    results = read_results(path)
    measure = text_measure(results)
    points = []
    for name in dict.fromkeys([ORIGINAL, *(system.name for system in results.systems)]):
        words = quality(results, name, measure, group) if measure else None
        found = {
            scenario: strongest(attacks_on(results, name, scenario))
            for scenario in (*PANELS, UNTOUCHED[0])
        }
        errors = {
            scenario: attackers_error(attack.privacy.eer)
            for scenario, attack in found.items()
            if attack is not None
        }
        points.append(Point(name, words.value if words else Measure(None), errors))
    return points


def from_table(path: Path) -> list[Point]:
    """The points of ablation.csv."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = {scenario: column for scenario, (column, _, _) in PANELS.items()}
    columns[UNTOUCHED[0]] = UNTOUCHED[1]
    points = []
    for row in rows:
        errors = {scenario: _measure(row, column) for scenario, column in columns.items()}
        words = next(filter(_known, (_measure(row, column) for column in WORDS)), Measure(None))
        points.append(Point(row["system"], words, errors))
    return points


def joined(evaluations: Iterable[Sequence[Point]]) -> list[Point]:
    """The points of several evaluations; what is in several, such as the original, once."""
    points: dict[str, Point] = {}
    for evaluation in evaluations:
        for point in evaluation:
            points.setdefault(point.name, point)
    return list(points.values())


def chosen(points: Sequence[Point], names: Mapping[str, str]) -> list[Point]:
    """The original, and the systems of these names, in their order and called as they say."""
    by_name = {point.name: point for point in points}
    if unknown := names.keys() - by_name:
        raise SystemExit(f"there is no system {min(unknown)!r}; there are: {'; '.join(by_name)}")
    wanted = names or {name: name for name in by_name if name != ORIGINAL}
    systems = [
        Point(shown, by_name[name].words, by_name[name].errors) for name, shown in wanted.items()
    ]
    return [*(point for point in points if point.name == ORIGINAL), *systems]


def drawing(points: Sequence[Point], words: str) -> Markup:
    """The picture.

    Args:
        points: the original and the systems.
        words: what the axis across is called.
    """
    original = next((point for point in points if point.name == ORIGINAL), None)
    systems = [point for point in points if point.name != ORIGINAL]
    legend, top = _legend([point.name for point in systems])
    ends = [end for point in points for end in (point.words.value, point.words.high) if end]
    furthest = min(1.0, 1.06 * max([0.1, *ends]))
    parts = [
        _panel(place, scenario, top, furthest, systems, original)
        for place, scenario in enumerate(PANELS)
    ]
    middle = top + 48 + TALL / 2
    across = label(LEFT + (3 * PLOT + 2 * GAP) / 2, top + 48 + TALL + 38, words, anchor="middle")
    upright = tag(
        "text",
        "errors of the strongest attacker",
        text_anchor="middle",
        transform=f"translate(15 {middle:.0f}) rotate(-90)",
    )
    height = top + 48 + TALL + 50
    paper = tag("rect", x=0, y=0, width=WIDTH, height=height, class_="paper")
    title = "What protection costs: errors of attackers against words that are lost"
    # The style is the one part that is no markup of the data.
    style = Markup(f"<style>{STYLE}</style>")
    return chart(title, height, style, paper, legend, *parts, across, upright, width=WIDTH)


def _panel(
    place: int,
    scenario: str,
    top: float,
    furthest: float,
    systems: Sequence[Point],
    original: Point | None,
) -> Markup:
    _, name, meaning = PANELS[scenario]
    start = LEFT + place * (PLOT + GAP)
    floor = top + 48 + TALL
    across = Scale(0.0, furthest, start, start + PLOT)
    up = Scale(0.0, HIGHEST, floor, floor - TALL)
    grid: list[Markup] = [
        label(start, top + 18, name, class_="strong"),
        label(start, top + 35, meaning, class_="small"),
    ]
    for tick in ticks(0.0, HIGHEST, 7):
        grid.append(line(across.start, up(tick), across.end, up(tick)))
        if place == 0:
            grid.append(label(start - 8, up(tick) + 4, tick_text(tick), anchor="end"))
    for tick in ticks(0.0, furthest, 6):
        grid.append(line(across(tick), up.start, across(tick), up.end))
        grid.append(label(across(tick), floor + 18, tick_text(tick), anchor="middle"))
    grid.append(line(across.start, up(0.5), across.end, up(0.5), "guide"))
    grid.append(label(across.end - 4, up(0.5) - 5, "a guess", anchor="end", class_="small"))
    if place == 0:
        grid.append(label(start + 4, up(0.5) - 5, "\N{NORTH WEST ARROW} better", class_="small"))
    marks: list[Markup] = []
    if original is not None:
        error = original.errors.get(UNTOUCHED[0])
        marks.append(_mark(across, up, original.words, error, None))
    for series, point in enumerate(systems):
        marks.append(_mark(across, up, point.words, point.errors.get(scenario), series))
    return join([*grid, *marks])


def _mark(
    across: Scale, up: Scale, words: Measure, error: Measure | None, series: int | None
) -> Markup:
    if error is None or error.value is None or words.value is None:
        return join([])
    x, y = across(words.value), up(error.value)
    bar = "whisker" if series is None else f"bar s{series % 6}"
    parts: list[Markup] = []
    if error.low is not None and error.high is not None:
        parts.append(line(x, up(error.low), x, up(error.high), bar))
    if words.low is not None and words.high is not None:
        parts.append(line(across(words.low), y, across(words.high), y, bar))
    if series is None:
        parts.append(tag("circle", cx=x, cy=y, r=5.5, class_="hollow"))
    else:
        parts.append(marker(x, y, series, None, 6))
    return join(parts)


def _legend(names: Sequence[str]) -> tuple[Markup, float]:
    """The original and the systems side by side, in as many rows as they need, and their end."""
    parts: list[Markup] = []
    x, y = LEFT, 16.0
    for series, name in enumerate(["untouched speech", *names], -1):
        width = 18 + LETTER * len(name) + 26
        if x > LEFT and x + width > WIDTH:
            x, y = LEFT, y + ROW
        parts.append(
            tag("circle", cx=x + 6, cy=y, r=5.5, class_="hollow")
            if series < 0
            else marker(x + 6, y, series, None, 6)
        )
        parts.append(label(x + 18, y + 4.5, name))
        x += width
    return join(parts), y + ROW / 2


def _measure(row: Mapping[str, str], column: str) -> Measure:
    value, low, high = (
        float(text) if (text := row.get(f"{column}{end}")) else None
        for end in ("", " low", " high")
    )
    return Measure(value, low, high)


def _known(measure: Measure) -> bool:
    return measure.value is not None


def main() -> None:
    """Read, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("results", nargs="+", type=Path, help="results.json or ablation.csv")
    add("-o", "--output", type=Path, default=TARGET, help="default: %(default)s")
    add(
        "--system",
        action="append",
        default=[],
        metavar="NAME[=SHOWN]",
        help="draw this one, and call it so (default: all)",
    )
    add("--group", default=ALL, help="of utterances, for words: such as 'language: en'")
    add("--words", default="words that a speech recogniser gets wrong", help="name of that axis")
    options = parser.parse_args()

    points = joined(read_points(path, options.group) for path in options.results)
    names = {
        name: shown or name for name, _, shown in (text.partition("=") for text in options.system)
    }
    options.output.write_text(
        drawing(chosen(points, names), options.words) + "\n", encoding="utf-8"
    )
    print(f"{options.output}: {options.output.stat().st_size / 1e3:.1f} kB")


if __name__ == "__main__":
    main()
