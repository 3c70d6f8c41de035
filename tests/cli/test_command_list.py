from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing

from tests.voices import CepstralEncoder


def test_names_are_listed(enrolled):
    answer = enrolled("list")
    assert answer.status == 0
    row = r"2 enrolments, \d+\.\d s of speech, last 20\d\d-\d\d-\d\d, by cepstral \(c0ffeec0\)"
    assert re.fullmatch(rf"anna: {row}\nbruno: {row}\n", answer.out)
    assert answer.err == f"note: 2 names in {enrolled.store}\n"


def test_json(enrolled):
    answer = enrolled("list", "--json")
    names = answer.said["names"]
    assert [row["name"] for row in names] == ["anna", "bruno"]
    for row in names:
        assert row.keys() == {"name", "enrolments", "speech", "first", "last", "encoder"}
        assert row["enrolments"] == 2
        assert row["encoder"] == {"name": "cepstral", "digest": CepstralEncoder.digest}
    assert answer.err == ""


def test_odd_names_stay_on_one_line(shell, people):
    for name in ("two\nlines", "名前"):
        assert shell("enroll", name, people.of(0)[0]).status == 0
    answer = shell("list")
    assert [line.split(":")[0] for line in answer.out.splitlines()] == ["two\\nlines", "名前"]
    said = json.loads(shell("list", "--json").out)
    assert [row["name"] for row in said["names"]] == ["two\nlines", "名前"]


def test_damage_is_found(enrolled):
    with closing(sqlite3.connect(enrolled.store)) as connection, connection:
        connection.execute("DELETE FROM enrolments WHERE number = 2")
    answer = enrolled("list")
    assert (answer.status, answer.out) == (1, "")
    assert re.search(r"enrolments of '(anna|bruno)' were removed", answer.err)


def test_empty_and_missing_stores(shell, people):
    assert shell("list").status == 2
    assert shell("enroll", "anna", people.of(0)[0]).status == 0
    assert shell("forget", "anna").status == 0
    answer = shell("list")
    assert (answer.status, answer.out) == (0, "")
    assert answer.err == f"note: 0 names in {shell.store}\n"
