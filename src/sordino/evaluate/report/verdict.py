"""Verdicts: what the figures say, in plain words, and no more than they say."""

from __future__ import annotations

from sordino.evaluate.report.choose import attacks_on, protected
from sordino.evaluate.report.levels import Verdict
from sordino.evaluate.report.tidy import tidied
from sordino.evaluate.report.verdict_attributes import attribute_verdict
from sordino.evaluate.report.verdict_concealed import concealed_verdicts
from sordino.evaluate.report.verdict_speakers import description, speaker_verdict
from sordino.evaluate.results import Results


def verdicts(results: Results) -> tuple[Verdict, ...]:
    """One for each protected system, and one more for each attribute that was guessed from it.

    Args:
        results: of any kind. Scores made elsewhere are described and not judged, since nobody says
            who made them; so is the original where nothing else was evaluated.
    """
    results = tidied(results)
    if results.kind == "concealment":
        return concealed_verdicts(results)
    systems = protected(results)
    if results.kind == "scores" or not systems:
        return tuple(
            description(results, system.name)
            for system in results.systems
            if attacks_on(results, system.name)
        )
    found = []
    for system in systems:
        attributes = dict.fromkeys(
            attack.attribute for attack in results.attributes if attack.system == system
        )
        if results.attacks or not attributes:
            found.append(speaker_verdict(results, system))
        found += [attribute_verdict(results, system, attribute) for attribute in attributes]
    return tuple(found)
