"""Which of many attacks a report speaks of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sordino.evaluate.report.words import ORIGINAL, is_known
from sordino.evaluate.results import ALL, Attack, Measure, Quality, Results

_SCENARIOS = ("OO", "OR", "OA", "AA-lazy", "AA-semi-informed", "given")


def is_informed(scenario: str) -> bool:
    """Whether the attacker knows which system protects.

    Example:
        >>> is_informed("AA-lazy"), is_informed("OA")
        (True, False)
    """
    return scenario.startswith("AA")


def is_semi_informed(scenario: str) -> bool:
    """Whether the attacker was trained on speech that the system has protected.

    Example:
        >>> is_semi_informed("AA-semi-informed"), is_semi_informed("AA-lazy")
        (True, False)
    """
    return scenario.startswith("AA-semi")


def protected(results: Results) -> tuple[str, ...]:
    """Names of the systems that are judged: all but the original."""
    return tuple(system.name for system in results.systems if system.name != ORIGINAL)


def scenarios(attacks: Iterable[Attack]) -> tuple[str, ...]:
    """Their scenarios, in the order in which an attacker learns more."""
    found = dict.fromkeys(attack.scenario for attack in attacks)
    known = [scenario for scenario in _SCENARIOS if scenario in found]
    return (*known, *(scenario for scenario in found if scenario not in _SCENARIOS))


def attacks_on(
    results: Results, system: str, scenario: str | None = None, group: str = ALL
) -> tuple[Attack, ...]:
    """The attacks on a system, in one scenario or in all."""
    return tuple(
        attack
        for attack in results.attacks
        if attack.system == system and attack.group == group and scenario in {None, attack.scenario}
    )


def attackers_error(measure: Measure) -> Measure:
    """The error of an attacker who turns the scores round where they are surely the wrong way.

    An error of 70 % tells as much as one of 30 %. It is turned only where the whole interval is
    above a guess, or chance alone would be turned too.

    Example:
        >>> attackers_error(Measure(0.75, 0.625, 0.875))
        Measure(value=0.25, low=0.125, high=0.375)
        >>> attackers_error(Measure(0.52, 0.45, 0.6))
        Measure(value=0.52, low=0.45, high=0.6)
    """
    value, low, high = measure.value, measure.low, measure.high
    if value is None or low is None or high is None or low <= 0.5:
        return measure
    return Measure(1 - value, 1 - high, 1 - low)


def strongest(attacks: Sequence[Attack]) -> Attack | None:
    """The attack with the fewest errors; None where none has a figure."""
    ranked = [
        (error, place)
        for place, attack in enumerate(attacks)
        if (error := attackers_error(attack.privacy.eer).value) is not None and is_known(error)
    ]
    return attacks[min(ranked)[1]] if ranked else None


def deciding(results: Results, system: str) -> Attack | None:
    """The strongest attack by who knows the system: the one that the verdict is about.

    Scores that were made elsewhere come without knowledge of who made them; there the strongest
    of all attacks is described.
    """
    attacks = attacks_on(results, system)
    return strongest([attack for attack in attacks if is_informed(attack.scenario)])


def described(results: Results, system: str) -> Attack | None:
    """The deciding attack, or the strongest of any kind where there is none."""
    return deciding(results, system) or strongest(attacks_on(results, system))


def on_original(results: Results, attack: Attack) -> Attack | None:
    """What the same attacker reaches on original speech, for the same group of trials."""
    same = [
        other
        for other in results.attacks
        if other.scenario == "OO"
        and other.attacker == attack.attacker
        and other.group == attack.group
        and other.system in {attack.system, ORIGINAL}
    ]
    own = [other for other in same if other.system == attack.system]
    return next(iter(own or same), None)


def quality(results: Results, system: str, measure: str, group: str = ALL) -> Quality | None:
    """What is left of the speech by one measure."""
    return next(
        (
            found
            for found in results.qualities
            if (found.system, found.measure, found.group) == (system, measure, group)
        ),
        None,
    )


def text_measure(results: Results) -> str | None:
    """The measure of recognised text that there is: word errors, else character errors."""
    measures = {found.measure for found in results.qualities}
    return next((measure for measure in ("wer", "cer") if measure in measures), None)
