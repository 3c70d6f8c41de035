from dataclasses import replace

import pytest

from sordino.evaluate.report.terminal import aligned, summary
from sordino.evaluate.report.words import columns_of
from sordino.evaluate.results import ALL, Attack, Attacker, Measure, Quality, System
from tests.evaluate.report.evaluations import embeddings, made_up, results, scores


def lines(text):
    return text.splitlines()


def test_the_strongest_attack_of_each_scenario_with_the_original_beside_it(whole):
    text = summary(whole)
    row = next(line for line in lines(text) if line.startswith("mcadams-low-0.8 "))
    name = next(attacker.name for attacker in whole.attackers if attacker.name[:20] in row)
    attack = next(
        attack
        for attack in whole.attacks
        if attack.scenario == "OO" and attack.attacker == name and attack.group == ALL
    )
    assert "ignorant" in row
    assert row.endswith(f"{100 * attack.privacy.eer.value:.1f} %")
    assert sum("semi-informed  " in line for line in lines(text)) == 4
    assert "WER" in text
    assert "DNSMOS" in text
    assert "anonymized by mcadams-low-0.8: 12 trials left out: the recording is silent" in text
    assert "recognised words: not in the WER: no transcript (emodb/03/03a01Fa.wav)" in text
    assert "note: The sex of 2 speakers" in text


def test_many_failures_are_counted_by_kind(whole):
    many = tuple(replace(whole.failures[0], where=str(number)) for number in range(1203))
    text = summary(replace(whole, failures=many))
    assert "anonymized by mcadams-low-0.8: 1,203 things failed" in text
    assert "the recording is silent" not in text


def test_units_that_are_lost_are_said():
    found = Quality("mcadams", "unit-loss", "%", ALL, Measure(0.275), 90, 9)
    floor = Quality("original", "uer", "%", ALL, Measure(0.098), 90, 9)
    head, _, row = lines(summary(results(qualities=(floor, found))))[:3]
    assert head.split() == ["units", "lost"]
    assert row.split() == ["mcadams", "27.5", "%"]


@pytest.mark.parametrize("make", [embeddings, scores, results])
def test_other_kinds(make):
    text = summary(make())
    assert all(columns_of(line) <= 100 for line in lines(text))
    assert text


def test_lines_have_at_most_100_letters(whole):
    assert max(columns_of(line) for line in lines(summary(whole))) <= 100


def test_embeddings_show_the_strongest_guess():
    row = next(line for line in lines(summary(embeddings())) if line.startswith("laplace"))
    assert "AUC" in row
    assert "0.79 (0.76 to 0.82)" in row


def test_nothing_from_the_data_commands_the_terminal():
    evil = "\x1b[31mred\r\n" + "東" * 80
    found = results(
        systems=(System(evil, ""),),
        attackers=(Attacker(evil, ""),),
        attacks=(Attack(evil, evil, evil, ALL, made_up(0.2, 0.1, 0.3)),),
        notes=(evil,),
    )
    text = summary(found)
    assert all(line.isprintable() for line in lines(text))
    assert all(columns_of(line) <= 100 for line in lines(text))


def test_an_attack_without_a_figure_is_listed():
    attack = Attack("mcadams", "AA-lazy", "ecapa", ALL, made_up(None))
    assert "none has a figure" in summary(results(attacks=(attack,)))


def test_columns_are_as_wide_as_they_need():
    table = aligned(["a", "b"], [["long", "x"], ["東京", "y"], ["", "z"]], [4, 9])
    assert lines(table) == ["a     b", "long  x", "東京  y", "      z"]


def test_nothing_at_all_still_says_something(whole):
    empty = replace(
        whole,
        systems=(),
        attackers=(),
        attacks=(),
        qualities=(),
        similarities=(),
        worst_cases=(),
        failures=(),
        notes=(),
    )
    assert summary(empty) == ""
