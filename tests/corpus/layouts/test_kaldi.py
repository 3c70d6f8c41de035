from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from sordino.audio.recording import Recording
from sordino.corpus.layouts import manifest
from sordino.corpus.layouts.kaldi import read, recognises
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError


def kaldi(folder: Path, tables: Mapping[str, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in tables.items():
        (folder / name).write_text(content, encoding="utf-8")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project folder with recordings in `wav` and a data directory to be in `data/dev`."""
    for name in ("1.wav", "2.flac", "two words.wav"):
        (tmp_path / "wav" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "wav" / name).touch()
    return tmp_path


PLAIN = {"wav.scp": "a-1 wav/1.wav\nb-1 wav/2.flac\n", "utt2spk": "b-1 b\na-1 a\n"}


def test_all_tables(root: Path) -> None:
    folder = kaldi(
        root / "data" / "dev",
        {
            **PLAIN,
            "spk2gender": "a f\nb M\nc m\n",
            "text": "a-1 one two\n",
            "utt2lang": "b-1 fr\n",
            "utt2dur": "a-1 2.5\n",
        },
    )
    assert read(folder).utterances == (
        Utterance("b-1", root / "wav/2.flac", "b", sex="M", language="fr"),
        Utterance("a-1", root / "wav/1.wav", "a", sex="F", text="one two", duration=2.5),
    )


def test_commands_are_understood_and_not_run(root: Path) -> None:
    made = root / "made"
    folder = kaldi(
        root / "data",
        {
            "wav.scp": "a flac -c -d -s wav/2.flac |\n"
            f"b sox '{root}/wav/two words.wav' -t wav - |\nc wav/two words.wav\n",
            "utt2spk": "a x\nb x\nc x\n",
        },
    )
    names = [utterance.path.name for utterance in read(folder)]
    assert names == ["2.flac", "two words.wav", "two words.wav"]
    kaldi(folder, {"wav.scp": f"a touch {made} |\n", "utt2spk": "a x\n"})
    with pytest.raises(UsageError, match=r"wav\.scp, line 1: the command 'touch' is not one of"):
        read(folder)
    assert not made.exists()


def test_the_working_directory_comes_before_the_folders_above(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = kaldi(root / "data" / "dev", PLAIN)
    (root / "run" / "wav").mkdir(parents=True)
    (root / "run" / "wav" / "1.wav").touch()
    assert {one.id: one.path for one in read(folder)}["a-1"] == root / "wav/1.wav"
    monkeypatch.chdir(root / "run")
    paths = {one.id: one.path for one in read(Path("../data/dev"))}
    assert paths["a-1"] == Path("wav/1.wav")
    assert paths["b-1"].samefile(root / "wav/2.flac")


def test_segments_are_parts_of_recordings(root: Path) -> None:
    folder = kaldi(
        root / "data",
        {
            "wav.scp": "r1 wav/1.wav\nr2 wav/none.wav\n",
            "segments": "u1 r1 0.5 2.25\nu2 r1 2.25 -1\n",
            "utt2spk": "u1 ann\nu2 bob\n",
        },
    )
    assert read(folder).utterances == (
        Utterance("u1", root / "wav/1.wav", "ann", start=0.5, end=2.25),
        Utterance("u2", root / "wav/1.wav", "bob", start=2.25),
    )


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"utt2spk": "a-1 a\n"}, "utt2spk: lacks the utterance b-1"),
        (
            {"utt2spk": "a-1 a\nb-1 b\nc-1 c\n"},
            "utt2spk, line 3: there is no recording of c-1",
        ),
        ({"utt2spk": "a-1 a\nb-1\n"}, "utt2spk, line 2: b-1 has no value"),
        ({"wav.scp": "a-1 wav/1.wav\na-1 wav/1.wav\n"}, "wav.scp, line 2: a-1 stands in line 1"),
        ({"spk2gender": "a f\nb x\n"}, "spk2gender, line 2: the sex 'x' is not F, M or empty"),
        ({"utt2dur": "a-1 long\n"}, "utt2dur, line 1: 'long' is not a number of seconds"),
        ({"segments": "a-1 a-1 0\n"}, "segments, line 1: expected an utterance, a recording, and"),
        ({"segments": "a-1 a-1 0 x\n"}, "segments, line 1: expected an utterance"),
        ({"segments": "a-1 r 0 1\n"}, "segments, line 1: r is not in wav.scp"),
        ({"segments": "a-1 a-1 2 1\n"}, "segments, line 1: a-1 goes from 2 to 1 s"),
        ({"wav.scp": "a-1 x.ark:15\nb-1 wav/2.flac\n"}, "wav.scp, line 1: points into an archive"),
        (
            {"wav.scp": "a-1 wav/1.wav\nb-1 sph2pipe -f wav -c 2 x.sph |\n"},
            "wav.scp, line 2: sph2pipe is given '-c'",
        ),
        (
            {"wav.scp": "a-1 wav/1.wav\nb-1 flac -cds wav/none.flac |\n"},
            "wav.scp: 1 of 2 recordings missing, the first is wav/none.flac (line 2)",
        ),
    ],
)
def test_wrong_lines_are_told(root: Path, tables: dict[str, str], message: str) -> None:
    folder = kaldi(root / "data", {**PLAIN, **tables})
    with pytest.raises(UsageError) as caught:
        read(folder)
    assert str(caught.value).startswith(f"{folder}/")
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["wav.scp", "utt2spk"])
def test_tables_that_are_needed(root: Path, name: str) -> None:
    folder = kaldi(root / "data", PLAIN)
    (folder / name).unlink()
    assert recognises(folder) == (name != "wav.scp")
    with pytest.raises(UsageError, match=f"{name}: No such file"):
        read(folder)


def test_a_part_of_real_speech_is_that_of_the_whole(tmp_path: Path, speech_root: Path) -> None:
    source = manifest.read(speech_root).select(corpus="vctk").utterances[0].path
    shutil.copy(source, tmp_path / "1.flac")
    folder = kaldi(
        tmp_path / "data",
        {
            "wav.scp": "r flac -c -d -s 1.flac |\n",
            "segments": "u r 0.5 1.25\n",
            "utt2spk": "u ann\n",
        },
    )
    whole = Recording.read(source)
    part = read(folder).utterances[0].read()
    first, last = round(0.5 * whole.sample_rate), round(1.25 * whole.sample_rate)
    np.testing.assert_array_equal(part.samples, whole.samples[:, first:last])
