"""The results as a table for the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sordino.evaluate.report.choose import (
    attacks_on,
    on_original,
    quality,
    scenarios,
    strongest,
)
from sordino.evaluate.report.choose_concealed import attributes_of, error, ignorant, informed
from sordino.evaluate.report.levels import LEVEL_NAMES, SPEAKER
from sordino.evaluate.report.markup import visible
from sordino.evaluate.report.tidy import tidied
from sordino.evaluate.report.verdict import verdicts
from sordino.evaluate.report.verdict_attributes import attribute_attacks, guessed, strongest_guess
from sordino.evaluate.report.words import (
    UNDEFINED,
    columns_of,
    counted,
    figure,
    fitting,
    scenario_name,
    shortened,
    with_interval,
)
from sordino.evaluate.results import BOTH, ONE, Failure, Results

WIDTH = 100
_GAP = "  "
# So many failures of a kind are told with their reasons, more are counted.
_TOLD_IN_FULL = 3
# In the order of what matters; those that do not fit are in the page.
_COLUMNS = (
    ("wer", "WER"),
    ("cer", "CER"),
    ("unit-loss", "units lost"),
    ("dnsmos-ovrl", "DNSMOS"),
    ("f0-correlation", "pitch"),
    ("emotion-uar", "emotion"),
    ("speed", "speed"),
)


def summary(results: Results) -> str:
    """What was found, in lines of at most 100 letters, without colours.

    The strongest attacker of each scenario with its interval, what the same attacker does on
    original speech, what is left of the speech, and the verdicts.

    Args:
        results: of an evaluation.
    """
    results = tidied(results)
    blocks = [
        _attacks(results),
        _attributes(results),
        _concealed(results),
        _qualities(results),
        _verdicts(results),
        _failures(results),
    ]
    return "\n\n".join(block for block in blocks if block)


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> str:
    """A table in columns as wide as they need, at most so many letters each.

    Args:
        head: names of the columns.
        rows: texts; longer ones lose their middle.
        widths: the most letters of each column.

    Example:
        >>> print(aligned(["who", "error"], [["a", "4.5 %"]], [9, 9]))
        who  error
        a    4.5 %
    """
    lines = [
        [shortened(_plain(text), width) for text, width in zip(row, widths, strict=True)]
        for row in (head, *rows)
    ]
    needed = [max(columns_of(row[column]) for row in lines) for column in range(len(head))]
    return "\n".join(
        _GAP.join(
            text + " " * (width - columns_of(text)) for text, width in zip(row, needed, strict=True)
        ).rstrip()
        for row in lines
    )


def _attacks(results: Results) -> str:
    rows = []
    for system in results.systems:
        shown = system.name
        for scenario in scenarios(attacks_on(results, system.name)):
            attack = strongest(attacks_on(results, system.name, scenario))
            cells = ["none has a figure", UNDEFINED, ""]
            if attack is not None:
                base = on_original(results, attack)
                original = "" if base is None else figure(base.privacy.eer.value)
                cells = [attack.attacker, with_interval(attack.privacy.eer), original]
            rows.append([shown, scenario_name(scenario), *cells])
            shown = ""
    head = ("system", "scenario", "strongest attacker", "EER (95 %)", "on orig.")
    return aligned(head, rows, (19, 15, 23, 26, 8)) if rows else ""


def _attributes(results: Results) -> str:
    rows = []
    for system in results.systems:
        attributes = dict.fromkeys(
            attack.attribute for attack in results.attributes if attack.system == system.name
        )
        for attribute in attributes:
            attack = strongest_guess(attribute_attacks(results, system.name, attribute))
            if attack is None:
                continue
            of_two = attack.auc is not None
            reached = with_interval(guessed(attack), "" if of_two else "%")
            rows.append(
                [
                    system.name,
                    attribute,
                    f"{attack.attacker}, {attack.knowledge}",
                    "AUC" if of_two else "bal. accuracy",
                    reached,
                ]
            )
    head = ("vectors", "attribute", "strongest attacker", "figure", "(95 %)")
    return aligned(head, rows, (16, 12, 29, 13, 23)) if rows else ""


def _concealed(results: Results) -> str:
    rows = []
    for one in results.concealed:
        for attribute in attributes_of(results):
            ignored, known = ignorant(one, attribute), informed(one, attribute)
            both, single = error(one, BOTH), error(one, ONE)
            of_two = known is None or known.classes == 2
            unit = "" if of_two else "%"
            rows.append(
                [
                    one.system,
                    "none" if math.isinf(one.epsilon) else f"{one.epsilon:g}",
                    attribute if of_two else f"{attribute} (acc.)",
                    UNDEFINED if ignored is None else figure(ignored.figure.mean.value, unit),
                    UNDEFINED if known is None else with_interval(known.figure.mean, unit),
                    UNDEFINED if single is None else figure(single.mean.value),
                    UNDEFINED if both is None else with_interval(both.mean),
                ]
            )
    head = ("vectors", "eps", "attribute", "ignorant", "informed", "EER one", "EER both")
    return aligned(head, rows, (17, 4, 10, 8, 21, 7, 21)) if rows else ""


def _qualities(results: Results) -> str:
    systems = [system.name for system in results.systems]
    columns = [["", *systems]]
    widths = [min(24, max(len(name) for name in columns[0]))]
    for measure, name in _COLUMNS:
        cells = [quality(results, system, measure) for system in systems]
        if not any(cells):
            continue
        texts = ["" if cell is None else with_interval(cell.value, cell.unit) for cell in cells]
        width = max(len(text) for text in (name, *texts))
        if sum(widths) + len(_GAP) * len(widths) + width <= WIDTH:
            columns.append([name, *texts])
            widths.append(width)
    if len(columns) == 1:
        return ""
    head, *rows = zip(*columns, strict=True)
    return aligned(head, rows, widths)


def _verdicts(results: Results) -> str:
    lines = []
    for verdict in verdicts(results):
        about = "" if verdict.about == SPEAKER else f", {verdict.about}"
        level = "" if verdict.level == "plain" else f"{LEVEL_NAMES[verdict.level]}. "
        lines += _wrapped(f"{verdict.system}{about}: {level}{verdict.headline}", "")
        for caution in verdict.cautions:
            lines += _wrapped(caution, "  - ")
    return "\n".join(lines)


def _failures(results: Results) -> str:
    lines = []
    by_kind: dict[str, list[Failure]] = {}
    for failure in results.failures:
        by_kind.setdefault(failure.what, []).append(failure)
    for what, failures in by_kind.items():
        if len(failures) <= _TOLD_IN_FULL and all(failure.effect for failure in failures):
            for one in failures:
                lines += _wrapped(f"{what}: {one.effect}: {one.why} ({one.where})", "")
        else:
            lines += _wrapped(f"{what}: {counted(len(failures), 'thing')} failed", "")
    for note in results.notes:
        lines += _wrapped(f"note: {note}", "")
    return "\n".join(lines)


def _wrapped(text: str, start: str) -> list[str]:
    """Lines that fit, by what letters of East Asian scripts take too; later ones are indented."""
    lines, line = [], start
    indent = " " * (len(start) or 2)
    for word in _plain(text).split(" "):
        gap = "" if line in {start, indent} else " "
        if gap and columns_of(line) + 1 + columns_of(word) > WIDTH:
            lines.append(line)
            line, gap = indent, ""
        line += gap + word
        while columns_of(line) > WIDTH:
            fits = fitting(line, WIDTH)
            lines.append(line[:fits])
            line = indent + line[fits:]
    return [*lines, line]


def _plain(text: str) -> str:
    """On one line, with spaces that a terminal knows and nothing that it would obey."""
    return visible(text.replace("\u00a0", " "))
