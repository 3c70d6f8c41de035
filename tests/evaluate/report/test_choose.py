import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.evaluate.report.choose import (
    attackers_error,
    attacks_on,
    deciding,
    described,
    on_original,
    protected,
    scenarios,
    strongest,
    text_measure,
)
from sordino.evaluate.results import ALL, Attack, Measure, Quality
from tests.evaluate.report.evaluations import made_up, results


def attack(scenario, error, attacker="ecapa", system="mcadams", group=ALL):
    if not isinstance(error, tuple):
        error = (error,)
    return Attack(system, scenario, attacker, group, made_up(*error))


def test_an_attack_without_a_figure_is_never_the_strongest():
    attacks = [attack("AA-lazy", None), attack("AA-lazy", float("nan")), attack("AA-lazy", 0.4)]
    assert strongest(attacks) is attacks[2]
    assert strongest(attacks[:2]) is None
    assert strongest([]) is None


def test_scores_that_are_surely_the_wrong_way_round_are_turned():
    # Binary fractions, so that 1 - x is exact.
    assert attackers_error(Measure(0.75, 0.5625, 0.875)) == Measure(0.25, 0.125, 0.4375)
    attacks = [attack("AA-lazy", 0.3), attack("AA-lazy", (0.8, 0.7, 0.9))]
    assert strongest(attacks) is attacks[1]


@given(st.floats(0, 1), st.floats(0, 0.5))
def test_chance_is_not_turned_round(value, low):
    measure = Measure(value, low, 1.0)
    assert attackers_error(measure) is measure
    assert attackers_error(Measure(value)) == Measure(value)


def test_only_who_knows_the_system_decides():
    attacks = (attack("OA", 0.01), attack("OR", 0.02), attack("AA-lazy", 0.3))
    found = results(attacks=attacks)
    assert deciding(found, "mcadams") is attacks[2]
    assert deciding(results(attacks=attacks[:2]), "mcadams") is None
    assert described(results(attacks=attacks[:2]), "mcadams") is attacks[0]


def test_groups_and_other_systems_do_not_decide():
    attacks = (
        attack("AA-lazy", 0.01, group="F-F"),
        attack("AA-lazy", 0.02, system="other"),
        attack("AA-semi-informed", 0.3),
    )
    assert deciding(results(attacks=attacks), "mcadams") is attacks[2]


def test_the_strength_on_original_speech_is_that_of_the_same_attacker_and_group():
    attacks = (
        attack("OO", 0.01, "other", "original"),
        attack("OO", 0.02, "ecapa", "original", "F-F"),
        attack("OO", 0.03, "ecapa", "original"),
        attack("AA-lazy", 0.3),
        attack("AA-lazy", 0.3, group="F-F"),
        attack("AA-lazy", 0.3, "third"),
    )
    found = results(attacks=attacks)
    assert on_original(found, attacks[3]) is attacks[2]
    assert on_original(found, attacks[4]) is attacks[1]
    assert on_original(found, attacks[5]) is None


def test_an_original_of_its_own_comes_before_that_of_all():
    attacks = (
        attack("OO", 0.03, system="original"),
        attack("OO", 0.05),
        attack("AA-semi-informed", 0.3),
    )
    assert on_original(results(attacks=attacks), attacks[2]) is attacks[1]


def test_scenarios_come_in_the_order_of_knowledge_and_none_is_lost():
    attacks = [attack(name, 0.1) for name in ("new", "AA-semi-informed", "OO", "OA", "AA-lazy")]
    assert scenarios(attacks) == ("OO", "OA", "AA-lazy", "AA-semi-informed", "new")


def test_attacks_of_one_scenario_or_of_all():
    attacks = (attack("OA", 0.1), attack("AA-lazy", 0.1))
    found = results(attacks=attacks)
    assert attacks_on(found, "mcadams") == attacks
    assert attacks_on(found, "mcadams", "OA") == attacks[:1]
    assert attacks_on(found, "nobody") == ()


def test_the_original_is_not_judged():
    assert protected(results()) == ("mcadams",)


@pytest.mark.parametrize(
    ("measures", "chosen"), [(["cer", "wer"], "wer"), (["cer"], "cer"), (["speed"], None)]
)
def test_words_come_before_characters(measures, chosen):
    qualities = tuple(Quality("mcadams", name, "%", ALL, Measure(0.1), 1, 1) for name in measures)
    assert text_measure(results(qualities=qualities)) == chosen
