"""The part of the page about concealed vectors: charts and tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from sordino.conceal.bounds import eer_at_least
from sordino.evaluate.report.charts.exposure import Exposure, exposure_chart
from sordino.evaluate.report.charts.sweep import Swept, sweep_chart
from sordino.evaluate.report.choose_concealed import (
    attributes_of,
    by_paper,
    compared,
    error,
    ignorant,
    informed,
)
from sordino.evaluate.report.markup import Markup, join, tag
from sordino.evaluate.report.sections import figure_of
from sordino.evaluate.report.tables import table
from sordino.evaluate.report.words import ORIGINAL, figure, with_interval
from sordino.evaluate.results import (
    ALL,
    BOTH,
    ONE,
    Concealed,
    Guessed,
    Measure,
    Repeated,
    Results,
)

_SWEEPS = {"epsilon_train": "epsilon in training", "epsilon": "epsilon at release"}
_NONE = Measure(None)


def concealed_charts(results: Results) -> list[Markup]:
    """What is left to attackers against what is left to verification, and the sweeps."""
    return [
        *(chart for attribute in attributes_of(results) for chart in _exposure(results, attribute)),
        *(chart for kind in _SWEEPS for chart in _swept(results, kind)),
    ]


def concealed_tables(results: Results) -> Markup:
    """All rows, all points of sweeps, and all attackers."""
    attributes = attributes_of(results)
    parts: list[Markup | None] = [
        table(
            "Ways of concealing",
            _head(results),
            [_row(one, attributes, _groups(results)) for one in compared(results)],
        ),
        tag(
            "p",
            "Figures in brackets are 95\u00a0% intervals over speakers; \u00b1 is the standard"
            " deviation over trainings with other seeds. Ignorant attackers were trained on"
            " unprotected vectors; informed ones may also have retrained on vectors that were"
            " concealed in the same way. The strongest of each counts.",
            class_="fine",
        ),
    ]
    for kind, name in _SWEEPS.items():
        points = [one for one in results.concealed if one.sweep == kind]
        if points:
            rows = [_row(one, attributes, _groups(results)) for one in points]
            parts.append(_folded(f"Sweep of {name}", table(name, _head(results), rows)))
    guesses = [_guess_row(one, guess) for one in compared(results) for guess in one.guesses]
    head = ("Vectors", "Attribute", "Attacker", "Trained on", "Figure", "Each training")
    parts.append(_folded("Every attacker", table("Every attacker", head, guesses)))
    return join(parts)


def _exposure(results: Results, attribute: str) -> Iterator[Markup]:
    ways, classes = [], 2
    for one in compared(results):
        ignored, known = ignorant(one, attribute), informed(one, attribute)
        both = error(one, BOTH)
        if ignored is None or known is None or both is None:
            continue
        classes = known.classes
        ways.append(Exposure(one.system, both.mean, ignored.figure.mean, known.figure.mean))
    if not ways:
        return
    name = "AUC" if classes == 2 else "balanced accuracy"
    title = f"How well {attribute} is guessed, and what verification costs"
    yield figure_of(
        title,
        exposure_chart(title, ways, f"{name} of attackers on {attribute}", 1 / classes),
        "Lower is better hidden, further to the left is better verified; the best corner is bottom"
        " left. Rings: attackers who know unprotected vectors only; full marks: informed attackers,"
        " who count. Both sides of verification are concealed. Coloured lines are intervals.",
    )


def _swept(results: Results, kind: str) -> Iterator[Markup]:
    points = [one for one in results.concealed if one.sweep == kind]
    if not points:
        return
    names = list(dict.fromkeys(one.system for one in points))
    across = _SWEEPS[kind]

    def curves(readings: dict[str, Callable[[Concealed], Measure]]) -> list[Swept]:
        return [
            Swept(
                f"{name}, {what}",
                [
                    (one.epsilon if kind == "epsilon" else one.epsilon_train, reading(one))
                    for one in points
                    if one.system == name
                ],
            )
            for name in names
            for what, reading in readings.items()
        ]

    for attribute in attributes_of(results):
        classes = max(
            (
                guess.classes
                for one in points
                for guess in one.guesses
                if guess.attribute == attribute
            ),
            default=0,
        )
        if not classes:
            continue
        what = "AUC" if classes == 2 else "balanced accuracy"
        title = f"How well {attribute} is guessed, by {across}"
        yield figure_of(
            title,
            sweep_chart(
                title,
                curves(
                    {
                        "ignorant": lambda one, a=attribute: _mean(ignorant(one, a)),  # type: ignore[misc]
                        "informed": lambda one, a=attribute: _mean(informed(one, a)),  # type: ignore[misc]
                    }
                ),
                (across, f"{what} of attackers"),
                unit="",
                ends=(1 / classes, 1.0),
                guess=1 / classes,
            ),
            "Lower is better hidden. Fewer attackers than in the comparison: a strong one takes too"
            " long for every point.",
        )
    if any(one.verified for one in points):
        title = f"Errors of verification, by {across}"
        bound = ("least possible", eer_at_least) if kind == "epsilon" else None
        yield figure_of(
            title,
            sweep_chart(
                title,
                curves(
                    {
                        "one side": lambda one: _eer(one, ONE),
                        "both sides": lambda one: _eer(one, BOTH),
                    }
                ),
                (across, "EER"),
                unit="%",
                ends=(0.0, 0.5),
                guess=0.5,
                bound=bound,
            ),
            "Lower is better verified. One side: trials are concealed, enrolments are not."
            + (" No verifier of single templates can be below the thin line." if bound else ""),
        )


def _mean(guess: Guessed | None) -> Measure:
    return _NONE if guess is None else guess.figure.mean


def _eer(one: Concealed, sides: str) -> Measure:
    found = error(one, sides)
    return _NONE if found is None else found.mean


def _groups(results: Results) -> tuple[str, ...]:
    """Groups of trials, all of them first; none where nothing was verified."""
    return tuple(dict.fromkeys(found.group for one in results.concealed for found in one.verified))


def _head(results: Results) -> list[str]:
    head = ["Vectors", "Epsilon in training", "Epsilon at release", "Guarantee", "Trainings"]
    for attribute in attributes_of(results):
        head += [
            f"{attribute}, the paper's attacker",
            f"{attribute}, ignorant",
            f"{attribute}, informed",
        ]
    for group in _groups(results):
        of_group = "" if group == ALL else f", {group}"
        head += [f"EER, one side{of_group}", f"EER, both sides{of_group}"]
    return head


def _row(one: Concealed, attributes: tuple[str, ...], groups: tuple[str, ...]) -> Markup:
    original = one.system == ORIGINAL
    cells = [
        tag("th", one.system, scope="row"),
        tag("td", "" if original else _epsilon(one.epsilon_train), class_="n"),
        tag("td", "" if original else _epsilon(one.epsilon), class_="n"),
        tag("td", one.guarantee),
        tag("td", str(one.trainings or ""), class_="n"),
    ]
    for attribute in attributes:
        cells.append(_guess_cell(by_paper(one, attribute), named=False))
        cells.append(_guess_cell(ignorant(one, attribute)))
        cells.append(_guess_cell(informed(one, attribute)))
    for group in groups:
        cells += [_figure_cell(error(one, sides, group), "%") for sides in (ONE, BOTH)]
    return tag("tr", *cells)


def _guess_row(one: Concealed, guess: Guessed) -> Markup:
    unit = "" if guess.classes == 2 else "%"
    each = ", ".join(figure(value, unit) for value in guess.figure.each)
    return tag(
        "tr",
        tag("th", one.system, scope="row"),
        tag("td", guess.attribute),
        tag("td", guess.attacker),
        tag("td", "unprotected" if guess.knowledge == "clean" else "concealed"),
        _figure_cell(guess.figure, unit),
        tag("td", each, class_="n"),
    )


def _guess_cell(guess: Guessed | None, *, named: bool = True) -> Markup:
    if guess is None:
        return tag("td", "n/a", class_="n")
    unit = "" if guess.classes == 2 else "%"
    name = [tag("br"), tag("span", f"{guess.attacker}, {guess.knowledge}", class_="fine")]
    return tag("td", _with_spread(guess.figure, unit), *(name if named else ()), class_="n")


def _figure_cell(found: Repeated | None, unit: str) -> Markup:
    return tag("td", "n/a" if found is None else _with_spread(found, unit), class_="n")


def _with_spread(found: Repeated, unit: str) -> str:
    spread = found.spread
    text = with_interval(found.mean, unit)
    return text if spread is None else f"{text} \u00b1\u00a0{figure(spread, unit)}"


def _epsilon(value: float) -> str:
    return "none" if math.isinf(value) else f"{value:g}"


def _folded(title: str, content: Markup) -> Markup:
    return tag("details", tag("summary", title), content)
