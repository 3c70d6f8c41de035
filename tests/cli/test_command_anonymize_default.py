"""`sordino anonymize` as it is installed: no system named, the voice that comes with sordino."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr

import sordino
from sordino.anonymize.neural import VOICE
from sordino.anonymize.voice import Voice
from sordino.cli.main import main
from tests.clips import clips
from tests.helpers import tree, write_voice

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True, scope="module")
def _key():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SORDINO_KEY", "a key for the tests")
        yield


def call(capsys, *arguments: object) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def assert_same_but_the_voice(source: Path, target: Path) -> None:
    """Form, length and loudness of the source, and another sound."""
    before, after = soundfile.info(source), soundfile.info(target)
    for what in ("samplerate", "channels", "frames", "format", "subtype"):
        assert getattr(after, what) == getattr(before, what), what
    samples, rate = soundfile.read(target, always_2d=True)
    assert np.isfinite(samples).all()
    assert samples.std(axis=0).min() > 0.005
    spectrum = np.abs(np.fft.rfft(samples[:, 0])) ** 2
    above = np.fft.rfftfreq(len(samples), 1 / rate) > 8200
    assert spectrum[above].sum() <= 1e-5 * spectrum.sum()


@pytest.fixture(scope="module")
def anonymized(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("default") / "out"
    assert main(["anonymize", str(EXAMPLES), "-o", str(out), "--jobs", "1"]) == 0
    return out


def record_of(out: Path) -> dict:
    return json.loads((out / "sordino-run.json").read_text())


def test_examples_come_out_whole(anonymized):
    sources = [path for path in sorted(EXAMPLES.rglob("*.*")) if path.is_file()]
    assert len(sources) == 7
    for source in sources:
        assert_same_but_the_voice(source, anonymized / source.relative_to(EXAMPLES))
    record = record_of(anonymized)
    assert record["system"] == sordino.DEFAULT_SYSTEM == "neural"
    assert record["parameters"]["voice"] == VOICE
    assert record["parameters"]["digest"] == Voice.load(VOICE).digest
    changes = [file["loudness_change"] for file in record["files"]]
    assert len(changes) == 7
    assert max(map(abs, changes)) <= 1.0


def test_a_finished_run_is_kept_and_another_system_refused(anonymized, capsys):
    before = tree(anonymized)
    arguments = ("anonymize", EXAMPLES, "-o", anonymized, "--resume")
    status, out, _ = call(capsys, *arguments)
    assert status == 0
    assert "kept 7 files" in out
    assert "\nneural: No formal guarantee" in out
    status, _, err = call(capsys, *arguments, "--system", "mcadams")
    assert status == 2
    assert "the earlier run, by neural, had other settings or another key" in err
    kept = tree(anonymized)
    assert {name for name in before if before[name] != kept[name]} <= {"sordino-run.json"}


def test_real_speech_in_two_channels_at_48_khz(speech_root, tmp_path, capsys):
    for name in ("librispeech", "aishell1", "emodb"):
        first, second = clips(speech_root, name, seconds=1.4)
        both = np.stack([first, 0.5 * second], axis=1)
        (tmp_path / "in" / name).mkdir(parents=True)
        place = tmp_path / "in" / name / "both.flac"
        soundfile.write(place, soxr.resample(both, 16000, 48000), 48000)
    status, out, err = call(capsys, "anonymize", tmp_path / "in", "-o", tmp_path / "out")
    assert status == 0, err
    assert "3 of 3 files (3 speakers)" in out
    for source in (tmp_path / "in").rglob("*.flac"):
        assert_same_but_the_voice(source, tmp_path / "out" / source.relative_to(tmp_path / "in"))
    assert all(abs(file["loudness_change"]) <= 1.0 for file in record_of(tmp_path / "out")["files"])


def test_speakers_by_turns(speech_root, tmp_path, capsys):
    first, second = clips(speech_root, "librispeech", seconds=1.5)
    source, alone = tmp_path / "meeting.wav", tmp_path / "ann" / "alone.wav"
    alone.parent.mkdir()
    soundfile.write(source, np.concatenate([first, second]), 16000)
    soundfile.write(alone, first, 16000)
    turns = tmp_path / "meeting.rttm"
    turns.write_text("SPEAKER meeting 1 0 1.5 - - ann\nSPEAKER meeting 1 1.5 1.5 - - bob\n")
    out = tmp_path / "out.wav"
    assert call(capsys, "anonymize", source, "-o", out, "--rttm", turns)[0] == 0
    assert_same_but_the_voice(source, out)
    # Ann has the voice that she gets without turns; the level is that of the whole meeting.
    assert call(capsys, "anonymize", alone, "-o", tmp_path / "alone.wav")[0] == 0
    together, expected = (soundfile.read(path)[0] for path in (out, tmp_path / "alone.wav"))
    assert np.corrcoef(together[:22400], expected[:22400])[0, 1] > 0.999


def test_each_utterance_can_have_a_voice_of_its_own(tmp_path, capsys):
    for number in range(2):
        write_voice(tmp_path / f"in/ann/{number}.wav", 1.0, seed=7)
    # The same sound, yet another file.
    with (tmp_path / "in/ann/1.wav").open("ab") as file:
        file.write(b"LIST")
    for level, alike in (("speaker", True), ("utterance", False)):
        out = tmp_path / level
        assert call(capsys, "anonymize", tmp_path / "in", "-o", out, "--level", level)[0] == 0
        first, second = (soundfile.read(out / f"ann/{number}.wav")[0] for number in range(2))
        assert np.array_equal(first, second) == alike


def test_settings_of_another_system_are_told_apart(tmp_path, capsys):
    arguments = ("anonymize", EXAMPLES, "-o", tmp_path / "out", "--param", "alpha=0.8")
    status, _, err = call(capsys, *arguments)
    assert status == 2
    assert "neural has no setting 'alpha', but the system mcadams has" in err
    assert call(capsys, *arguments, "--system", "mcadams", "--dry-run")[0] == 0


def test_help_and_lists_name_the_default(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["anonymize", "--help"])
    assert "(default: neural)" in capsys.readouterr().out
    assert f"({VOICE})" in call(capsys, "systems", "neural")[1]
    listed = call(capsys, "models", "list")[1].splitlines()
    assert any(line.startswith(f"{VOICE}: voice, ") and "package" in line for line in listed)


def test_evaluating_it_needs_no_voice(tmp_path, capsys):
    for number in range(8):
        write_voice(tmp_path / f"in/s{number // 2}/{number}.wav", 1.2, seed=number)
    status, _, err = call(
        capsys,
        *("evaluate", "anonymization", tmp_path / "in", "--system", "neural"),
        *("-o", tmp_path / "report", "--enrolments", 1, "--scenario", "OA"),
        *("--backend", "cosine", "--measure", "none", "--draws", 100, "--jobs", 1, "--quiet"),
    )
    assert status == 0, err
    systems = json.loads((tmp_path / "report/results.json").read_text())["systems"]
    assert [system["name"] for system in systems] == ["original", "neural"]
