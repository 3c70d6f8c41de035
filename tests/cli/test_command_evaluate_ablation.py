"""`sordino evaluate ablation` as people meet it, with a stand-in for the neural system."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from sordino.anonymize.base import Level
from sordino.anonymize.mcadams import McAdams
from sordino.anonymize.systems import SYSTEMS
from sordino.cli.main import main
from sordino.corpus.layouts.detect import read_corpus
from sordino.evaluate.results import read_results
from sordino.models.bundle import write_bundle

QUICK = (
    *("--draws", "100", "--jobs", "1", "--measure", "f0", "--utterances", "3"),
    *("--enrolments", "1", "--backend", "cosine", "--scenario", "AA-lazy"),
)


class StandIn(McAdams):
    """McAdams with the neural system's settings: the prosody is a coefficient."""

    name = "neural"

    def __init__(
        self,
        voice: str = "",
        strategy: str = "density",
        prosody: str = "0.9",
        low: float = 0.5,
        level: Level = "speaker",
    ) -> None:
        super().__init__(low=low, high=float(prosody), level=level)
        self._made = {"voice": voice, "strategy": strategy, "prosody": prosody}

    def parameters(self) -> Mapping[str, object]:
        return {**self._made, "low": self._low, "level": self.level}


@pytest.fixture(autouse=True)
def models(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("SORDINO_MODELS", str(tmp_path / "models"))
    monkeypatch.setitem(SYSTEMS, "neural", StandIn)
    for name, kind in (("soft", "voice"), ("units", "voice"), ("ears", "speaker-encoder")):
        about = {"kind": kind, "name": name, "summary": "A test.", "licence": "CC0"}
        about |= {"content": {"channels": 8, "architecture": "conv", "output": name}}
        write_bundle(tmp_path / "models" / name, about, {"CARD.md": b"# Test\n"})
    return tmp_path / "models"


@pytest.fixture(scope="module")
def speech(speech_root, tmp_path_factory) -> Path:
    """Three recordings each of eight people, in folders."""
    place = tmp_path_factory.mktemp("speech")
    groups = read_corpus(speech_root / "manifest.csv").select(corpus="speechocean762").by_speaker()
    for speaker, utterances in list(groups.items())[:8]:
        for utterance in utterances[:3]:
            target = place / speaker / utterance.path.name
            target.parent.mkdir(exist_ok=True)
            shutil.copy(utterance.path, target)
    return place


def call(capsys, *arguments: object) -> tuple[int, str, str]:
    status = main(["evaluate", "ablation", *map(str, arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_one_command_gives_the_table(speech, tmp_path, capsys) -> None:
    report = tmp_path / "report"
    factors = ("--voice", "soft", "--voice", "units", "--prosody", 0.9, "--prosody", "0.6:low=0.6")
    factors += ("--beside", "fixed=mcadams:alpha=0.8", "--own-voice", "--scenario", "OR")
    status, out, err = call(capsys, speech, *factors, "-o", report, *QUICK)
    assert status == 0, err
    assert f"table: {report / 'ablation.md'}" in out
    assert sorted(path.name for path in report.iterdir()) == [
        "ablation.csv",
        "ablation.md",
        "report.html",
        "results.json",
    ]
    with (report / "ablation.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["system"] for row in rows] == [
        "original",
        "soft, 0.9",
        "units, 0.9",
        "soft, 0.6 low 0.6",
        "fixed",
    ]
    assert [row["content"] for row in rows[1:-1]] == [
        "conv soft (8 numbers)",
        "conv units (8 numbers)",
        "conv soft (8 numbers)",
    ]
    assert {row["strategy"] for row in rows[1:-1]} == {"density"}
    assert all(0 <= float(row["EER lazy"]) <= 1 for row in rows[1:])
    assert all(float(row["rho_F0"]) <= 1 for row in rows[1:])
    results = read_results(report / "results.json")
    assert [system.name for system in results.systems] == [row["system"] for row in rows]
    measured = {quality.system for quality in results.qualities if quality.group == "all"}
    assert measured >= {f"{row['system']}, own voice" for row in rows[1:]}
    # Nothing is replaced without being asked.
    (report / "results.json").unlink()
    (report / "report.html").unlink()
    status, _, err = call(capsys, speech, *factors, "-o", report, *QUICK)
    assert status == 2
    assert "ablation.md exists; use --overwrite" in err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--voice", "ears"), "is a speaker-encoder; a voice is needed"),
        (("--voice", "none"), "there is no model 'none'"),
        (("--voice", "soft", "--voice", "soft"), "'soft' is given twice"),
        (("--voice", "soft", "--prosody", ":low=1"), "has no name"),
        (("--voice", "soft", "--prosody", "0.9:low"), "'low' is not SETTING=VALUE"),
        (("--voice", "soft", "--param", "beta=1"), "neural has no setting 'beta'"),
        (("--voice", "soft", "--scenario", "XX"), "there is no scenario 'XX'"),
        (("--prosody", "0.9:low"), "'low' is not SETTING=VALUE"),
    ],
)
def test_wrong_usage_is_refused_before_any_work(speech, tmp_path, capsys, arguments, reason):
    status, _, err = call(capsys, speech, "-o", tmp_path / "report", *arguments)
    assert status == 2
    assert reason in err
    assert not (tmp_path / "report").exists()
