from __future__ import annotations

from pathlib import Path

import pytest

from sordino.corpus.rttm import Turn, read_rttm
from sordino.errors import UsageError

MEETING = """\
;; made by hand
SPKR-INFO meeting 1 <NA> <NA> <NA> adult_female ann <NA>
SPKR-INFO meeting 1 <NA> <NA> <NA> unknown bob <NA>
SPEAKER meeting 1 2.50 1.5 <NA> <NA> bob <NA> <NA>
SPEAKER meeting 1 0.25 3 <NA> <NA> ann 0.9

NOISE meeting 1 0 1 <NA> <NA> <NA> <NA>
SPEAKER other 1 1 2 <NA> <NA> ann <NA> <NA>
"""


def written(folder: Path, text: str, name: str = "turns.rttm") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_turns_are_sorted_by_recording(tmp_path):
    turns = read_rttm(written(tmp_path, MEETING))
    assert turns.of(Path("deep/meeting.wav")) == (
        Turn("ann", 0.25, 3.25, "F"),
        Turn("bob", 2.5, 4.0),
    )
    assert turns.of(Path("other.flac")) == (Turn("ann", 1.0, 3.0, "F"),)


def test_a_folder_is_all_its_files(tmp_path):
    written(tmp_path, "SPEAKER a 1 0 1 <NA> <NA> x <NA> <NA>\n", "a.rttm")
    written(tmp_path, "\ufeffSPEAKER b 1 0 1 <NA> <NA> y <NA> <NA>\r\n", "b.rttm")
    written(tmp_path, "nothing", "notes.txt")
    turns = read_rttm(tmp_path)
    assert [turn.speaker for name in "ab" for turn in turns.of(Path(name))] == ["x", "y"]


def test_a_recording_without_lines_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"third\.wav: .*turns\.rttm has no SPEAKER line"):
        read_rttm(written(tmp_path, MEETING)).of(Path("third.wav"))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("SPEAKER a 1 x 1 <NA> <NA> ann", "line 1: the start 'x' is not a time"),
        ("SPEAKER a 1 -1 1 <NA> <NA> ann", "the start '-1'"),
        ("SPEAKER a 1 nan 1 <NA> <NA> ann", "the start 'nan'"),
        ("SPEAKER a 1 0 inf <NA> <NA> ann", "the duration 'inf'"),
        ("SPEAKER a 1 0 -2 <NA> <NA> ann", "the duration '-2'"),
        ("SPEAKER a 1 0 0 <NA> <NA> ann", "the duration is 0"),
        ("SPEAKER a 1 0 1 <NA> <NA> <NA>", "names no speaker"),
        # This stands for whoever is not named.
        ("SPEAKER a 1 0 1 <NA> <NA> \0", "a zero byte in the name"),
        ("SPEAKER a 1 0 1", "has 5 fields"),
        ("LEXEME a 1 0 1 word <NA> ann", "no SPEAKER line in it"),
        ("", "no SPEAKER line in it"),
        (
            "SPKR-INFO a 1 - - - adult_male x\nSPKR-INFO a 1 - - - adult_female x",
            "line 2: x is both",
        ),
    ],
)
def test_odd_lines_are_errors(tmp_path, line, reason):
    with pytest.raises(UsageError, match=reason) as caught:
        read_rttm(written(tmp_path, line + "\n"))
    assert "\n" not in str(caught.value)


def test_what_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        read_rttm(tmp_path / "none.rttm")
    with pytest.raises(UsageError, match=r"no file in it ends in \.rttm"):
        read_rttm(tmp_path)
    (tmp_path / "binary.rttm").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="UTF-8"):
        read_rttm(tmp_path / "binary.rttm")
