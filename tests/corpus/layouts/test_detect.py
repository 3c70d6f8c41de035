from __future__ import annotations

from pathlib import Path

import pytest

from sordino.corpus.layouts.detect import LAYOUTS, read_corpus
from sordino.errors import UsageError

FILES = {
    "manifest": {"list.csv": "path,speaker\n1.wav,ann\n", "1.wav": ""},
    "kaldi": {"wav.scp": "a 1.wav\n", "utt2spk": "a ann\n", "1.wav": ""},
    "voxceleb": {"id10001/x/00001.wav": ""},
    "vctk": {"wav48/p225/p225_001.wav": "", "txt/p225/p225_001.txt": "Please call Stella.\n"},
    "aishell3": {
        "train/wav/SSB0005/SSB00050001.wav": "",
        "train/content.txt": "SSB00050001.wav\t广 guang3 州 zhou1\n",
    },
    "commonvoice": {
        "validated.tsv": "client_id\tpath\tsentence\na\tcommon_voice_cy_1.mp3\tBore da.\n",
        "clips/common_voice_cy_1.mp3": "",
    },
    "vpc": {
        "libri_dev_enrolls/wav.scp": "84-1 84-1.wav\n",
        "libri_dev_enrolls/utt2spk": "84-1 84\n",
        "libri_dev_enrolls/enrolls": "84-1\n",
        "libri_dev_trials_f/wav.scp": "84-1 84-1.wav\n",
        "libri_dev_trials_f/utt2spk": "84-1 84\n",
        "libri_dev_trials_f/trials": "",
        "84-1.wav": "",
    },
    "librispeech": {"84/1/84-1-0000.flac": "", "84/1/84-1.trans.txt": "84-1-0000 TEXT\n"},
    "folders": {"ann/1.wav": ""},
}
IDS = {
    "manifest": "1.wav",
    "kaldi": "a",
    "voxceleb": "id10001/x/00001.wav",
    "vctk": "p225_001",
    "aishell3": "SSB00050001",
    "commonvoice": "common_voice_cy_1",
    "vpc": "84-1",
    "librispeech": "84-1-0000",
    "folders": "ann/1.wav",
}


def make(folder: Path, layout: str) -> Path:
    for name, content in FILES[layout].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder / "list.csv" if layout == "manifest" else folder


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_recognised(tmp_path: Path, layout: str) -> None:
    path = make(tmp_path, layout)
    known = [name for name, one in LAYOUTS.items() if one.recognises(path)]
    assert known[0] == layout
    for asked in (None, layout):
        assert [utterance.id for utterance in read_corpus(path, asked)] == [IDS[layout]]


def test_a_folder_with_a_manifest_is_one(tmp_path: Path) -> None:
    make(tmp_path, "folders")
    (tmp_path / "manifest.csv").write_text("path,speaker\nann/1.wav,bob\n")
    assert read_corpus(tmp_path).speakers == ("bob",)
    assert read_corpus(tmp_path, "folders").speakers == ("ann",)


@pytest.mark.parametrize("name", ["1.wav", "empty"])
def test_what_is_none_is_told_with_all_that_are_known(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "1.wav").touch()
    with pytest.raises(UsageError, match=f"^{tmp_path / name}: is none of the known layouts") as e:
        read_corpus(tmp_path / name)
    for layout in LAYOUTS.values():
        assert f"{layout.name} ({layout.looks_like})" in str(e.value)


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere: there is no such file or folder"):
        read_corpus(tmp_path / "nowhere")


def test_a_layout_that_is_not_known_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'timit' is not one of kaldi, manifest, voxceleb"):
        read_corpus(tmp_path, "timit")
