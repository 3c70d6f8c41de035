from __future__ import annotations

from pathlib import Path

import pytest

from sordino.errors import UsageError
from sordino.evaluate.attributes.table import AttributeTable


@pytest.fixture
def read(tmp_path):
    def read(text: str) -> AttributeTable:
        path = tmp_path / "table.csv"
        path.write_text(text, encoding="utf-8")
        return AttributeTable.read(path)

    return read


def test_by_speaker(read):
    table = read("\ufeffspeaker,sex,age\nann,F,30\nbob, M ,\n")
    assert not table.by_key
    assert table.values("sex", ["x", "y", "z"], ["bob", "ann", "cem"]) == ("M", "F", "")
    assert table.values("age", ["x", "y"], ["bob", "ann"]) == ("", "30")
    assert table.lists("x", "bob")
    assert not table.lists("bob", "cem")


def test_by_key_before_speaker(read):
    table = read("speaker,key,emotion\nann,a/1,joy\nann,a/2,fear\n")
    assert table.values("emotion", ["a/2", "a/1", "a/3"], ["ann"] * 3) == ("fear", "joy", "")
    assert table.lists("a/1", "whoever")


def test_rows_of_a_speaker_may_differ_in_what_is_not_asked(read):
    table = read("path,speaker,sex\na1,ann,F\na2,ann,F\nb,bob,M\n")
    assert table.values("sex", ["1", "2"], ["ann", "bob"]) == ("F", "M")
    with pytest.raises(UsageError, match="speaker ann has rows with different path"):
        table.values("path", ["1"], ["ann"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,sex\nann,F\n", "has neither a column key nor a column speaker"),
        ("", "has neither a column key nor a column speaker"),
        ("speaker,sex\n,F\n", "line 2: the speaker is empty"),
        ("key,sex\na,F\na,F\n", "line 3: the key a comes twice"),
        ("speaker,sex\nann,F,30\n", "line 2: has more fields"),
        ('speaker,sex\n"ann,F\n', "is not a CSV table"),
    ],
)
def test_damaged(read, text, message):
    with pytest.raises(UsageError, match=message):
        read(text)


def test_missing_column_and_file(read):
    with pytest.raises(UsageError, match="has no column 'age'; there are: speaker, sex"):
        read("speaker,sex\nann,F\n").values("age", ["1"], ["ann"])
    with pytest.raises(UsageError, match=r"nowhere\.csv: No such file"):
        AttributeTable.read(Path("nowhere.csv"))


def test_short_rows_are_unknown(read):
    assert read("speaker,sex\nann\n").values("sex", ["1"], ["ann"]) == ("",)
