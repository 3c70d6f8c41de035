import csv
import io
import json
import math

import pytest

from sordino.federated.attacks.report import HEAD, Line, Report, as_csv, as_markdown

LINES = (
    Line("leak", "local", "one upload", "found", 0.01, 0.0, 0.03, 0.01, 0.06, "fails"),
    Line("canaries", "central", "mutant", "epsilon shown", 3.1, limit=2.0, verdict="caught"),
)


def test_people_see_intervals_where_there_are_some():
    rows = as_markdown(Report(LINES, {})).splitlines()
    assert rows[0].count("|") == len(HEAD) + 1
    assert "| 0.010 (0.000 to 0.030) | 0.010 | 0.060 | fails |" in rows[2]
    assert "| 3.100 |  | 2.000 | caught |" in rows[3]


def test_nothing_is_shown_as_less_than_nothing():
    assert Line("leak", "none", "", "cosine", -1e-9).cells()[4] == "0.000"


def test_programs_get_all_digits():
    rows = list(csv.DictReader(io.StringIO(as_csv(Report(LINES, {})))))
    assert [float(row["value"]) for row in rows] == [0.01, 3.1]
    content = json.loads(Report(LINES, {"clip": 1.0}).to_json())
    assert content["lines"][1]["low"] is None
    assert content["facts"] == {"clip": 1.0}
    assert math.isnan(float(rows[1]["low"]))


@pytest.mark.parametrize(
    ("verdict", "sound"), [("holds", True), ("REFUTED", False), ("MISSED", False)]
)
def test_refuted_claims_and_missed_mutants_are_unsound(verdict, sound):
    line = Line("uploads", "local", "one upload", "epsilon shown", 1.0, verdict=verdict)
    report = Report((*LINES, line), {})
    assert report.sound is sound
    assert json.loads(report.to_json())["sound"] is sound
