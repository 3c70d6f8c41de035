"""The comparison of concealers as a table: a row for each way of concealing, and each point."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sordino.evaluate.concealment.impossible import BUG
from sordino.evaluate.report.choose_concealed import (
    attributes_of,
    by_paper,
    error,
    ignorant,
    informed,
)
from sordino.evaluate.report.words import ORIGINAL
from sordino.evaluate.results import ALL, BOTH, ONE, Concealed, Guessed, Measure, Repeated, Results

_NOTHING = Repeated(Measure(None), ())


@dataclass(frozen=True)
class Column:
    """A figure of a row.

    Attributes:
        name: what the column is called.
        figure: the figure.
        unit: "" for areas, "%" for rates.
        by: who reached it, where it is the strongest of several.
    """

    name: str
    figure: Repeated
    unit: str
    by: str = ""


def columns(concealed: Concealed, attributes: Sequence[str]) -> list[Column]:
    """All figures of a row, always the same columns.

    Args:
        concealed: the row.
        attributes: what is guessed.
    """
    found = []
    for attribute in attributes:
        for who, guess in (
            ("paper's attacker", by_paper(concealed, attribute)),
            ("ignorant", ignorant(concealed, attribute)),
            ("informed", informed(concealed, attribute)),
        ):
            kind = "AUC" if guess is None or guess.classes == 2 else "balanced accuracy"
            found.append(
                Column(
                    f"{attribute} {kind}, {who}",
                    _NOTHING if guess is None else guess.figure,
                    "" if kind == "AUC" else "%",
                    "" if guess is None or who == "paper's attacker" else _who(guess),
                )
            )
    groups = dict.fromkeys((ALL, *(one.group for one in concealed.verified)))
    for group in groups:
        for sides, name in ((ONE, "one side"), (BOTH, "both sides")):
            of_group = "" if group == ALL else f", {group}"
            figure = error(concealed, sides, group) or _NOTHING
            found.append(Column(f"EER {name}{of_group}", figure, "%"))
    return found


def as_csv(results: Results) -> str:
    """The table for programs: figures with intervals, spread and the figure of each training."""
    attributes = attributes_of(results)
    rows = [(one, columns(one, attributes)) for one in results.concealed]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head = ["row", "sweep", "epsilon in training", "epsilon", "delta", "mechanism", "guarantee"]
    head.append("trainings")
    for column in rows[0][1] if rows else ():
        head += [f"{column.name}{end}" for end in ("", " low", " high", " spread", " each")]
        if _has_by(column):
            head.append(f"{column.name} by")
    writer.writerow(head)
    for one, found in rows:
        cells: list[object] = [
            one.system,
            one.sweep,
            _number(one.epsilon_train),
            _number(one.epsilon),
            one.delta,
            one.mechanism,
            one.guarantee,
            one.trainings,
        ]
        for column in found:
            figure = column.figure
            cells += [figure.mean.value, figure.mean.low, figure.mean.high, figure.spread]
            cells.append(" ".join(f"{value:.6g}" for value in figure.each))
            if _has_by(column):
                cells.append(column.by)
        writer.writerow(cells)
    return text.getvalue()


def as_markdown(results: Results) -> str:
    """The table for people: what is compared, then the sweeps."""
    attributes = attributes_of(results)
    lines = [
        "# Concealment",
        "",
        "AUC: 0.5 is a guess, 1 is always right. EER: 50 % would be a guess; of the cosine, in"
        " trials inside one collection. In brackets: 95 % intervals over speakers; +-: standard"
        " deviation over trainings. Ignorant attackers know unprotected vectors only, informed ones"
        " have retrained on concealed ones; the strongest of each counts.",
        "",
    ]
    bugs = [failure for failure in results.failures if failure.what == BUG]
    for bug in bugs:
        lines += [f"**This is a bug:** {bug.where}: {bug.why}; {bug.effect}.", ""]
    for sweep, rows in _parts(results.concealed):
        if sweep:
            lines += ["", f"## Sweep: {sweep}", ""]
        names = [column.name for column in columns(rows[0], attributes)]
        head = ["row", "epsilon in training", "epsilon", "guarantee", "trainings", *names]
        lines += [_line(head), _line(["---"] * len(head))]
        for one in rows:
            cells = [
                one.system,
                "" if one.system == ORIGINAL else _number(one.epsilon_train),
                "" if one.system == ORIGINAL else _number(one.epsilon),
                one.guarantee,
                str(one.trainings or ""),
                *(column_text(column) for column in columns(one, attributes)),
            ]
            lines.append(_line(cells))
    return "\n".join(lines) + "\n"


def column_text(column: Column) -> str:
    """A figure with its interval, its spread and who reached it.

    Example:
        >>> figure = Repeated(Measure(0.25, 0.125, 0.5), (0.2, 0.3))
        >>> column_text(Column("AUC", figure, "", "mlp, retrained"))
        '0.25 (0.12 to 0.50) +-0.071, mlp, retrained'
    """
    scale, places, unit = (100, 1, " %") if column.unit == "%" else (1, 2, "")
    mean = column.figure.mean
    if mean.value is None:
        return "n/a"
    text = f"{scale * mean.value:.{places}f}{unit}"
    if mean.low is not None and mean.high is not None:
        text += f" ({scale * mean.low:.{places}f} to {scale * mean.high:.{places}f})"
    if column.figure.spread is not None:
        text += f" +-{scale * column.figure.spread:.{places + (unit == '')}f}"
    return f"{text}, {column.by}" if column.by else text


def _parts(concealed: Sequence[Concealed]) -> Iterator[tuple[str, list[Concealed]]]:
    parts: dict[str, list[Concealed]] = {}
    for one in concealed:
        name = {"": "", "epsilon": "epsilon at release"}.get(one.sweep, "epsilon in training")
        parts.setdefault(name, []).append(one)
    yield from parts.items()


def _who(guess: Guessed) -> str:
    return f"{guess.attacker}, {guess.knowledge}"


def _has_by(column: Column) -> bool:
    return column.name.endswith(("ignorant", "informed"))


def _number(value: float) -> str:
    return "inf" if math.isinf(value) else f"{value:g}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
