"""A store of voices for the tests of its commands."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
import soundfile

from sordino.audio.recording import Recording
from sordino.cli.main import main
from sordino.privacy.keys import SecretKey
from sordino.speaker.detector import SpeechDetector
from sordino.speaker.store import Store
from sordino.speaker.verification import enroll
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
def people(speech_root, tmp_path_factory) -> People:
    """Three people with three recordings each, of four seconds."""
    folders = sorted(path for path in (speech_root / "librispeech").iterdir() if path.is_dir())
    place = tmp_path_factory.mktemp("people")
    found: dict[str, list[Path]] = {}
    for folder in folders[:3]:
        for source in sorted(folder.rglob("*.flac"))[:3]:
            samples, rate = soundfile.read(source, frames=4 * 16000)
            soundfile.write(place / source.name, samples, rate)
            found.setdefault(folder.name, []).append(place / source.name)
    return People(found)


@pytest.fixture(scope="session")
def prepared(people, tmp_path_factory) -> Path:
    """A store in which Anna and Bruno are enrolled, with two recordings each."""
    path = tmp_path_factory.mktemp("prepared") / "voices"
    detector = SpeechDetector()
    with Store.open(path, SecretKey.from_secret(KEY.encode()), create=True) as store:
        for number, name in enumerate(("anna", "bruno")):
            takes = [(file.name, Recording.read(file)) for file in people.of(number)[:2]]
            enroll(store, CepstralEncoder(), name, takes, detector=detector)
    return path


@pytest.fixture
def enrolled(shell, prepared) -> Shell:
    """A shell with a copy of that store."""
    shutil.copy(prepared, shell.store)
    return shell
