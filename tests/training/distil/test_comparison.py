"""Rows side by side, on voices that are made up."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is in the extra train, not installed")

from sordino.errors import UsageError
from sordino.training.distil.comparison import BASELINE, Comparison, Trained, compare
from sordino.training.distil.data import SideData, side_data
from sordino.training.distil.settings import DistilSettings
from sordino.training.distil.table import as_csv, as_markdown, as_values, protection
from tests.training.distil.made_up import made_up

SETTINGS = DistilSettings(width=16, embedding=8, steps=80, gamma=2.0)


@pytest.fixture(scope="module")
def data() -> SideData:
    return side_data(*made_up(speakers=32), ["sex"], ("split", "test")).standardised()[0]


def _logits(data: SideData) -> np.ndarray:
    return np.eye(2, dtype=np.float32)[data.labels] * 8 - 4


@pytest.fixture(scope="module")
def kept() -> list[Trained]:
    return []


@pytest.fixture(scope="module")
def found(data: SideData, kept: list[Trained]) -> Comparison:
    return compare(
        data,
        {"all-knowing": [_logits(data)] * 2},
        SETTINGS,
        seeds=2,
        alternatives="all-knowing",
        draws=100,
        keep=kept.append,
    )


def test_has_a_row_for_everything_that_is_compared(found: Comparison, kept: list[Trained]) -> None:
    names = [row.name for row in found.rows]
    assert names == [BASELINE, "all-knowing", "middle layer, all-knowing", "rule, all-knowing"]
    assert [(one.row, one.seed) for one in kept] == [
        (name, seed) for seed in range(2) for name in names[:3]
    ]
    assert all(len(row.errors.eer.each) == 2 for row in found.rows)


def test_counts_what_it_was_measured_on(found: Comparison) -> None:
    assert found.facts["training_speakers"] == 16
    assert found.facts["training_vectors"] == 16 * 4
    assert found.facts["tried_speakers"] == 16
    # Two of five vectors enrol, three are tried, eight speakers to a collection.
    assert found.facts["target_trials"] == 16 * 3
    assert found.facts["nontarget_trials"] == 16 * 3 * 7


def test_side_heads_are_measured_and_others_have_none(found: Comparison) -> None:
    baseline, taught, middle, rule = found.rows
    assert np.mean(taught.side) > 0.9
    assert np.mean(taught.agreement) > 0.9
    assert taught.teacher == (1.0, 1.0)
    assert (baseline.side, middle.side, rule.side) == ((), (), ())
    assert rule.speakers == baseline.speakers


def test_a_teacher_who_is_always_right_makes_the_rule_refuse_all_others(
    found: Comparison,
) -> None:
    baseline, rule = found.rows[0], found.rows[-1]
    assert rule.other_classes is not None
    assert rule.other_classes.eer.mean.value == 0.0
    assert rule.same_class is not None
    assert rule.same_class.eer.each == baseline.same_class.eer.each
    errors = found.rows[-1].errors
    assert errors.change.mean.value is not None
    assert errors.change.mean.value <= 0


def test_tables_say_the_same(found: Comparison) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(found))))
    values = as_values(found)
    assert [row["row"] for row in rows] == [row["name"] for row in values["rows"]]
    for row, value in zip(rows, values["rows"], strict=True):
        assert float(row["eer"]) == value["errors"]["eer"]["mean"]["value"]
    page = as_markdown(found, "Title", ["A note."])
    assert page.startswith("# Title\n")
    assert f"{100 * float(rows[0]['eer']):.1f} %" in page
    assert page.endswith("\nA note.\n")


def test_says_what_is_protected_and_what_is_not() -> None:
    central = {"epsilon_total": 1.99, "delta_total": 1e-6}
    text = protection({"central": central, "local": None, "why_not": None})
    assert "central epsilon 1.99, delta 1e-06." in text
    assert "Not protected:** the speakers that the speaker network itself is trained on" in text
    assert "states no guarantee" in protection(None)
    assert "(simulation)" in protection({"central": central, "why_not": "simulation"})


def test_fewer_speakers_can_be_asked_for_and_others_still_teach(data: SideData) -> None:
    found = compare(
        data, {"t": [_logits(data)]}, SETTINGS, seeds=1, speakers=4, further=True, draws=100
    )
    assert found.facts["training_speakers"] == 4
    assert found.rows[1].side[0] > 0.9


def test_refuses_teachers_for_other_seeds(data: SideData) -> None:
    with pytest.raises(UsageError, match="for each seed"):
        compare(data, {"t": [_logits(data)]}, SETTINGS, seeds=2)
    with pytest.raises(UsageError, match="at least 1"):
        compare(data, {}, SETTINGS, seeds=0)
