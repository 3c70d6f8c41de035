from __future__ import annotations

import sqlite3
from contextlib import closing

from tests.helpers import tree


def test_a_name_is_gone(enrolled, people):
    with closing(sqlite3.connect(enrolled.store)) as connection:
        rows = connection.execute("SELECT person, record FROM enrolments").fetchall()
    secrets = [value for row in rows for value in row]
    answer = enrolled("forget", "anna")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out == "forgot anna: 2 enrolments removed\n"
    assert list(tree(enrolled.folder)) == ["voices"]
    raw = enrolled.store.read_bytes()
    # Two persons' keys and two records each: half of them is gone.
    assert sum(secret in raw for secret in secrets) == len(secrets) // 2 == 4
    assert enrolled("verify", "anna", people.of(0)[2]).status == 2
    assert enrolled("list").out.startswith("bruno: ")


def test_json(enrolled):
    assert enrolled("forget", "bruno", "--json").said == {"name": "bruno", "removed": 2}


def test_somebody_unknown(enrolled):
    before = enrolled.store.read_bytes()
    answer = enrolled("forget", "dora\n")
    assert answer.status == 2
    assert answer.err == f"sordino: nobody is enrolled as 'dora\\n' in {enrolled.store}\n"
    assert enrolled("forget", "").status == 2
    assert enrolled.store.read_bytes() == before


def test_no_store(shell):
    assert shell("forget", "anna").status == 2
    assert not shell.store.exists()
