"""A store of voices for the tests of its commands."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import soundfile

from sordino.cli.main import main
from tests.voices import CepstralEncoder

KEY = "a key for the tests"
KNOWN = {
    "thresholds": {"0.01": 0.25, "0.001": 0.9999},
    "calibration": {"slope": 10.0, "offset": -4.0},
    "measured_on": "test speakers",
}


@dataclass(frozen=True)
class Answer:
    """What a command left."""

    status: int
    out: str
    err: str

    @property
    def said(self) -> dict[str, object]:
        """The line of JSON."""
        assert self.out.count("\n") == 1
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


class Shell:
    """Runs commands on one store."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.store = folder / "voices"
        self._capsys = capsys

    def __call__(self, command: str, *arguments: object) -> Answer:
        try:
            status = main([command, *map(str, arguments)])
        except SystemExit as stop:
            status = int(str(stop.code))
        return Answer(status, *self._capsys.readouterr())


@dataclass(frozen=True)
class People:
    """Recordings of real people."""

    files: dict[str, list[Path]]

    def of(self, number: int) -> list[Path]:
        return list(self.files.values())[number]


@pytest.fixture
def shell(tmp_path, capsys, monkeypatch) -> Shell:
    """With a key, a store and an encoder in the environment."""
    made = Shell(tmp_path, capsys)
    monkeypatch.setenv("SORDINO_KEY", KEY)
    monkeypatch.setenv("SORDINO_STORE", str(made.store))
    monkeypatch.setattr(
        "sordino.speaker.encoders.load_encoder", lambda name, **_: CepstralEncoder(KNOWN)
    )
    return made


@pytest.fixture(scope="session")
def people(speech_root) -> People:
    """Three people with three recordings each."""
    folders = sorted(path for path in (speech_root / "librispeech").iterdir() if path.is_dir())
    return People({folder.name: sorted(folder.rglob("*.flac"))[:3] for folder in folders[:3]})


@pytest.fixture
def enrolled(shell, people) -> Shell:
    """Anna and Bruno are enrolled, with two recordings each."""
    for number, name in enumerate(("anna", "bruno")):
        assert shell("enroll", name, *people.of(number)[:2]).status == 0
    return shell


def write(path: Path, samples: np.ndarray) -> Path:
    soundfile.write(path, samples, 16000)
    return path
