from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sordino.corpus.corpus import Corpus
from sordino.errors import UsageError
from sordino.evaluate.anonymization.ears import Ear, Tuner
from sordino.evaluate.anonymization.hearings import as_heard
from sordino.speaker.encoders import load_encoder
from tests.encoders import write_encoder as write_energies
from tests.helpers import write_voice


def corpus(folder: Path) -> Corpus:
    from sordino.corpus.layouts.detect import read_corpus

    for who in ("ann", "bob"):
        for take in range(2):
            write_voice(folder / who / f"{take}.wav", 2.5, seed=take)
    return read_corpus(folder)


def test_an_encoder_that_is_not_tuned_hears_as_it_is(tmp_path) -> None:
    write_energies(tmp_path / "energies")
    ear = Ear("x", load_encoder(str(tmp_path / "energies")))
    speech = corpus(tmp_path / "speech")
    heard = as_heard(speech)
    assert Tuner(5, tmp_path / "out", 0).listener(ear, speech, heard, "mine") is ear
    assert ear.title == "mean-energy"
    assert ear.tuned().title == "mean-energy tuned"


def test_tuning_without_pytorch_says_what_to_install(tmp_path, monkeypatch) -> None:
    write_energies(tmp_path / "energies")
    ear = Ear("x", load_encoder(str(tmp_path / "energies"))).tuned()
    speech = corpus(tmp_path / "speech")
    monkeypatch.setitem(sys.modules, "sordino.training.speaker.tune", None)
    with pytest.raises(UsageError, match=r"sordino\[train\]"):
        Tuner(5, tmp_path / "out", 0).listener(ear, speech, as_heard(speech), "mine")


def test_a_tuned_encoder_is_made_once_for_the_same_speech(tmp_path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("lightning_fabric")
    from sordino.training.export import write_encoder
    from sordino.training.networks.encoder import build_encoder
    from tests.talkers import TINY, talkers

    torch.manual_seed(1)
    metadata = {"name": "start", "summary": "s", "licence": "CC0-1.0", "sample_rate": 16000}
    write_encoder(tmp_path / "start", build_encoder(TINY), TINY, metadata, "# Start\n")
    name = str(tmp_path / "start")
    ear = Ear(name, load_encoder(name)).tuned()
    speech = talkers(tmp_path / "speech", speakers=24, utterances=2, seconds=2.2)
    tuner = Tuner(2, tmp_path / "out", 0)
    first = tuner.listener(ear, speech, as_heard(speech), "mine")
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    second = tuner.listener(ear, speech, as_heard(speech), "mine")
    assert first.encoder.digest == second.encoder.digest != ear.encoder.digest
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "out").rglob("*")} == made
    fewer = Corpus(speech.utterances[:-2])
    other = tuner.listener(ear, fewer, as_heard(fewer), "mine")
    assert other.encoder.digest != first.encoder.digest
