"""The figures in full, as HTML tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sordino.evaluate.report.choose import (
    attackers_error,
    attacks_on,
    deciding,
    on_original,
    scenarios,
    strongest,
)
from sordino.evaluate.report.markup import Markup, join, tag
from sordino.evaluate.report.words import (
    counted,
    figure,
    measure_name,
    scenario_meaning,
    scenario_name,
    with_interval,
)
from sordino.evaluate.results import ALL, Attack, Failure, Measure, Quality, Results

_MOST_FAILURES = 500
_ATTACK_HEAD = (
    "Attacker",
    "Error (EER)",
    "Same attacker on original speech",
    "EER, convex hull",
    "minCllr (bit)",
    "Cllr (bit)",
    "minDCF",
    "Linkability",
    "Disclosure, expected (bit)",
    "Disclosure, worst",
    "Trials",
)


def table(caption: str, head: Sequence[str], *bodies: Iterable[Markup]) -> Markup:
    """A table that scrolls by itself where it is wider than the page.

    Args:
        caption: what it shows.
        head: names of the columns.
        bodies: rows of each part.
    """
    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption),
            tag("thead", tag("tr", *(tag("th", name, scope="col") for name in head))),
            *(tag("tbody", *rows) for rows in bodies),
        ),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=caption,
    )


def attacks_table(results: Results, system: str) -> Markup:
    """All attacks on a system, the scenarios in order and the strongest attacker first in each."""
    attacks = attacks_on(results, system)
    decides = deciding(results, system)
    parts = [
        [
            _between(scenario_meaning(scenario), len(_ATTACK_HEAD)),
            *(
                _attack_row(results, attack, attack is decides)
                for attack in _by_strength(attacks_on(results, system, scenario))
            ),
        ]
        for scenario in scenarios(attacks)
    ]
    return table(f"All attacks on {system}", _ATTACK_HEAD, *parts)


def groups_table(results: Results, system: str) -> Markup | None:
    """The strongest attack of each scenario, group by group."""
    rows = []
    for scenario in scenarios(attacks_on(results, system)):
        best = strongest(attacks_on(results, system, scenario))
        if best is None:
            continue
        for attack in results.attacks:
            same = (attack.system, attack.scenario, attack.attacker)
            if same != (system, scenario, best.attacker) or attack.group == ALL:
                continue
            base = on_original(results, attack)
            rows.append(
                tag(
                    "tr",
                    tag("th", attack.group, scope="row"),
                    tag("td", scenario_name(scenario)),
                    tag("td", attack.attacker),
                    _figures(attack.privacy.eer),
                    _figures(None if base is None else base.privacy.eer),
                    tag("td", _trials(attack), class_="n"),
                )
            )
    if not rows:
        return None
    head = (
        "Group",
        "Scenario",
        "Strongest attacker",
        "Error (EER)",
        "Same attacker on original speech",
        "Trials",
    )
    return table(f"{system}, group by group", head, rows)


def qualities_table(results: Results) -> Markup | None:
    """What is left of the speech: a row for each measure and group, a column for each system."""
    systems = [system.name for system in results.systems]
    by_system = {
        (found.measure, found.group, found.system): found
        for found in results.qualities
        if not found.group.startswith("speaker: ")
    }
    measures = dict.fromkeys(measure for measure, _, _ in by_system)
    if not measures:
        return None
    rows = []
    for measure in measures:
        groups = dict.fromkeys(group for kind, group, _ in by_system if kind == measure)
        for group in sorted(groups, key=lambda group: group != ALL):
            cells = [by_system.get((measure, group, system)) for system in systems]
            found = [cell for cell in cells if cell is not None]
            if not found:
                continue
            inner = "inner" if group != ALL and ALL in groups else None
            name = group if inner else _quality_name(measure, group)
            rows.append(
                tag(
                    "tr",
                    tag("th", name, scope="row", class_=inner),
                    *(_quality_cell(cell) for cell in cells),
                    tag("td", _counts(found), class_="n"),
                )
            )
    return table("What is left of the speech", ("", *systems, "From"), rows)


def attributes_table(results: Results) -> Markup:
    """All attacks on attributes."""
    rows = [
        tag(
            "tr",
            tag("th", attack.system, scope="row"),
            tag("td", attack.attribute),
            tag("td", attack.attacker),
            tag("td", attack.knowledge),
            tag("td", f"{attack.releases:,}", class_="n"),
            _figures(attack.auc, ""),
            _figures(attack.balanced_accuracy),
            _figures(attack.cllr, ""),
            _figures(attack.information, ""),
            tag("td", f"{attack.templates:,} / {attack.speakers:,}", class_="n"),
        )
        for attack in results.attributes
    ]
    head = (
        "Vectors",
        "Attribute",
        "Attacker",
        "Trained on",
        "Releases averaged",
        "AUC",
        "Balanced accuracy",
        "Cllr (bit)",
        "Surely learnt (bit)",
        "Templates / speakers",
    )
    return table("All attacks on attributes", head, rows)


def failures_table(failures: Sequence[Failure]) -> Markup:
    """Everything that failed; where it is very much, the first of it and how much more."""
    rows = [
        tag(
            "tr",
            tag("td", failure.what),
            tag("td", failure.where, class_="path"),
            tag("td", failure.why),
            tag("td", failure.effect),
        )
        for failure in failures[:_MOST_FAILURES]
    ]
    more = len(failures) - _MOST_FAILURES
    return join(
        [
            table("What failed", ("While", "Where", "Why", "Effect on the figures"), rows),
            tag("p", f"{more:,} more are listed in results.json.") if more > 0 else None,
        ]
    )


def facts(content: Mapping[str, str]) -> Markup:
    """Names and values, one below the other."""
    return tag(
        "dl",
        *(join([tag("dt", name), tag("dd", value)]) for name, value in content.items()),
        class_="facts",
    )


def _attack_row(results: Results, attack: Attack, decides: bool) -> Markup:
    privacy = attack.privacy
    base = on_original(results, attack)
    return tag(
        "tr",
        tag(
            "th",
            attack.attacker,
            tag("span", "decides the verdict", class_="flag") if decides else None,
            scope="row",
        ),
        _figures(privacy.eer, strong=True),
        _figures(None if base is None else base.privacy.eer),
        _figures(privacy.eer_hull),
        _figures(privacy.min_cllr, ""),
        _figures(privacy.cllr, ""),
        _figures(privacy.min_dcf, ""),
        _figures(privacy.linkability, ""),
        _figures(privacy.disclosure, ""),
        tag("td", f"{privacy.category} ({figure(privacy.worst, '')})", class_="n"),
        tag("td", _trials(attack), class_="n"),
        class_="decides" if decides else None,
    )


def _between(text: str, columns: int) -> Markup:
    return tag("tr", tag("th", text, scope="rowgroup", colspan=columns, class_="between"))


def _by_strength(attacks: Sequence[Attack]) -> list[Attack]:
    def errors(attack: Attack) -> float:
        value = attackers_error(attack.privacy.eer).value
        return 2.0 if value is None else value

    return sorted(attacks, key=errors)


def _figures(measure: Measure | None, unit: str = "%", *, strong: bool = False) -> Markup:
    text = with_interval(measure, unit)
    return tag("td", tag("strong", text) if strong else text, class_="n")


def _trials(attack: Attack) -> str:
    privacy = attack.privacy
    return f"{privacy.targets:,} + {privacy.nontargets:,}, {counted(privacy.speakers, 'speaker')}"


def _quality_cell(found: Quality | None) -> Markup:
    return tag("td", "" if found is None else with_interval(found.value, found.unit), class_="n")


def _counts(found: Sequence[Quality]) -> str:
    utterances = sorted({quality.utterances for quality in found})
    many = (
        f"{utterances[0]:,}" if len(utterances) == 1 else f"{utterances[0]:,} to {utterances[-1]:,}"
    )
    return f"{many} utterances"


def _quality_name(measure: str, group: str) -> str:
    return measure_name(measure) if group == ALL else f"{measure_name(measure)}, {group}"
