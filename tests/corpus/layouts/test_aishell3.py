from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sordino.audio.recording import Recording
from sordino.corpus.layouts import manifest
from sordino.corpus.layouts.aishell3 import read, recognises
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError

SPEAKERS = (
    "# A:< 14, B:14 - 25, C:26 - 40, D:> 41.\nSSB0005\tB\tfemale\tnorth\nSSB0073 B male north\n"
)
TEXTS = {
    "train": "SSB00050001.wav\t广 guang3 州 zhou1 女 nv3\nSSB00730001.wav\t九 jiu3 点儿 dianr3\n",
    "test": "SSB00050002.wav\t尊 zhun1 重 zhong4\n",
}


def touch(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "data_aishell3"
    touch(
        folder,
        "train/wav/SSB0005/SSB00050001.wav",
        "train/wav/SSB0073/SSB00730001.wav",
        "train/label_train-set.txt",
        "test/wav/SSB0005/SSB00050002.wav",
        "test/wav/SSB0999/SSB09990001.wav",
    )
    for split, texts in TEXTS.items():
        (folder / split / "content.txt").write_text(texts, encoding="utf-8")
    (folder / "spk-info.txt").write_text(SPEAKERS)
    return folder


def test_both_parts_with_characters_only(root: Path) -> None:
    corpus = read(root)
    assert corpus.by_id()["SSB00050001"] == Utterance(
        "SSB00050001",
        root / "train/wav/SSB0005/SSB00050001.wav",
        "SSB0005",
        sex="F",
        language="zh",
        text="广州女",
        corpus="aishell3",
        split="train",
    )
    assert {one.id: (one.sex, one.text, one.split) for one in corpus} == {
        "SSB00050001": ("F", "广州女", "train"),
        "SSB00730001": ("M", "九点儿", "train"),
        "SSB00050002": ("F", "尊重", "test"),
        "SSB09990001": (None, None, "test"),
    }


def test_a_part_is_that_of_the_whole(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for split in TEXTS:
        assert read(root / split) == read(root).select(split=split)
        assert recognises(root / split)
    assert recognises(root)
    assert not recognises(root.parent)
    monkeypatch.chdir(root / "test")
    assert {one.split for one in read(Path())} == {"test"}


def test_without_texts_and_list_of_speakers(root: Path) -> None:
    for name in ("spk-info.txt", "train/content.txt", "test/content.txt"):
        (root / name).unlink()
    assert {(one.sex, one.text) for one in read(root)} == {(None, None)}


def test_recordings_with_a_text_must_be_there(root: Path) -> None:
    (root / "train/wav/SSB0073/SSB00730001.wav").unlink()
    message = "1 recordings with a text missing, the first is SSB00730001"
    with pytest.raises(UsageError, match=f"^{root / 'train'}: {message}$"):
        read(root)


@pytest.mark.parametrize(
    "name", ["1.wav", "SSB0005/1.wav", "SSB0073/SSB00050009.wav", "SSB0005/x/SSB00050009.wav"]
)
def test_what_lies_elsewhere_is_an_error(root: Path, name: str) -> None:
    touch(root / "train" / "wav", name)
    with pytest.raises(UsageError, match=f"{name}: does not lie as wav/SSB0005/SSB00050001.wav"):
        read(root)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("spk-info.txt", "#\nSSB0005\tB\n", "spk-info.txt, line 2: has no sex that is F or M"),
        ("spk-info.txt", "SSB0005 B x north\n", "spk-info.txt, line 1: has no sex that is F or M"),
        ("train/content.txt", "SSB00050001.wav\n", "content.txt, line 1: SSB00050001.wav has no"),
        (
            "train/content.txt",
            "SSB00050001.wav guang3\n",
            "content.txt, line 1: SSB00050001.wav has no characters",
        ),
    ],
)
def test_wrong_lines_are_told(root: Path, name: str, content: str, message: str) -> None:
    (root / name).write_text(content)
    with pytest.raises(UsageError) as caught:
        read(root)
    assert message in str(caught.value)


def test_a_folder_without_recordings(tmp_path: Path) -> None:
    (tmp_path / "train" / "wav").mkdir(parents=True)
    assert not recognises(tmp_path)
    assert not recognises(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=f"^{tmp_path}: there are no utterances$"):
        read(tmp_path)


def test_real_speech_is_read(tmp_path: Path, speech_root: Path) -> None:
    chosen = manifest.read(speech_root).select(corpus="aishell3_1utt").utterances[:4]
    rows = []
    for one in chosen:
        place = tmp_path / "test" / "wav" / one.path.stem[:7] / f"{one.path.stem}.wav"
        place.parent.mkdir(parents=True, exist_ok=True)
        Recording.read(one.path).write(place)
        rows.append(f"{place.name}\t" + " ".join(f"{sign} x1" for sign in one.text or "") + "\n")
    (tmp_path / "test" / "content.txt").write_text("".join(rows), encoding="utf-8")
    known = read(tmp_path).by_id()
    assert [known[one.path.stem].text for one in chosen] == [one.text for one in chosen]
    for one in chosen:
        same = known[one.path.stem].read()
        np.testing.assert_allclose(same.samples, Recording.read(one.path).samples, atol=2**-15)
