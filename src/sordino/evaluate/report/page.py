"""The report as one HTML page that loads nothing, runs nothing and can be printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.resources import files

from sordino.evaluate.report.cards import card
from sordino.evaluate.report.choose import attacks_on, protected
from sordino.evaluate.report.concealed import concealed_charts, concealed_tables
from sordino.evaluate.report.glossary import glossary
from sordino.evaluate.report.levels import BANDS
from sordino.evaluate.report.markup import Markup, join, tag
from sordino.evaluate.report.sections import (
    attribute_charts,
    of_system,
    overview,
    words_by_speaker,
)
from sordino.evaluate.report.tables import (
    attacks_table,
    attributes_table,
    facts,
    failures_table,
    groups_table,
    qualities_table,
)
from sordino.evaluate.report.tidy import tidied
from sordino.evaluate.report.verdict import verdicts
from sordino.evaluate.report.words import counted, scenario_meaning
from sordino.evaluate.results import Results

_TITLES = {
    "anonymization": "How well are these voices hidden?",
    "embeddings": "What do these voice vectors still tell?",
    "concealment": "What do these concealed voice vectors still tell?",
    "scores": "How well do these scores tell speakers apart?",
}
# Even if something foreign got in, a browser would neither load nor run it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(results: Results) -> str:
    """The whole page.

    Args:
        results: of an evaluation; what is missing in them is left out, or it is said why.
    """
    results = tidied(results)
    title = _TITLES.get(results.kind, "Evaluation")
    sections = [
        (name, heading, content)
        for name, heading, content in (
            ("verdict", "Verdict", _verdict(results)),
            ("overview", "At a glance", _charts(overview(results))),
            ("concealed", "Hidden from attackers, kept for verification", _concealed(results)),
            ("attackers", "Who attacked, and how well", _attacks(results)),
            ("systems", "System by system", _systems(results)),
            ("attributes", "Attributes", _attributes(results)),
            ("speech", "What is left of the speech", _speech(results)),
            ("failures", "What failed", _failures(results)),
            ("repeat", "How this was measured, and how to repeat it", _repeat(results)),
            ("words", "Words", glossary(results)),
        )
        if content
    ]
    body = tag(
        "body",
        tag("a", "Skip to the verdict", href="#verdict", class_="skip"),
        tag(
            "header",
            tag("p", "sordino evaluation", class_="brand"),
            tag("h1", title),
            tag("p", _subtitle(results), class_="subtitle"),
            tag(
                "nav",
                *(tag("a", heading, href=f"#{name}") for name, heading, _ in sections),
                aria_label="Contents",
            ),
            class_="top",
        ),
        tag(
            "main",
            *(
                tag("section", tag("h2", heading), content, id=name)
                for name, heading, content in sections
            ),
        ),
        tag(
            "footer",
            f"Made by sordino {results.version} on {_day(results.created)}. This page holds no"
            " recordings, loads nothing and sends nothing. All figures are in results.json.",
        ),
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{title} - sordino evaluation"),
        tag("link", rel="icon", href="data:,"),
        tag("style", _style()),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _style() -> Markup:
    text = (files("sordino.evaluate.report") / "page.css").read_text(encoding="utf-8")
    return Markup(re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))


def _subtitle(results: Results) -> str:
    judged = protected(results)
    parts = [counted(len(judged), "system")] if judged else []
    if len(judged) < len(results.systems):
        parts.append("the original")
    attackers = f", {counted(len(results.attackers), 'attacker')}" if results.attackers else ""
    return f"{' and '.join(parts) or 'Nothing'}{attackers}. Measured on {_day(results.created)}."


def _day(created: str) -> str:
    return created.partition("T")[0]


def _charts(charts: Iterable[Markup | None]) -> Markup:
    shown = [chart for chart in charts if chart]
    return tag("div", *shown, class_="charts") if shown else Markup("")


def _verdict(results: Results) -> Markup:
    found = verdicts(results)
    bands = ", ".join(
        f"{name} from {100 * start:.0f}\u00a0%"
        for (start, _), name in zip(BANDS[1:], ("weak", "partial", "strong"), strict=True)
    )
    judged = any(verdict.attack and verdict.level != "plain" for verdict in found)
    return join(
        [
            tag("div", *(card(results, verdict) for verdict in found), class_="cards"),
            tag(
                "p",
                "How the level is chosen: by the error of the strongest attacker who knows the"
                f" system, at the careful (lower) end of its 95\u00a0% interval: {bands}. An"
                " attacker who does not know the system never decides; one who is bad on original"
                " speech, or an interval that is too wide, gives no level. No test proves that"
                " there is no better attacker.",
                class_="fine",
            )
            if judged
            else None,
            None if found else tag("p", "Nothing was compared, so there is nothing to judge."),
            tag("p", _failed(results), class_="failed") if results.failures else None,
            tag("ul", *(tag("li", note) for note in results.notes), class_="notes")
            if results.notes
            else None,
        ]
    )


def _failed(results: Results) -> Markup:
    number = len(results.failures)
    return join(
        [
            f"{counted(number, 'thing')} failed or could not be used; ",
            tag("a", "see which, and what it means for the figures", href="#failures"),
            ".",
        ]
    )


def _attacks(results: Results) -> Markup:
    attacked = [system for system in results.systems if attacks_on(results, system.name)]
    attackers = tag(
        "dl",
        *(
            join([tag("dt", attacker.name), tag("dd", attacker.what)])
            for attacker in results.attackers
        ),
        class_="terms",
    )
    scenarios = dict.fromkeys(attack.scenario for attack in results.attacks)
    meanings = tag(
        "ul", *(tag("li", scenario_meaning(scenario)) for scenario in scenarios), class_="plain"
    )
    return join(
        [
            join([tag("h3", "The attackers"), attackers]) if results.attackers else None,
            join([tag("h3", "What they know"), meanings]) if scenarios else None,
            *(
                join(
                    [
                        tag("h3", tag("bdi", system.name)),
                        attacks_table(results, system.name),
                        _folded("Group by group", groups_table(results, system.name)),
                    ]
                )
                for system in attacked
            ),
            tag(
                "p",
                "Figures in brackets are 95\u00a0% intervals over speakers. Trials: of the same"
                " speaker + of different ones.",
                class_="fine",
            )
            if attacked
            else None,
        ]
    )


def _folded(title: str, content: Markup | None) -> Markup | None:
    return None if content is None else tag("details", tag("summary", title), content)


def _systems(results: Results) -> Markup:
    parts = []
    for system in results.systems:
        charts = _charts(of_system(results, system.name))
        if charts:
            parts.append(join([tag("h3", tag("bdi", system.name)), charts]))
    return join(parts)


def _attributes(results: Results) -> Markup:
    if not results.attributes:
        return Markup("")
    return join([_charts(attribute_charts(results)), attributes_table(results)])


def _concealed(results: Results) -> Markup:
    if not results.concealed:
        return Markup("")
    return join([_charts(concealed_charts(results)), concealed_tables(results)])


def _speech(results: Results) -> Markup:
    table = qualities_table(results)
    if table is None and results.kind != "anonymization":
        return Markup("")
    missing = [
        what
        for what, measures in (
            ("recognised words", {"wer", "cer"}),
            ("sound quality", {"dnsmos-ovrl"}),
        )
        if not measures & {quality.measure for quality in results.qualities}
    ]
    return join(
        [
            table,
            tag(
                "p",
                f"Not measured: {' and '.join(missing)}. The notes and the list of what failed say"
                " why, where there was a reason.",
                class_="fine",
            )
            if missing and results.kind == "anonymization"
            else None,
            _charts([words_by_speaker(results)]),
        ]
    )


def _failures(results: Results) -> Markup:
    if not results.failures:
        return tag("p", "Nothing failed, and nothing was left out.")
    return failures_table(results.failures)


def _repeat(results: Results) -> Markup:
    systems = {
        system.name: " ".join(part for part in (system.what, system.guarantee) if part)
        for system in results.systems
    }
    blocks: Sequence[tuple[str, Markup | None]] = (
        ("Command", tag("pre", tag("code", results.command), tabindex=0)),
        ("Systems", facts(systems) if systems else None),
        ("Data", facts(results.data) if results.data else None),
        ("Protocol", facts(results.protocol) if results.protocol else None),
        (
            "Machine",
            facts({**results.machine, "time taken": _duration(results.seconds)}),
        ),
    )
    return join(join([tag("h3", title), content]) for title, content in blocks if content)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
