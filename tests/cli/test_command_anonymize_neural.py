"""The neural system on the command line, with a tiny voice: profiles, turns, ablations."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from sordino.anonymize.neural import Neural
from sordino.anonymize.systems import SYSTEMS
from sordino.audio.recording import Recording
from sordino.cli.main import main
from sordino.privacy.keys import SecretKey
from tests.helpers import tree, write_voice
from tests.neural_voices import write_models

KEY = "a key for the tests"
AVERAGE = ("--param", "strategy=average", "--param", "candidates=20", "--param", "averaged=5")


@pytest.fixture(autouse=True)
def models(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("SORDINO_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("SORDINO_KEY", KEY)
    monkeypatch.setitem(SYSTEMS, "neural", Neural)
    write_models(tmp_path / "models")
    return tmp_path / "models"


@pytest.fixture
def folder(tmp_path) -> Path:
    for number in range(4):
        path = tmp_path / f"in/s{number % 2}/{number}.wav"
        write_voice(path, 1.5, seed=number, subtype="FLOAT")
    return tmp_path / "in"


def call(capsys, *arguments: object) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def neural(capsys, folder: Path, out: Path, *arguments: object) -> str:
    system = ("--system", "neural", "--param", f"voice={out.parent / 'models/tiny-voice'}")
    status, _, err = call(capsys, "anonymize", folder, "-o", out, *system, "--jobs", 1, *arguments)
    assert status == 0, err
    return err


def test_a_pseudo_speaker_follows_from_all_of_a_speakers_recordings(folder, tmp_path, capsys):
    from sordino.anonymize.sources import mean_source

    err = neural(capsys, folder, tmp_path / "out", *AVERAGE)
    assert "depend on how speakers sound" in err
    anonymizer = Neural(
        str(tmp_path / "models/tiny-voice"), strategy="average", candidates=20, averaged=5
    )
    encoder = anonymizer.source_encoder()
    for speaker in ("s0", "s1"):
        takes = {path: Recording.read(path) for path in sorted((folder / speaker).iterdir())}
        source = mean_source([encoder.embed(take) for take in takes.values()])
        for path, take in takes.items():
            expected = anonymizer.anonymize(
                take.samples,
                take.sample_rate,
                speaker=speaker,
                key=SecretKey.from_secret(KEY.encode()),
                source=source,
            )
            found, _ = soundfile.read(tmp_path / "out" / speaker / path.name)
            np.testing.assert_allclose(found, expected[0], atol=2e-3)
    record = json.loads((tmp_path / "out/sordino-run.json").read_text())
    assert record["parameters"]["strategy"] == "average"


def test_several_speakers_in_a_recording(folder, tmp_path, capsys):
    turns = "SPEAKER {0} 1 0 0.7 - - ann\nSPEAKER {0} 1 0.7 0.7 - - bob\n"
    (tmp_path / "turns.rttm").write_text("".join(map(turns.format, range(4))))
    for level in ("speaker", "utterance"):
        out = tmp_path / level
        neural(capsys, folder, out, *AVERAGE, "--rttm", tmp_path / "turns.rttm", "--level", level)
        for name, data in tree(folder).items():
            assert data
            assert soundfile.info(out / name).frames == 1.5 * 16000


def test_an_ablation_of_real_settings(folder, tmp_path, capsys, monkeypatch):
    for number in range(4, 16):
        write_voice(folder / f"s{number // 2}/{number}.wav", 1.5, seed=number)
    status, _, err = call(
        capsys,
        *("evaluate", "ablation", folder, "--voice", "tiny-voice", "--param", "voices=0"),
        *("--prosody", "normalise", "--prosody", "copy", "-o", tmp_path / "report"),
        *("--draws", 100, "--jobs", 1, "--measure", "none", "--enrolments", 1, "--quiet"),
        *("--backend", "cosine", "--scenario", "OA", "--scenario", "OR"),
    )
    assert status == 0, err
    with (tmp_path / "report/ablation.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["prosody"] for row in rows] == ["", "normalise", "copy"]
    assert [row["strategy"] for row in rows] == ["", "density", "density"]
    assert rows[1]["encoder"] == "mean-energy"
