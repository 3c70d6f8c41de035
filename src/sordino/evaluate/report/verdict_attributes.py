"""What attacks on an attribute say of protected vectors, in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from sordino.evaluate.report.levels import (
    FEW_SPEAKERS,
    Bands,
    Level,
    Verdict,
    level_of,
    too_wide,
)
from sordino.evaluate.report.words import ORIGINAL, counted, is_known, with_interval
from sordino.evaluate.results import AttributeAttack, Measure, Results

# As BANDS, for 1 - AUC.
_BANDS: Bands = ((0.0, "none"), (0.10, "weak"), (0.25, "partial"), (0.40, "strong"))
_HARDLY = 0.6
_HEADLINES: dict[Level, str] = {
    "none": "It can still be guessed most of the time.",
    "weak": "It is harder to guess, but far from hidden.",
    "partial": "It is often guessed wrong, but it is not safely hidden.",
    "strong": "No attacker that was tried did much better than a guess.",
}


def strongest_guess(attacks: Sequence[AttributeAttack]) -> AttributeAttack | None:
    """The attack that guesses an attribute best; None where none has a figure."""
    ranked = [
        (value, -place)
        for place, attack in enumerate(attacks)
        if (value := guessed(attack).value) is not None and is_known(value)
    ]
    return attacks[-max(ranked)[1]] if ranked else None


def guessed(attack: AttributeAttack) -> Measure:
    """How well an attribute is guessed: AUC for two values, else the balanced accuracy."""
    return attack.balanced_accuracy if attack.auc is None else attack.auc


def attribute_attacks(results: Results, system: str, attribute: str) -> list[AttributeAttack]:
    """The attacks on one attribute of one system."""
    return [
        attack
        for attack in results.attributes
        if (attack.system, attack.attribute) == (system, attribute)
    ]


def attribute_verdict(results: Results, system: str, attribute: str) -> Verdict:
    """The verdict on how well an attribute is hidden: the strongest attacker decides.

    Args:
        results: of an evaluation.
        system: whose vectors, a name in them.
        attribute: that is guessed.
    """
    attacks = attribute_attacks(results, system, attribute)
    attack = strongest_guess(attacks)
    if attack is None:
        return Verdict(system, attribute, "unknown", "No attack on it has a figure.")
    before = strongest_guess(attribute_attacks(results, ORIGINAL, attribute))
    retrained = any(
        other.knowledge == "retrained" and guessed(other).value is not None for other in attacks
    )
    level, headline = _judged(attack, before, retrained)
    cautions = []
    if not retrained:
        cautions.append(
            "No attacker was trained on protected vectors: one who is usually guesses better."
        )
    if before is None:
        cautions.append("It is not known how well it is guessed from the unprotected vectors.")
    if attack.auc is None:
        cautions.append(
            f"It has {attack.classes} values; a guess is right in 1 of {attack.classes} cases."
        )
    if attack.speakers < FEW_SPEAKERS:
        cautions.append(f"Only {counted(attack.speakers, 'speaker')}.")
    return Verdict(system, attribute, level, headline, (_guesses(attack, before),), tuple(cautions))


def _judged(
    attack: AttributeAttack, before: AttributeAttack | None, retrained: bool
) -> tuple[Level, str]:
    value = guessed(attack)
    if value.low is None or value.high is None or value.value is None:
        return "unknown", "There is too little data for an interval, so the figures prove nothing."
    ends = level_of(
        Measure(
            _hidden(attack, value.value), _hidden(attack, value.high), _hidden(attack, value.low)
        ),
        _BANDS,
    )
    if ends is not None and ends[1] == "none":
        return "none", "It can still be guessed nearly always."
    if before is not None and _as_before(value, guessed(before)):
        if _hidden(attack, value.high) > 1 - _HARDLY:
            return "unknown", "Even from unprotected vectors it is hardly guessed."
        return "none", "No clear difference from unprotected vectors: it is guessed as well."
    doubt = _doubt(attack, before, retrained)
    if doubt is not None or ends is None:
        return "unknown", doubt or ""
    wide = too_wide(ends)
    return ("unknown", wide) if wide else (ends[0], _HEADLINES[ends[0]])


def _as_before(now: Measure, before: Measure) -> bool:
    """Whether the difference could be chance."""
    lowest = before.value if before.low is None else before.low
    return lowest is not None and now.high is not None and now.high >= lowest


def _doubt(attack: AttributeAttack, before: AttributeAttack | None, retrained: bool) -> str | None:
    if not retrained or before is None:
        return "The attackers that were tried are not enough to tell."
    return None


def _hidden(attack: AttributeAttack, value: float) -> float:
    """How near an attack's figure is to a guess: 0.5 for one, 0 where it is always right."""
    if attack.auc is not None:
        return 1 - value
    return 0.5 * (1 - value) / (1 - 1 / attack.classes)


def _guesses(attack: AttributeAttack, before: AttributeAttack | None) -> str:
    of_two = attack.auc is not None
    unit = "" if of_two else "%"
    name = "AUC" if of_two else "balanced accuracy"
    how = f"{attack.attacker}, {attack.knowledge}"
    if attack.releases > 1:
        how += f", averaging {attack.releases} releases"
    text = f"The strongest attacker ({how}) reaches {name} {with_interval(guessed(attack), unit)}"
    if of_two:
        text += ", where 0.5 is a guess and 1 is always right"
    if before is not None:
        text += f"; from unprotected vectors {with_interval(guessed(before), unit)}"
    return text + "."
