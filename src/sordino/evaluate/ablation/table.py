"""The table of an ablation: a row for each system."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sordino.evaluate.ablation.design import Variant
from sordino.evaluate.ablation.facts import VoiceFacts
from sordino.evaluate.report.choose import attackers_error, attacks_on, quality, strongest
from sordino.evaluate.report.words import ORIGINAL, with_interval
from sordino.evaluate.results import OWN_VOICE, Measure, Results

ROLES = ("voice", "content", "encoder", "generator", "strategy", "prosody")
"""What tells the systems apart."""

ERRORS = {"OO": "original", "OA": "ignorant", "AA-lazy": "lazy", "AA-semi-informed": "semi"}
"""Scenarios, and what their columns are called."""

# Measures of what is left of the speech: what their columns are called, and the unit.
_QUALITIES = {
    "wer": ("word errors", "%"),
    "cer": ("character errors", "%"),
    "uer": ("unit errors", "%"),
    "unit-loss": ("units lost", "%"),
    "dnsmos-ovrl": ("DNSMOS", "MOS"),
    "f0-correlation": ("rho_F0", ""),
    "speed": ("speed", "x"),
}
# Those that say what taking speech apart and putting it together costs by itself.
_OWN = ("wer", "cer", "unit-loss", "dnsmos-ovrl")
_DISTINCTIVENESS = "G_VD"


@dataclass(frozen=True)
class Row:
    """One system of an ablation.

    Attributes:
        system: as results call it; "original" for the unprotected speech.
        roles: what it is made of, by `ROLES`; empty for the original and for what is no variant.
        figures: measures by the names of their columns, each with its unit; without those that
            were not taken. Equal error rates are those of the strongest attacker.
    """

    system: str
    roles: Mapping[str, str]
    figures: Mapping[str, tuple[Measure, str]]


def ablation_rows(
    results: Results,
    variants: Sequence[Variant],
    voices: Mapping[str, VoiceFacts],
    parameters: Mapping[str, Mapping[str, object]],
    beside: Sequence[str] = (),
) -> tuple[Row, ...]:
    """The rows, that of the original speech first.

    Args:
        results: of an evaluation in which each variant was a system of its label.
        variants: what the systems are.
        voices: facts of each variant's voice.
        parameters: each variant's settings with all defaults, by its label.
        beside: other systems of the evaluation, which come last.
    """
    rows = [Row(ORIGINAL, {}, _figures(results, ORIGINAL))]
    for variant in variants:
        facts, used = voices[variant.voice], parameters[variant.label]
        roles = {
            "voice": facts.name,
            "content": facts.content,
            "encoder": facts.encoder,
            "generator": facts.generator,
            "strategy": variant.strategy.label or str(used.get("strategy", "")),
            "prosody": variant.prosody.label or str(used.get("prosody", "")),
        }
        rows.append(Row(variant.label, roles, _figures(results, variant.label)))
    rows += [Row(system, {}, _figures(results, system)) for system in beside]
    return tuple(rows)


def as_markdown(rows: Sequence[Row]) -> str:
    """The table for people: figures with their 95 % intervals."""
    columns = _columns(rows)
    lines = [
        "# Ablation",
        "",
        "Equal error rates of the strongest attacker: ignorant (OA), lazy-informed (AA-lazy),"
        " semi-informed (AA-semi-informed); 50 % would be a guess. In brackets: 95 % intervals"
        " over speakers.",
        "",
        _line(["system", *ROLES, *columns]),
        _line(["---"] * (1 + len(ROLES) + len(columns))),
    ]
    for row in rows:
        cells = [row.system, *(row.roles.get(role, "") for role in ROLES)]
        for column in columns:
            found = row.figures.get(column)
            cells.append("" if found is None else with_interval(*found).replace("\u00a0", " "))
        lines.append(_line(cells))
    return "\n".join(lines) + "\n"


def as_csv(rows: Sequence[Row]) -> str:
    """The table for programs: each figure with the ends of its interval, shares from 0 to 1."""
    columns = _columns(rows)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    ends = [f"{column}{end}" for column in columns for end in ("", " low", " high")]
    writer.writerow(["system", *ROLES, *ends])
    for row in rows:
        cells: list[object] = [row.system, *(row.roles.get(role, "") for role in ROLES)]
        for column in columns:
            measure, _ = row.figures.get(column, (Measure(None), ""))
            cells += [measure.value, measure.low, measure.high]
        writer.writerow(cells)
    return text.getvalue()


def _figures(results: Results, system: str) -> dict[str, tuple[Measure, str]]:
    found: dict[str, tuple[Measure, str]] = {}
    for scenario, name in ERRORS.items():
        attack = strongest(attacks_on(results, system, scenario))
        if attack is not None:
            found[f"EER {name}"] = (attackers_error(attack.privacy.eer), "%")
    for measure, (name, unit) in _QUALITIES.items():
        taken = quality(results, system, measure)
        if taken is not None:
            found[name] = (taken.value, unit)
    for measure in _OWN:
        taken = quality(results, f"{system}{OWN_VOICE}", measure)
        if taken is not None:
            name, unit = _QUALITIES[measure]
            found[f"{name}{OWN_VOICE}"] = (taken.value, unit)
    for similarity in results.similarities:
        if similarity.system == system:
            found[_DISTINCTIVENESS] = (similarity.distinctiveness, "dB")
    return found


def _columns(rows: Sequence[Row]) -> list[str]:
    """All figures that any row has, in the order in which they are defined."""
    names = [f"EER {name}" for name in ERRORS.values()]
    names += [name for name, _ in _QUALITIES.values()]
    names[-1:-1] = [*(f"{_QUALITIES[measure][0]}{OWN_VOICE}" for measure in _OWN), _DISTINCTIVENESS]
    return [name for name in names if any(name in row.figures for row in rows)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
