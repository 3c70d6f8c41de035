from __future__ import annotations

from pathlib import Path

import pytest

from sordino.corpus.layouts.folders import read, recognises
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_who_speaks_is_the_folder(tmp_path: Path) -> None:
    touch(tmp_path, "bob/2.flac", "ann/1.wav", "ann/1.mp3", "ann/notes.txt", "dev/two words/1.wav")
    assert read(tmp_path).utterances == tuple(
        Utterance(name, tmp_path / name, speaker)
        for name, speaker in [
            ("ann/1.mp3", "ann"),
            ("ann/1.wav", "ann"),
            ("bob/2.flac", "bob"),
            ("dev/two words/1.wav", "two words"),
        ]
    )


def test_the_working_folder_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path, "ann/1.wav")
    monkeypatch.chdir(tmp_path)
    assert read(Path()).utterances == (Utterance("ann/1.wav", Path("ann/1.wav"), "ann"),)


def test_a_recording_in_no_speakers_folder_is_an_error(tmp_path: Path) -> None:
    touch(tmp_path, "ann/1.wav", "2.wav")
    with pytest.raises(UsageError, match=r"2\.wav: lies in no speaker's folder; put it into one$"):
        read(tmp_path)


def test_sessions_are_not_taken_for_speakers(tmp_path: Path) -> None:
    touch(tmp_path, "ann/day1/1.wav", "bob/day1/1.wav")
    message = f"the folders {tmp_path}/ann/day1 and {tmp_path}/bob/day1 have the same name"
    with pytest.raises(UsageError, match=message):
        read(tmp_path)


def test_a_folder_without_recordings_is_an_error(tmp_path: Path) -> None:
    touch(tmp_path, "ann/1.txt")
    with pytest.raises(UsageError, match=f"^{tmp_path}: there are no utterances$"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("ann/1.wav", True),
        ("a/b/1.wav", True),
        ("1.wav", False),
        ("ann/1.txt", False),
        (".hidden/1.wav", False),
    ],
)
def test_what_looks_like_one(tmp_path: Path, name: str, known: bool) -> None:
    touch(tmp_path, name)
    assert recognises(tmp_path) == known
    assert not recognises(tmp_path / name)
