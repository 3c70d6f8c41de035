from __future__ import annotations

from pathlib import Path

import pytest

from sordino.corpus.layouts.librispeech import read, recognises
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError

SPEAKERS = (
    ";ID  |SEX| SUBSET           |MINUTES| NAME\n"
    "84   | F | dev-clean        | 8.02  | Christie Nowak\n"
    "174  | M | dev-clean        | 8.04  | Peter | Eastman\n"
)


@pytest.fixture
def subset(tmp_path: Path) -> Path:
    folder = tmp_path / "LibriSpeech" / "dev-clean"
    for speaker, chapter, takes in (("84", "121123", 2), ("174", "50561", 1), ("9", "1", 1)):
        place = folder / speaker / chapter
        place.mkdir(parents=True)
        names = [f"{speaker}-{chapter}-{take:04}" for take in range(takes)]
        for name in names:
            (place / f"{name}.flac").touch()
        if speaker != "9":
            lines = "".join(f"{name} TEXT OF {name}\n" for name in names)
            (place / f"{speaker}-{chapter}.trans.txt").write_text(lines)
    (tmp_path / "LibriSpeech" / "SPEAKERS.TXT").write_text(SPEAKERS)
    return folder


def test_a_subset_and_the_whole_are_the_same(subset: Path) -> None:
    place = subset / "84" / "121123"
    corpus = read(subset)
    assert corpus.by_id()["84-121123-0001"] == Utterance(
        "84-121123-0001",
        place / "84-121123-0001.flac",
        "84",
        sex="F",
        language="en",
        text="TEXT OF 84-121123-0001",
        corpus="librispeech",
        split="dev-clean",
    )
    assert {one.id: (one.sex, one.text is None) for one in corpus} == {
        "174-50561-0000": ("M", False),
        "84-121123-0000": ("F", False),
        "84-121123-0001": ("F", False),
        "9-1-0000": (None, True),
    }
    assert read(subset.parent) == corpus
    assert recognises(subset)
    assert recognises(subset.parent)
    assert not recognises(subset.parent.parent)


def test_without_a_list_of_speakers(subset: Path) -> None:
    (subset.parent / "SPEAKERS.TXT").unlink()
    assert {one.sex for one in read(subset)} == {None}


def test_recordings_with_a_transcript_must_be_there(subset: Path) -> None:
    for recording in (subset / "84" / "121123").glob("*.flac"):
        recording.unlink()
    message = "2 recordings with a transcript missing, the first is 84-121123-0000"
    with pytest.raises(UsageError, match=f"^{subset}: {message}$"):
        read(subset)


@pytest.mark.parametrize(
    "name", ["1.flac", "84/84-121123-0002.flac", "84/121123/85-121123-0000.flac", "84/121123/x.wav"]
)
def test_what_lies_elsewhere_is_an_error(subset: Path, name: str) -> None:
    (subset / name).touch()
    with pytest.raises(UsageError, match=f"{name}: does not lie as 1272/128104/"):
        read(subset)


def test_folders_too_far_above_are_refused(subset: Path) -> None:
    with pytest.raises(UsageError, match="does not lie as"):
        read(subset.parent.parent)


@pytest.mark.parametrize("line", ["84 | x | dev-clean", "84"])
def test_wrong_lists_of_speakers_are_told(subset: Path, line: str) -> None:
    (subset.parent / "SPEAKERS.TXT").write_text(f"; comment\n{line}\n")
    with pytest.raises(UsageError, match=r"SPEAKERS\.TXT, line 2: has no sex that is F or M$"):
        read(subset)
