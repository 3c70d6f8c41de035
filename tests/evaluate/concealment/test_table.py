from __future__ import annotations

import csv
import io

import pytest

from sordino.evaluate.concealment.table import as_csv, as_markdown, columns
from sordino.evaluate.report.choose_concealed import (
    as_attacks,
    attributes_of,
    by_paper,
    error,
    ignorant,
    informed,
)
from sordino.evaluate.results import BOTH, ONE
from tests.evaluate.concealment_of import comparison, concealed


def test_the_strongest_of_each_kind_counts():
    one = concealed("mine", 0.6, 0.7, (0.1, 0.05))
    assert ignorant(one, "sex").figure.mean.value == 0.6
    assert informed(one, "sex").figure.mean.value == 0.7
    assert by_paper(one, "sex").figure.mean.value == pytest.approx(0.58)
    # Who can retrain may leave it.
    fooled = concealed("mine", 0.8, 0.7, (0.1, 0.05))
    assert informed(fooled, "sex") == ignorant(fooled, "sex")
    assert (error(one, ONE).mean.value, error(one, BOTH).mean.value) == (0.1, 0.05)


def test_csv_has_everything_for_programs():
    rows = list(csv.DictReader(io.StringIO(as_csv(comparison()))))
    assert [found["row"] for found in rows[:4]] == [
        "original",
        "no noise",
        "noise in training",
        "noise in both",
    ]
    noisy = rows[3]
    assert float(noisy["sex AUC, informed"]) == 0.6
    assert float(noisy["sex AUC, informed low"]) == pytest.approx(0.55)
    assert float(noisy["sex AUC, informed spread"]) == pytest.approx(0.01414, abs=1e-4)
    assert noisy["sex AUC, informed each"] == "0.59 0.61"
    assert noisy["sex AUC, informed by"] == "mlp, retrained"
    assert float(noisy["EER both sides"]) == 0.28
    assert float(noisy["EER one side, same-sex"]) == pytest.approx(0.31)
    assert (noisy["epsilon"], noisy["guarantee"][:10]) == ("15", "epsilon 15")
    assert rows[0]["guarantee"] == rows[1]["guarantee"] == "no DP guarantee"
    assert {found["sweep"] for found in rows} == {"", "epsilon_train", "epsilon"}
    # Of unprotected vectors no side is concealed.
    assert rows[0]["EER both sides"] == rows[0]["EER one side"] == "0.01"


def test_markdown_has_a_part_for_the_comparison_and_for_each_sweep():
    text = as_markdown(comparison())
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Sweep: epsilon in training",
        "## Sweep: epsilon at release",
    ]
    noisy = next(line for line in text.splitlines() if line.startswith("| noise in both"))
    assert "0.60 (0.55 to 0.65) +-0.014, mlp, retrained" in noisy
    assert "28.0 % (25.2 to 30.8) +-2.0 |" in noisy
    assert "epsilon 15 for each released template" in noisy
    assert "bug" not in text


def test_all_rows_have_the_same_columns():
    results = comparison()
    names = {
        tuple(column.name for column in columns(one, attributes_of(results)))
        for one in results.concealed
    }
    assert len(names) == 1


def test_as_attacks_on_attributes():
    found = as_attacks(comparison())
    assert {attack.system for attack in found} == {
        "original",
        "no noise",
        "noise in training",
        "noise in both",
    }
    assert {attack.knowledge for attack in found} == {"clean", "retrained"}
    assert all(attack.auc is not None and attack.speakers == 30 for attack in found)
