from __future__ import annotations

import csv
import io

import pytest

from sordino.evaluate.ablation.design import Choice, variants
from sordino.evaluate.ablation.facts import VoiceFacts
from sordino.evaluate.ablation.table import Row, ablation_rows, as_csv, as_markdown
from sordino.evaluate.results import OWN_VOICE, Attack, Measure, Quality, Similarity
from sordino.models.bundle import write_bundle
from tests.evaluate.report.evaluations import made_up, results

FACTS = VoiceFacts("soft", "ssl soft (200 numbers)", "f-ecapa", "hifigan")
VARIANTS = variants(["soft"], [Choice("density")], [Choice("copy"), Choice("flatten")])
PARAMETERS = {variant.label: {"strategy": "other", "prosody": "other"} for variant in VARIANTS}
COPY, FLATTEN = (variant.label for variant in VARIANTS)


def attack(system: str, scenario: str, attacker: str, *eer: float) -> Attack:
    return Attack(system, scenario, attacker, "all", made_up(*eer))


def quality(system: str, measure: str, unit: str, value: float, group: str = "all") -> Quality:
    return Quality(system, measure, unit, group, Measure(value), 9, 3)


@pytest.fixture
def rows() -> tuple[Row, ...]:
    found = results(
        attacks=(
            attack("original", "OO", "a", 0.05, 0.04, 0.06),
            attack("original", "OO", "b", 0.03, 0.02, 0.04),
            attack(COPY, "OA", "a", 0.3, 0.2, 0.4),
            attack(COPY, "AA-semi-informed", "a", 0.1, 0.05, 0.15),
            # So surely the wrong way round that it tells as much as 5 %.
            attack(COPY, "AA-semi-informed", "b", 0.95, 0.9, 0.97),
            attack(FLATTEN, "AA-semi-informed", "a", 0.4, 0.3, 0.5),
        ),
        qualities=(
            quality("original", "wer", "%", 0.06),
            quality(COPY, "wer", "%", 0.08),
            quality(COPY, "wer", "%", 0.5, "language: en"),
            quality(COPY, "f0-correlation", "", 0.9),
            quality("original", "uer", "%", 0.1),
            quality("original", "uer-others", "%", 0.9),
            quality(COPY, "uer", "%", 0.3),
            quality(COPY, "unit-loss", "%", 0.25),
            quality(FLATTEN, "speed", "x", 12.3),
            quality(f"{COPY}{OWN_VOICE}", "wer", "%", 0.07),
            quality(f"{COPY}{OWN_VOICE}", "unit-loss", "%", 0.2),
            quality("mcadams", "wer", "%", 0.11),
        ),
        similarities=(
            Similarity(FLATTEN, "a", (), (), (), (), Measure(-3.2, -4.0, -2.0), Measure(0.9)),
        ),
    )
    return ablation_rows(found, VARIANTS, {"soft": FACTS}, PARAMETERS, ["mcadams"])


def test_rows_have_the_strongest_attackers_errors(rows) -> None:
    assert [row.system for row in rows] == ["original", COPY, FLATTEN, "mcadams"]
    original, copy, flatten, other = (row.figures for row in rows)
    assert original["EER original"][0].value == 0.03
    assert copy["EER semi"][0].value == pytest.approx(0.05)
    assert copy["EER ignorant"] == (Measure(0.3, 0.2, 0.4), "%")
    assert copy["word errors"] == (Measure(0.08), "%")
    assert copy["word errors, own voice"] == (Measure(0.07), "%")
    assert other == {"word errors": (Measure(0.11), "%")}
    assert original["unit errors"] == (Measure(0.1), "%")
    assert copy["units lost"] == (Measure(0.25), "%")
    assert copy["units lost, own voice"] == (Measure(0.2), "%")
    assert "EER ignorant" not in flatten
    assert flatten["G_VD"] == (Measure(-3.2, -4.0, -2.0), "dB")


def test_rows_tell_what_systems_are_made_of(rows) -> None:
    assert rows[0].roles == rows[3].roles == {}
    assert rows[1].roles == {
        "voice": "soft",
        "content": "ssl soft (200 numbers)",
        "encoder": "f-ecapa",
        "generator": "hifigan",
        "strategy": "density",
        "prosody": "copy",
    }
    (plain,) = variants(["soft"])
    row = ablation_rows(
        results(), [plain], {"soft": FACTS}, {"soft": {"strategy": "own", "prosody": "its"}}
    )[1]
    assert (row.roles["strategy"], row.roles["prosody"]) == ("own", "its")


def test_the_table_for_programs(rows) -> None:
    lines = list(csv.DictReader(io.StringIO(as_csv(rows))))
    assert [line["system"] for line in lines] == ["original", COPY, FLATTEN, "mcadams"]
    assert (lines[1]["EER ignorant"], lines[1]["EER ignorant low"]) == ("0.3", "0.2")
    assert lines[2]["EER ignorant"] == ""
    assert lines[2]["speed"] == "12.3"
    assert [line["units lost"] for line in lines] == ["", "0.25", "", ""]
    assert "DNSMOS" not in lines[0]


def test_the_table_for_people(rows) -> None:
    text = as_markdown(rows)
    head, rule, *body = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.count(" | ") for line in (head, *body)} == {rule.count(" | ")}
    assert head.split(" | ")[-1] == "speed |"
    assert "EER lazy" not in head
    assert "| word errors | unit errors | units lost | rho_F0 |" in head
    assert "30.0 % (20.0 to 40.0)" in body[1]
    assert "-3.2 dB (-4.0 to -2.0)" in body[2]
    assert "\u00a0" not in text


def test_columns_are_of_what_was_measured() -> None:
    found = results(qualities=(quality("original", "wer", "%", 0.06),))
    rows = ablation_rows(found, VARIANTS, {"soft": FACTS}, PARAMETERS)
    assert "unit" not in as_markdown(rows) + as_csv(rows)


def test_facts_of_a_voice(tmp_path) -> None:
    about = {
        "kind": "voice",
        "name": "soft",
        "summary": "A voice.",
        "licence": "CC0",
        "content": {"channels": 200, "architecture": "ssl", "output": "soft"},
        "speaker": {"encoder": "f-ecapa"},
        "generator": {"architecture": "hifigan"},
    }
    assert VoiceFacts.of(write_bundle(tmp_path / "a", about, {"CARD.md": b"x"})) == FACTS
    plain = {key: about[key] for key in ("kind", "name", "summary", "licence")}
    bare = VoiceFacts.of(write_bundle(tmp_path / "b", plain, {"CARD.md": b"x"}))
    assert (bare.content, bare.encoder) == ("not stated (? numbers)", "not stated")
