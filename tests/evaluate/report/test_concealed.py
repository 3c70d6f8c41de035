"""The report on concealers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sordino.evaluate.concealment.impossible import impossible
from sordino.evaluate.report.page import page
from sordino.evaluate.report.terminal import summary
from sordino.evaluate.report.verdict import verdicts
from sordino.evaluate.report.words import columns_of
from sordino.evaluate.results import Guessed, Results
from tests.evaluate.concealment_of import comparison, concealed, guessed
from tests.evaluate.report.pages import check, drawings


@pytest.fixture
def results() -> Results:
    return comparison()


def by_system(results: Results):
    return {verdict.system: verdict for verdict in verdicts(results)}


def test_the_page_says_everything(results):
    text = page(results)
    read = check(text)
    assert read.headings() == [
        "What do these concealed voice vectors still tell?",
        "Verdict",
        "Hidden from attackers, kept for verification",
        "Who attacked, and how well",
        "What failed",
        "How this was measured, and how to repeat it",
        "Words",
    ]
    shown = read.text().replace("\u00a0", " ")
    for row in results.concealed:
        assert row.system in shown
        assert row.guarantee in shown
    assert "0.60 (0.55 to 0.65) ± 0.01" in shown
    assert "28.0 % (25.2 to 30.8) ± 2.0 %" in shown
    assert "EER, both sides, same-sex" in shown
    titles = {drawing.get("aria-label") for drawing in drawings(text)}
    assert titles == {
        "How well sex is guessed, and what verification costs",
        "How well sex is guessed, by epsilon in training",
        "Errors of verification, by epsilon in training",
        "How well sex is guessed, by epsilon at release",
        "Errors of verification, by epsilon at release",
    }


def test_the_strongest_attacker_decides_and_the_promise_is_said(results):
    found = by_system(results)
    assert list(found) == ["no noise", "noise in training", "noise in both"]
    assert found["no noise"].level == "none"
    assert found["noise in both"].level == "partial"  # the careful end of 0.55 to 0.65
    evidence = " ".join(found["noise in training"].evidence).replace("\u00a0", " ")
    assert "(mlp, retrained) reaches AUC 0.70 (0.65 to 0.75)" in evidence
    assert "strongest ignorant attacker (mlp) reaches AUC 0.55" in evidence
    assert (
        "errs (EER) in 5.0 % (4.5 to 5.5) with both sides concealed, in 6.0 % (5.4 to 6.6) with"
        " trials concealed only; with unprotected vectors 1.0 % (0.9 to 1.1)"
    ) in evidence
    assert "What it promises: no DP guarantee." in evidence
    noisy = " ".join(found["noise in both"].evidence)
    assert "epsilon 15 for each released template, by laplace; which by itself does not" in noisy
    cautions = " ".join(found["no noise"].cautions)
    assert "varies by 0.01 (standard deviation of 2)" in cautions
    assert "Of 2 trainings only" in cautions


def test_a_small_epsilon_is_told_with_what_it_forbids(results):
    small = concealed("small", 0.51, 0.52, (0.48, 0.48), epsilon=1.0)
    changed = replace(results, concealed=(results.concealed[0], small))
    (verdict,) = verdicts(changed)
    said = verdict.evidence[-1].replace("\u00a0", " ")
    assert "keeps every AUC below 0.73 and every EER of one trial above 26.9 %" in said
    assert verdict.level == "strong"


def test_a_bug_stands_at_the_top(results):
    broken = concealed("broken", 0.6, 0.95, (0.4, 0.02), epsilon=1.0)
    changed = replace(
        results,
        concealed=(results.concealed[0], broken),
        failures=tuple(impossible(broken)),
    )
    (verdict,) = verdicts(changed)
    assert verdict.cautions[0].startswith("This is a bug: ")
    shown = check(page(changed)).text()
    assert "this is a bug" in shown
    assert "rely on neither" in shown
    assert "this is a bug" in summary(changed)


def test_the_terminal_shows_a_line_for_each_way(results):
    text = summary(results)
    assert all(columns_of(line) <= 100 for line in text.splitlines())
    row = next(line for line in text.splitlines() if line.startswith("noise in both"))
    assert row.split()[3:6] == ["15", "sex", "0.52"]
    assert "0.60 (0.55 to 0.65)" in row
    assert row.endswith("28.0 % (25.2 to 30.8)")


def test_more_than_two_values(results):
    ages = [
        replace(
            one,
            guesses=tuple(
                Guessed(
                    "age",
                    guess.attacker,
                    guess.knowledge,
                    guess.templates,
                    guess.speakers,
                    4,
                    guess.figure,
                )
                for guess in one.guesses
            ),
        )
        for one in results.concealed
    ]
    changed = replace(results, concealed=tuple(ages))
    shown = check(page(changed)).text().replace("\u00a0", " ")
    assert "60.0 % (55.0 to 65.0)" in shown
    assert "age (acc.)" in summary(changed)
    assert "guess is right in 1 of 4 cases" in " ".join(verdicts(changed)[0].cautions)


def test_without_trials_and_with_nothing_to_compare(results):
    bare = tuple(replace(one, verified=()) for one in results.concealed)
    read = check(page(replace(results, concealed=bare)))
    assert "EER, one side" not in read.text()
    assert "n/a" in summary(replace(results, concealed=bare))
    alone = replace(results, concealed=results.concealed[:1], systems=results.systems[:1])
    assert verdicts(alone) == ()
    check(page(alone))


def test_names_from_the_data_are_text(results):
    hostile = '<script>alert("1")</script>\u202e'
    changed = replace(
        results,
        concealed=(
            results.concealed[0],
            replace(concealed(hostile, 0.5, 0.6, (0.1, 0.1)), guesses=(guessed(0.6),)),
            concealed(hostile, 0.5, 0.6, (0.1, 0.1), sweep="epsilon", epsilon=2.0),
        ),
    )
    assert "<script" not in page(changed)
    check(page(changed))
