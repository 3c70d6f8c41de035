from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from sordino.corpus.speakers import by_folder, by_regex, by_table, sexes_in_table
from sordino.errors import UsageError


@pytest.mark.parametrize(
    ("path", "speaker"),
    [
        ("corpus/alice/1.wav", "alice"),
        ("/data/bob/2.wav", "bob"),
        ("corpus/alice/../bob/1.wav", "bob"),
        ("corpus/two words/1.wav", "two words"),
        ("/1.wav", ""),
    ],
)
def test_folder_names_the_speaker(path: str, speaker: str) -> None:
    assert by_folder(Path(path)) == speaker


def test_folder_of_a_bare_name_is_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "carol").mkdir()
    monkeypatch.chdir(tmp_path / "carol")
    assert by_folder(Path("1.wav")) == "carol"


@pytest.mark.parametrize(
    ("pattern", "speaker"),
    [
        (r"p\d+", "p225"),
        (r"(p\d+)_", "p225"),
        (r"(wav)/(p\d+)_", "wav"),
        (r"(wav)/(?P<speaker>p\d+)_", "p225"),
        (r"(?P<corpus>\w+)/wav", "vctk"),
        (r"(?i)P\d+", "p225"),
        (r"(?:x)|p2", "p2"),
    ],
)
def test_pattern_finds_the_speaker(pattern: str, speaker: str) -> None:
    assert by_regex(pattern)(Path("vctk/wav/p225_003.wav")) == speaker


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"q\d+", "is not found in this path"),
        (r"(q)?p225", "matches nothing here"),
        (r"(?P<speaker>q*)p225", "matches nothing here"),
        (r"", "matches nothing here"),
    ],
)
def test_pattern_that_finds_no_speaker_is_an_error(pattern: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        by_regex(pattern)(Path("wav/p225_003.wav"))
    text = str(caught.value)
    assert text == f"{Path('wav/p225_003.wav')}: the speaker pattern {pattern!r} {message}"


@pytest.mark.parametrize("pattern", ["(", "[a", "(?P<speaker>x", "*"])
def test_pattern_that_is_none_is_refused_at_once(pattern: str) -> None:
    with pytest.raises(UsageError, match=r"^speaker pattern '.*' is not valid: "):
        by_regex(pattern)


def table(folder: Path, content: str | bytes) -> Path:
    path = folder / "speakers.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_table_names_the_speakers_relative_to_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside.wav"
    rule = by_table(
        table(
            tmp_path,
            f'speaker,text,path\nalice,"a, b",a/1.wav\nbob,,./a/../b/2.wav\ncarol,,{outside}\n',
        )
    )
    assert rule(tmp_path / "a" / "1.wav") == "alice"
    assert rule(tmp_path / "b" / "2.wav") == "bob"
    assert rule(outside) == "carol"
    monkeypatch.chdir(tmp_path / "..")
    assert rule(Path(tmp_path.name, "a", "1.wav")) == "alice"


def test_table_may_be_given_by_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table(tmp_path, "path,speaker\n1.wav,alice\n")
    monkeypatch.chdir(tmp_path)
    rule = by_table(Path("speakers.csv"))
    assert rule(Path("1.wav")) == "alice"
    assert rule(tmp_path / "1.wav") == "alice"


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfpath,speaker\n1.wav,alice\n",
        b"path,speaker\r\n1.wav,alice\r\n",
        b"path,speaker\n\n1.wav,alice",
        b'"path","speaker"\n"1.wav","alice"\n',
        b"path,speaker,\n1.wav,alice,,,\n",
    ],
    ids=["byte order mark", "windows line ends", "empty line", "quoted", "further fields"],
)
def test_tables_as_programs_write_them(tmp_path: Path, content: bytes) -> None:
    assert by_table(table(tmp_path, content))(tmp_path / "1.wav") == "alice"


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system without rules")
def test_odd_names_in_a_table(tmp_path: Path) -> None:
    rule = by_table(table(tmp_path, b'path,speaker\n"two\nlines.wav",alice\ncaf\xe9.wav,bob\n'))
    assert rule(tmp_path / "two\nlines.wav") == "alice"
    assert rule(tmp_path / os.fsdecode(b"caf\xe9.wav")) == "bob"


def test_a_recording_that_is_not_listed_is_an_error(tmp_path: Path) -> None:
    rule = by_table(table(tmp_path, "path,speaker\n1.wav,alice\n"))
    with pytest.raises(UsageError, match=r"2\.wav: not listed in .*speakers\.csv$"):
        rule(tmp_path / "2.wav")


ROWS = "path,speaker,split,sex\n1.wav,alice,dev,F\n2.wav,bob,test,M\n3.wav,carol,test,F\n"


@pytest.mark.parametrize(
    ("only", "speakers"),
    [
        ([], ["alice", "bob", "carol"]),
        ([("split", "test")], [None, "bob", "carol"]),
        ([("split", "test"), ("sex", "F")], [None, None, "carol"]),
        ([("speaker", "bob")], [None, "bob", None]),
        ([("split", "train")], [None, None, None]),
        ([("split", "Test")], [None, None, None]),
    ],
)
def test_only_some_rows(
    tmp_path: Path, only: list[tuple[str, str]], speakers: list[str | None]
) -> None:
    rule = by_table(table(tmp_path, ROWS), only)
    assert [rule(tmp_path / f"{index}.wav") for index in (1, 2, 3)] == speakers


def test_a_left_out_recording_must_be_listed_all_the_same(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not listed"):
        by_table(table(tmp_path, ROWS), [("split", "test")])(tmp_path / "4.wav")


@pytest.mark.parametrize("first", ["dev", "test"])
def test_a_recording_listed_twice_is_in_if_either_row_is(tmp_path: Path, first: str) -> None:
    second = {"dev": "test", "test": "dev"}[first]
    rows = f"path,speaker,split\n1.wav,alice,{first}\n./1.wav,alice,{second}\n"
    assert by_table(table(tmp_path, rows), [("split", "test")])(tmp_path / "1.wav") == "alice"
    assert by_table(table(tmp_path, rows), [("split", "train")])(tmp_path / "1.wav") is None


@pytest.mark.parametrize("only", [[], [("split", "dev")], [("split", "test")], [("split", "x")]])
def test_two_speakers_for_one_recording_are_an_error(
    tmp_path: Path, only: list[tuple[str, str]]
) -> None:
    rows = "path,speaker,split\n1.wav,alice,dev\n2.wav,bob,dev\na/../1.wav,bob,test\n"
    with pytest.raises(UsageError, match=r"line 4: a/\.\./1\.wav is listed with two speakers$"):
        by_table(table(tmp_path, rows), only)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": has no column 'path'; it needs path and speaker"),
        ("path\n1.wav\n", ": has no column 'speaker'; it needs path and speaker"),
        ("path;speaker\n1.wav;alice\n", ": has no column 'path'; it needs path and speaker"),
        ("Path,Speaker\n1.wav,alice\n", ": has no column 'path'; it needs path and speaker"),
        ("path,speaker\n1.wav,\n", ", line 2: path or speaker is empty"),
        ("path,speaker\n1.wav,alice\n,bob\n", ", line 3: path or speaker is empty"),
        ('path,speaker\n"1\n.wav",alice\n2.wav\n', ", line 4: path or speaker is empty"),
        (
            'path,speaker\n1.wav,alice\n2.wav,"bob"x\n3.wav,carol\n',
            ", line 3: is not a CSV table (',' expected after '\"')",
        ),
    ],
)
def test_tables_that_cannot_be_used(tmp_path: Path, content: str, message: str) -> None:
    path = table(tmp_path, content)
    with pytest.raises(UsageError) as caught:
        by_table(path)
    assert str(caught.value) == f"{path}{message}"


def test_a_quote_that_is_never_closed_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"line \d+: is not a CSV table \(unexpected end of data"):
        by_table(table(tmp_path, 'path,speaker\n1.wav,"alice\n2.wav,bob\n'))


def test_a_filter_needs_its_column(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no column 'set'"):
        by_table(table(tmp_path, ROWS), [("split", "test"), ("set", "x")])


@pytest.mark.parametrize("name", ["nowhere.csv", "."])
def test_a_table_that_cannot_be_read_is_refused_by_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with pytest.raises(UsageError) as caught:
        by_table(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_the_last_match_of_a_regex_counts() -> None:
    rule = by_regex(r"(p\d+)_")
    assert rule(Path("p1_study/wav/p225_003.wav")) == "p225"
    assert rule(Path("p1_study/wav/x.wav")) == "p1"


def test_the_sex_of_speakers_is_read_where_it_is_given(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("path,speaker,sex\na.wav,ann,female\nb.wav,bob,M\nc.wav,ann,\nd.wav,eve,-\n")
    assert sexes_in_table(table) == {"ann": "F", "bob": "M"}
    table.write_text("path,speaker\na.wav,ann\n")
    assert sexes_in_table(table) == {}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("b.wav,ann,M", "line 3: speaker ann is both F and M"),
        ("b.wav,bob,x", "line 3: the sex 'x'"),
    ],
)
def test_odd_sexes_are_refused(tmp_path: Path, row: str, reason: str) -> None:
    table = tmp_path / "t.csv"
    table.write_text(f"path,speaker,sex\na.wav,ann,F\n{row}\n")
    with pytest.raises(UsageError, match=reason):
        sexes_in_table(table)
    with pytest.raises(UsageError, match="No such file"):
        sexes_in_table(tmp_path / "none.csv")
