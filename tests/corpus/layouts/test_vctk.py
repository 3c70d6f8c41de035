from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from sordino.audio.recording import Recording
from sordino.corpus.layouts import manifest
from sordino.corpus.layouts.vctk import read, recognises
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError

INFO_092 = (
    "ID  AGE  GENDER  ACCENTS  REGION COMMENTS \n"
    "p225  23  F    English    Southern  England\n"
    "p226  22  M    English    Surrey\n"
    "p280  25  F    Unknown    France (mic2 files unavailable)\n"
    "p315  18  M    American   New England (Text unavailable)\n"
    "s5  24  F    Indian\n"
)
INFO_080 = "ID  AGE  GENDER  ACCENTS  REGION  \n225  23  F    English    Southern  England\n"


def touch(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()


def say(root: Path, name: str, text: str) -> None:
    path = root / "txt" / name.partition("_")[0] / f"{name}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def new(tmp_path: Path) -> Path:
    """A tree like release 0.92."""
    root = tmp_path / "VCTK"
    for name in ("p225_001", "p225_002", "p226_001", "s5_001"):
        place = f"wav48_silence_trimmed/{name.partition('_')[0]}/{name}"
        touch(root, f"{place}_mic1.flac", f"{place}_mic2.flac")
        say(root, name, f"Text of {name}.\n")
    touch(root, "wav48_silence_trimmed/p280/p280_001_mic1.flac")
    say(root, "p280_001", "Of France.\n")
    touch(root, "wav48_silence_trimmed/p315/p315_001_mic1.flac", "wav48_silence_trimmed/log.txt")
    touch(root, "wav48_silence_trimmed/p362/p362_001_mic1.flac")
    touch(root, "wav48_silence_trimmed/p362/p362_001_mic2.flac")
    say(root, "p362_001", "It is read.\n")
    say(root, "p362_002", "It was not recorded.\n")
    (root / "speaker-info.txt").write_text(INFO_092)
    return root


def test_each_utterance_once_by_the_first_microphone(new: Path) -> None:
    corpus = read(new)
    assert corpus.by_id()["p225_002"] == Utterance(
        "p225_002",
        new / "wav48_silence_trimmed/p225/p225_002_mic1.flac",
        "p225",
        sex="F",
        language="en",
        text="Text of p225_002.",
        corpus="vctk",
    )
    assert {one.id: (one.sex, one.text is not None) for one in corpus} == {
        "p225_001": ("F", True),
        "p225_002": ("F", True),
        "p226_001": ("M", True),
        "s5_001": ("F", True),
        "p280_001": ("F", True),
        "p315_001": ("M", False),
        "p362_001": (None, True),
    }


def test_the_second_microphone_lacks_speakers(new: Path) -> None:
    corpus = read(new, "mic2")
    assert corpus.speakers == ("p225", "p226", "p362", "s5")
    assert {one.path.stem[-4:] for one in corpus} == {"mic2"}
    with pytest.raises(UsageError, match="the microphone 'mic3' is not one of mic1, mic2"):
        read(new, "mic3")


def test_the_folder_of_the_recordings_will_do(new: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = new / "wav48_silence_trimmed"
    assert recognises(new)
    assert recognises(home)
    assert read(home) == read(new)
    monkeypatch.chdir(home)
    assert read(Path()) == read(new)


def test_the_first_release(tmp_path: Path) -> None:
    touch(tmp_path, "wav48/p225/p225_001.wav", "wav48/p225/p225_002.wav", "wav48/p376/p376_001.wav")
    touch(tmp_path, "wav48/p376/p376_295.raw")
    for name in ("p225_001", "p225_002", "p376_001", "p376_295"):
        say(tmp_path, name, "Text.")
    (tmp_path / "speaker-info.txt").write_text(INFO_080)
    corpus = read(tmp_path)
    assert {one.id: one.sex for one in corpus} == {
        "p225_001": "F",
        "p225_002": "F",
        "p376_001": None,
    }
    assert recognises(tmp_path)
    shutil.rmtree(tmp_path / "wav48" / "p225")
    message = "2 recordings with a text missing, the first is p225_001"
    with pytest.raises(UsageError, match=f"^{tmp_path / 'wav48'}: {message}$"):
        read(tmp_path)


def test_without_texts_and_list_of_speakers(new: Path) -> None:
    (new / "speaker-info.txt").unlink()
    shutil.rmtree(new / "txt")
    assert {(one.sex, one.text) for one in read(new)} == {(None, None)}


@pytest.mark.parametrize("speaker", ["p225", "p280"])
def test_recordings_with_a_text_must_be_there(new: Path, speaker: str) -> None:
    home = new / "wav48_silence_trimmed"
    (home / speaker / f"{speaker}_001_mic1.flac").unlink()
    message = f"^{home}: 1 recordings with a text missing, the first is {speaker}_001$"
    with pytest.raises(UsageError, match=message):
        read(new)


@pytest.mark.parametrize("name", ["1.wav", "p225/1.wav", "p226/p225_009_mic1.flac", "x/x_001.wav"])
def test_what_lies_elsewhere_is_an_error(new: Path, name: str) -> None:
    touch(new / "wav48_silence_trimmed", name)
    with pytest.raises(UsageError, match=f"{name}: does not lie as p225/p225_001_mic1.flac does$"):
        read(new)


@pytest.mark.parametrize("line", ["p225", "p225 23", "p225 23 X English"])
def test_wrong_lists_of_speakers_are_told(new: Path, line: str) -> None:
    (new / "speaker-info.txt").write_text(f"ID  AGE  GENDER\n{line}\n")
    with pytest.raises(UsageError, match=r"speaker-info\.txt, line 2: has no sex that is F or M$"):
        read(new)


def test_what_does_not_look_like_one(tmp_path: Path) -> None:
    touch(tmp_path, "wav48/ann/1.wav", "wav48/p225")
    assert not recognises(tmp_path)
    assert not recognises(tmp_path / "nowhere")
    (tmp_path / "empty" / "wav48").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"wav48: there are no utterances$"):
        read(tmp_path / "empty")


def test_real_speech_is_read(tmp_path: Path, speech_root: Path) -> None:
    chosen = manifest.read(speech_root).select(corpus="vctk").utterances[::10]
    for one in chosen:
        name = one.path.stem
        place = tmp_path / "wav48_silence_trimmed" / name.partition("_")[0]
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(one.path, place / f"{name}_mic1.flac")
        say(tmp_path, name, one.text or "")
    known = read(tmp_path).by_id()
    assert len(known) == len(chosen)
    for one in chosen:
        same = known[one.path.stem]
        assert same.text == one.text
        np.testing.assert_array_equal(same.read().samples, Recording.read(one.path).samples)
