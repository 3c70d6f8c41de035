"""The comparison as a table for people, for spreadsheets and for programs."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sordino.evaluate.results import Measure
from sordino.training.distil.comparison import Comparison, Row
from sordino.training.distil.errors_over_seeds import Compared

_HEAD = (
    "row",
    "EER",
    "change, relative",
    "EER, impostors of other classes",
    "change there, relative",
    "EER, impostors of the same class",
    "change there, relative",
    "speaker accuracy",
    "agreement with the teacher",
    "side accuracy",
    "teacher's side accuracy",
)


def as_markdown(comparison: Comparison, title: str, notes: Sequence[str] = ()) -> str:
    """The table for people.

    Args:
        comparison: what was measured.
        title: of the page.
        notes: paragraphs below the table.
    """
    facts = comparison.facts
    lines = [
        f"# {title}",
        "",
        f"Speaker networks: {facts['training_speakers']} training speakers,"
        f" {facts['training_vectors']} vectors. Verification: {facts['tried_speakers']} other"
        f" speakers, {facts['target_trials']} target and {facts['nontarget_trials']} non-target"
        f" trials inside collections. Users with a label: {facts['users']} speakers.",
        "",
        "Means over trainings; in brackets 95 % intervals over speakers, for changes paired with"
        " the baseline by training and by speaker; +-: standard deviation over trainings.",
        "",
        _line(_HEAD),
        _line(["---"] * len(_HEAD)),
        *(_line(_cells(row)) for row in comparison.rows),
    ]
    for note in notes:
        lines += ["", note]
    return "\n".join(lines) + "\n"


def as_csv(comparison: Comparison) -> str:
    """The table for spreadsheets: plain numbers, rates from 0 to 1."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    figures = ("eer", "change", "relative")
    parts = ("", "other classes ", "same class ")
    head = ["row"]
    head += [f"{p}{name}{end}" for p in parts for name in figures for end in ("", " low", " high")]
    head += ["eer each", "speaker accuracy", "agreement", "side accuracy", "teacher side accuracy"]
    writer.writerow(head)
    for row in comparison.rows:
        cells: list[object] = [row.name]
        for errors in (row.errors, row.other_classes, row.same_class):
            for measure in _measures(errors):
                cells += [measure.value, measure.low, measure.high]
        cells.append(" ".join(f"{value:.6g}" for value in row.errors.eer.each))
        cells += [_mean(each) for each in (row.speakers, row.agreement, row.side, row.teacher)]
        writer.writerow(cells)
    return text.getvalue()


def as_values(comparison: Comparison) -> dict[str, Any]:
    """All that was measured, ready for JSON."""
    return {
        "facts": dict(comparison.facts),
        "rows": [asdict(row) for row in comparison.rows],
    }


def percent(measure: Measure, *, signed: bool = False) -> str:
    """A rate with its interval.

    Example:
        >>> percent(Measure(0.25, 0.125, 0.5)), percent(Measure(-0.06), signed=True)
        ('25.0 % (12.5 to 50.0)', '-6.0 %')
    """
    if measure.value is None:
        return ""
    form = "+.1f" if signed else ".1f"
    text = f"{100 * measure.value:{form}} %"
    if measure.low is not None and measure.high is not None:
        text += f" ({100 * measure.low:{form}} to {100 * measure.high:{form}})"
    return text


def _cells(row: Row) -> list[str]:
    spread = row.errors.eer.spread
    cells = [row.name]
    for errors in (row.errors, row.other_classes, row.same_class):
        eer, _, relative = _measures(errors)
        cells += [percent(eer), percent(relative, signed=True)]
    if spread is not None:
        cells[1] += f" +-{100 * spread:.1f}"
    shares = (row.speakers, row.agreement, row.side, row.teacher)
    return [*cells, *(percent(Measure(_mean(each))) for each in shares)]


def _measures(errors: Compared | None) -> tuple[Measure, Measure, Measure]:
    if errors is None:
        nothing = Measure(None)
        return nothing, nothing, nothing
    return errors.eer.mean, errors.change.mean, errors.relative


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def protection(statement: Mapping[str, Any] | None) -> str:
    """What is protected by a federated teacher's guarantee after distillation, and what is not.

    Args:
        statement: of the teacher's training, or None where nothing is guaranteed.
    """
    told = "nothing: its training states no guarantee"
    if statement is not None:
        central, local = statement.get("central"), statement.get("local")
        parts = []
        if central:
            parts.append(
                f"central epsilon {central['epsilon_total']:.3g}, delta {central['delta_total']:g}"
            )
        if local:
            parts.append(
                f"local epsilon {local['epsilon']:.3g} an upload, {local['epsilon_total']:.4g} in"
                f" {local['releases']} rounds"
            )
        told = "; ".join(parts) if parts else told
        if statement.get("why_not"):
            told += f" ({statement['why_not']})"
    return (
        f"**Protected:** the users whose labels and vectors trained the federated teacher: {told}."
        " What is distilled from it is post-processing and reveals no more."
        " **Not protected:** the speakers that the speaker network itself is trained on, those"
        " whose labels are known centrally, and people's voices in templates made with it."
    )
