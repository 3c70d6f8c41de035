"""The verdict on each system, as it stands at the top of the page."""

from __future__ import annotations

from sordino.evaluate.report.charts.gauge import gauge_chart
from sordino.evaluate.report.choose import attackers_error, on_original
from sordino.evaluate.report.levels import BANDS, LEVEL_NAMES, SPEAKER, Level, Verdict
from sordino.evaluate.report.markup import Markup, tag
from sordino.evaluate.report.words import figure, with_interval
from sordino.evaluate.results import Results

# Shapes that are told apart without their colour.
_SIGNS: dict[Level, str] = {
    "none": "\u2715",
    "weak": "\u25d4",
    "partial": "\u25d1",
    "strong": "\u25cf",
    "unknown": "?",
    "plain": "\u2022",
}
_BAND_NAMES = ("hardly any", "weak", "partial", "strong")


def card(results: Results, verdict: Verdict) -> Markup:
    """A verdict with its figures, and what limits it."""
    what = next((system for system in results.systems if system.name == verdict.system), None)
    about = None if verdict.about == SPEAKER else tag("span", f"attribute: {verdict.about}")
    return tag(
        "article",
        tag(
            "header",
            tag("h3", tag("bdi", verdict.system), about),
            tag(
                "p",
                tag("span", _SIGNS[verdict.level], aria_hidden="true"),
                LEVEL_NAMES[verdict.level],
                class_="level",
            ),
        ),
        tag("p", verdict.headline, class_="headline"),
        _gauge(results, verdict),
        *(tag("p", sentence) for sentence in verdict.evidence),
        tag("ul", *(tag("li", caution) for caution in verdict.cautions), class_="cautions")
        if verdict.cautions
        else None,
        tag("p", f"How it was made: {what.what}", class_="what") if what and what.what else None,
        tag("p", f"What it promises: {what.guarantee}", class_="what")
        if what and what.guarantee and verdict.about == SPEAKER
        else None,
        class_=f"card {verdict.level}",
    )


def _gauge(results: Results, verdict: Verdict) -> Markup | None:
    if verdict.attack is None or verdict.level == "plain":
        return None
    error = attackers_error(verdict.attack.privacy.eer)
    base = on_original(results, verdict.attack)
    original = None if base is None else base.privacy.eer
    bands = [(start, name) for (start, _), name in zip(BANDS, _BAND_NAMES, strict=True)]
    caption = (
        "Dot with its interval: errors of the strongest attacker who knows the system; 50\u00a0% is"
        " a guess."
    )
    if original is not None and original.value is not None:
        caption += f" Ring: the same attacker on original speech, {figure(original.value)}."
    return tag(
        "figure",
        gauge_chart(
            f"Errors of the strongest attacker on {verdict.system}: {with_interval(error)}",
            error,
            original,
            bands,
        ),
        tag("figcaption", caption),
        class_="gauge",
    )
