from __future__ import annotations

from pathlib import Path

import pytest

from sordino.corpus.layouts.tables import Entry, read_optional_table, read_table
from sordino.errors import UsageError


def test_values_are_all_after_the_first_space(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("\ufeffa  one two \r\n\nb\tünï\n".encode() + b"c caf\xe9\n")
    assert read_table(path) == {
        "a": Entry("one two", 1),
        "b": Entry("ünï", 3),
        "c": Entry("caf\udce9", 4),
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a 1\n\nb\n", "line 3: b has no value"),
        ("a 1\nb 2\na 1\n", "line 3: a stands in line 1 too"),
    ],
)
def test_wrong_lines_are_told(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "text"
    path.write_text(content)
    with pytest.raises(UsageError) as caught:
        read_table(path)
    assert str(caught.value) == f"{path}, {message}"


def test_only_an_optional_table_may_be_missing(tmp_path: Path) -> None:
    assert read_optional_table(tmp_path / "text") == {}
    with pytest.raises(UsageError, match="text: No such file"):
        read_table(tmp_path / "text")
    with pytest.raises(UsageError, match="Is a directory"):
        read_optional_table(tmp_path)
