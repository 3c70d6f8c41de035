"""`sordino anonymize` as people meet it: exit status, messages, files."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import stat
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import numpy as np
import pytest
import soundfile

from sordino import load as sordino_load
from sordino.anonymize.engine import run as run_engine
from sordino.anonymize.names import read_mapping
from sordino.anonymize.plan import make_plan
from sordino.anonymize.render import Shape
from sordino.anonymize.settings import Settings
from sordino.cli.main import main
from sordino.corpus.speakers import by_folder
from sordino.privacy.keys import SecretKey
from tests.helpers import open_folder, ordinary_user, sordino, tree, voice, write_voice

KEY = {"SORDINO_KEY": "a key for the tests"}
# Where any system does, the fast one.
ANONYMIZE = ("anonymize", "--system", "mcadams")


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    monkeypatch.delenv("SORDINO_KEY", raising=False)


@pytest.fixture
def folder(tmp_path) -> Path:
    write_voice(tmp_path / "in/anna/one.wav", 0.6, seed=1)
    write_voice(tmp_path / "in/anna/two.flac", 0.7, seed=2)
    write_voice(tmp_path / "in/bruno/three.ogg", 0.8, seed=3)
    return tmp_path / "in"


def call(capsys, *arguments: object) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_folder(folder, tmp_path, capsys):
    status, out, err = call(capsys, *ANONYMIZE, folder, "-o", tmp_path / "out")
    assert status == 0
    assert "anonymized 3 of 3 files (2 speakers), 0:00:02 of audio" in out
    assert "No formal guarantee" in out
    assert "no key given" in err
    assert "--rename" in err
    assert err.count("done") == 3
    assert sorted(tree(tmp_path / "out")) == [
        "anna/one.wav",
        "anna/two.flac",
        "bruno/three.ogg",
        "sordino-run.json",
    ]


def test_file_to_file(folder, tmp_path, capsys):
    source, target = folder / "anna/one.wav", tmp_path / "quiet.flac"
    assert call(capsys, *ANONYMIZE, source, "-o", target)[0] == 0
    assert soundfile.info(target).frames == soundfile.info(source).frames
    assert (tmp_path / "quiet.flac.sordino-run.json").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "in",
        "quiet.flac",
        "quiet.flac.sordino-run.json",
    ]


def test_without_a_key_every_run_gives_other_voices(folder, tmp_path, capsys):
    for name in ("a", "b"):
        assert call(capsys, *ANONYMIZE, folder, "-o", tmp_path / name)[0] == 0
    first, second = tree(tmp_path / "a"), tree(tmp_path / "b")
    assert first.keys() == second.keys()
    assert all(first[name] != second[name] for name in first)


def test_key_file_and_environment_agree(folder, tmp_path, capsys, monkeypatch):
    assert call(capsys, "key", tmp_path / "my.key")[0] == 0
    arguments = (*ANONYMIZE, folder / "anna", "--key-file", tmp_path / "my.key", "-o")
    status, _, err = call(capsys, *arguments, tmp_path / "a")
    assert status == 0
    assert "no key" not in err
    monkeypatch.setenv("SORDINO_KEY", (tmp_path / "my.key").read_text().strip())
    assert call(capsys, *ANONYMIZE, folder / "anna", "-o", tmp_path / "b")[0] == 0
    for name in ("one.wav", "two.flac"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_dry_run_writes_nothing(folder, tmp_path, capsys):
    status, out, _ = call(capsys, *ANONYMIZE, folder, "-o", tmp_path / "out", "--dry-run")
    assert status == 0
    assert len(out.splitlines()) == 3
    assert f"{folder / 'anna/one.wav'} -> {tmp_path / 'out/anna/one.wav'} (speaker anna)" in out
    assert not (tmp_path / "out").exists()


def test_rename_hides_names_and_keeps_the_list_private(folder, tmp_path, capsys):
    out = tmp_path / "out"
    status, text, _ = call(capsys, *ANONYMIZE, folder, "-o", out, "--rename")
    assert status == 0
    listed = tmp_path / "out.names.csv"
    assert stat.S_IMODE(listed.stat().st_mode) == 0o600
    assert str(listed) in text
    names = read_mapping(listed)
    assert sorted(names.values()) == ["anna/one.wav", "anna/two.flac", "bruno/three.ogg"]
    everything = tree(out)
    assert set(names) | {"sordino-run.json"} == set(everything)
    shared = " ".join(everything) + everything["sordino-run.json"].decode()
    assert not any(word in shared for word in ("anna", "bruno", "one.wav", "two.", "three"))


def test_failed_file_is_not_named_in_a_renamed_record(folder, tmp_path, capsys):
    (folder / "anna/secret-name.wav").write_text("text")
    status, _, err = call(capsys, *ANONYMIZE, folder, "-o", tmp_path / "out", "--rename")
    assert status == 1
    assert "secret-name.wav" in err
    record = (tmp_path / "out/sordino-run.json").read_text()
    assert "secret" not in record
    assert "anna" not in record
    assert json.loads(record)["files"][0].keys() >= {"name", "status"}


def test_speakers_by_table_with_rows_chosen(folder, tmp_path, capsys):
    table = folder / "who.csv"
    table.write_text(
        "path,speaker,split\nanna/one.wav,x,test\nanna/two.flac,y,dev\nbruno/three.ogg,x,test\n"
    )
    arguments = (*ANONYMIZE, folder, "-o", tmp_path / "out", "--speakers", table)
    status, out, err = call(capsys, *arguments, "--only", "split=test")
    assert status == 0
    assert "2 of 2 files (1 speaker)" in out
    assert "left out by --only: 1" in err
    assert "1 .csv" in err


def test_speakers_by_regex(folder, tmp_path, capsys):
    arguments = (*ANONYMIZE, folder, "-o", tmp_path / "out", "--dry-run")
    _, out, _ = call(capsys, *arguments, "--speaker-regex", r"/(\w)\w+/\w+\.\w+$")
    assert "(speaker a)" in out
    assert "(speaker b)" in out


def test_level_utterance_gives_each_recording_its_own_voice(folder, tmp_path, capsys):
    """What is in a recording decides, wherever it lies; the docs say so."""
    assert call(capsys, "key", tmp_path / "k")[0] == 0
    (folder / "bruno" / "copy.wav").write_bytes((folder / "anna" / "one.wav").read_bytes())
    arguments = ("--level", "utterance", "--key-file", tmp_path / "k", "--format", "wav")
    assert call(capsys, *ANONYMIZE, folder, "-o", tmp_path / "out", *arguments)[0] == 0
    anonymizer, key = (
        sordino_load("mcadams", level="utterance"),
        SecretKey.from_file(tmp_path / "k"),
    )
    coefficients = set()
    for name, speaker in (("anna/one.wav", "anna"), ("anna/two.flac", "anna")):
        source = folder / name
        utterance = key.digest([source.read_bytes()])
        samples, rate = soundfile.read(source, dtype="float32")
        expected = anonymizer.anonymize(
            samples, rate, speaker=speaker, key=key, utterance=utterance
        )
        coefficients.add(anonymizer.coefficient(anonymizer.draws(key, speaker, utterance)))
        found = soundfile.read((tmp_path / "out" / name).with_suffix(".wav"))[0]
        np.testing.assert_allclose(found, expected, atol=1e-4)
    assert len(coefficients) == 2


def test_output_options(folder, tmp_path, capsys):
    arguments = ("--format", "flac", "--sample-rate", "8000", "--mono", "--param", "alpha=0.8")
    assert call(capsys, *ANONYMIZE, folder, "-o", tmp_path / "out", *arguments)[0] == 0
    for name in ("anna/one.flac", "anna/two.flac", "bruno/three.flac"):
        info = soundfile.info(tmp_path / "out" / name)
        assert (info.format, info.samplerate, info.channels) == ("FLAC", 8000, 1)
    record = json.loads((tmp_path / "out/sordino-run.json").read_text())
    assert record["parameters"]["alpha"] == 0.8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--system", "nobody"], "there is no system 'nobody'; there are: neural, mcadams"),
        (["--param", "beta=1"], "mcadams has no setting 'beta'"),
        (["--param", "level=utterance"], "set by --level"),
        (["--param", "alpha=0.8", "--param", "low=0.7"], "either alpha or a range"),
        (["--mapping", "names.csv"], "--mapping goes with --rename"),
        (["--format", "mp3", "--sample-rate", "96000"], "mp3 cannot hold 96000 Hz"),
        (["--param", "alpha=1"], "outside 0.5 to 0.95"),
        (["--param", "alpha=loud"], "McAdams coefficient 'loud' is not a number"),
        (["--format", "doc"], "there is no format 'doc'"),
        (["--sample-rate", "100"], "--sample-rate 100 is outside"),
        (["--speaker-regex", "("], "speaker pattern"),
        (["--speaker-regex", "nowhere"], "is not found in this path"),
        (["--speakers", "missing.csv"], "missing.csv: No such file"),
        (["--only", "split=test"], "--speakers"),
        (["--key-file", "missing.key"], "missing.key: No such file"),
        (["--resume"], "needs the key"),
    ],
)
def test_usage_errors_are_one_line_and_write_nothing(folder, tmp_path, capsys, arguments, words):
    before = tree(tmp_path)
    status, out, err = call(capsys, *ANONYMIZE, folder, "-o", tmp_path / "out", *arguments)
    assert (status, out) == (2, "")
    assert words in err
    assert err.startswith("sordino: ")
    assert len(err.splitlines()) == 1
    assert tree(tmp_path) == before
    assert not (tmp_path / "out").exists()


def test_weak_keys_are_refused(folder, tmp_path, capsys, monkeypatch):
    (tmp_path / "weak.key").write_text("123456\n")
    arguments = (*ANONYMIZE, folder, "-o", tmp_path / "out")
    status, _, err = call(capsys, *arguments, "--key-file", tmp_path / "weak.key")
    assert status == 2
    assert "at least 16" in err
    monkeypatch.setenv("SORDINO_KEY", "")
    assert call(capsys, *arguments)[0] == 2


def test_existing_outputs_need_a_word(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SORDINO_KEY", KEY["SORDINO_KEY"])
    arguments = (*ANONYMIZE, folder, "-o", tmp_path / "out")
    assert call(capsys, *arguments)[0] == 0
    status, _, err = call(capsys, *arguments)
    assert status == 2
    assert "use --resume, --overwrite or another output" in err
    status, out, _ = call(capsys, *arguments, "--resume")
    assert status == 0
    assert "kept 3 files" in out
    assert call(capsys, *arguments, "--overwrite")[0] == 0


# --- bad input: each fails with its reason, the good neighbour is done ---


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _text(path: Path) -> None:
    path.write_text("this is not audio\n" * 100)


def _truncated_flac(path: Path) -> None:
    write_voice(path, 3.0, form="FLAC")
    path.write_bytes(path.read_bytes()[:20000])


def _nan(path: Path) -> None:
    samples = voice(1.0, 16000)
    samples[8000] = np.nan
    soundfile.write(path, samples, 16000, subtype="FLOAT", format="WAV")


def _infinite(path: Path) -> None:
    samples = voice(1.0, 16000)
    samples[4000] = np.inf
    soundfile.write(path, samples, 16000, subtype="FLOAT", format="WAV")


def _no_channels(path: Path) -> None:
    write_voice(path, 0.1, form="WAV")
    data = bytearray(path.read_bytes())
    data[22:24] = bytes(2)
    path.write_bytes(bytes(data))


def _no_samples(path: Path) -> None:
    soundfile.write(path, np.zeros(0), 16000, format="WAV")


def _slow_rate(path: Path) -> None:
    soundfile.write(path, np.zeros(100), 4000, format="WAV")


def _broken_link(path: Path) -> None:
    path.symlink_to("nowhere.wav")


def _link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


BAD = [
    (_empty, "bad.wav", "is empty (0 bytes)"),
    (_text, "bad.wav", "is not audio that can be read"),
    (_text, "bad.mp3", "is not audio that can be read"),
    (_text, "bad.m4a", "could not process it"),
    (_truncated_flac, "bad.flac", "cut short or damaged"),
    (_nan, "bad.wav", "holds NaN or infinite samples (first at 0.500 s)"),
    (_infinite, "bad.wav", "holds NaN or infinite samples (first at 0.250 s)"),
    (_no_channels, "bad.wav", "is not audio that can be read"),
    (_no_samples, "bad.wav", "holds no samples"),
    (_slow_rate, "bad.wav", "sample rate of 4000 Hz"),
    (_broken_link, "bad.wav", "No such file"),
    (_link_to_itself, "bad.wav", "symbolic links"),
    (_empty, "two words.wav", "is empty"),
    (_empty, "new\nline.wav", "is empty"),
    (_empty, "\x1b[31mred.wav", "is empty"),
    (_empty, "not-utf8-\udcff.wav", "is empty"),
]


@pytest.mark.parametrize(("make", "name", "reason"), BAD)
def test_bad_file_is_named_with_its_reason(folder, tmp_path, make, name, reason):
    make(folder / "anna" / name)
    done = sordino(*ANONYMIZE, folder, "-o", tmp_path / "out", "--jobs", "1")
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if line.startswith("failed: ")]
    assert len(lines) == 1
    assert reason in lines[0]
    assert "\x1b" not in done.stderr
    assert "Traceback" not in done.stderr
    assert "anonymized 3 of 4 files" in done.stdout
    assert sorted(tree(tmp_path / "out")) == [
        "anna/one.wav",
        "anna/two.flac",
        "bruno/three.ogg",
        "sordino-run.json",
    ]


def _silence(samples: int) -> np.ndarray:
    return np.zeros(samples)


ODD = {
    "silence": _silence(16000),
    "one-sample": np.array([0.5]),
    "two-samples": np.array([0.5, -0.5]),
    "dc": np.full(16000, 0.25),
    "square": np.sign(np.sin(2 * np.pi * 200 * np.arange(16000) / 16000 + 0.1)) * 32767 / 32768,
    "impulse": np.eye(1, 16000, 8000)[0],
    "loud": np.clip(voice(1.0, 16000)[:, 0] * 20, -1, 1 - 2**-15),
    "faint": voice(1.0, 16000)[:, 0] * 1e-4,
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_but_valid_audio_is_processed(tmp_path, capsys, kind):
    (tmp_path / "in").mkdir()
    soundfile.write(tmp_path / "in/odd.wav", ODD[kind], 16000)
    status, _, err = call(capsys, *ANONYMIZE, tmp_path / "in", "-o", tmp_path / "out")
    assert status == 0, err
    samples = soundfile.read(tmp_path / "out/odd.wav")[0]
    assert samples.shape == ODD[kind].shape
    assert np.abs(samples).max() < 1.0
    if kind == "silence":
        assert not samples.any()


def test_same_folder_and_folder_inside_input(folder, capsys):
    for output in (folder, folder / "anna", folder / "new"):
        before = tree(folder)
        status, _, err = call(capsys, *ANONYMIZE, folder, "-o", output)
        assert status == 2
        assert len(err.splitlines()) == 1
        assert tree(folder) == before


def test_pipe_and_folder_named_like_recordings_do_not_hang(folder, tmp_path):
    os.mkfifo(folder / "anna" / "pipe.wav")
    (folder / "anna" / "folder.wav").mkdir()
    done = sordino(*ANONYMIZE, folder, "-o", tmp_path / "out", "--jobs", "1", timeout=60)
    assert done.returncode == 1
    assert "pipe.wav: is not a regular file" in done.stderr
    assert "anonymized 3 of 4 files" in done.stdout


def test_samples_that_no_sum_can_hold_are_refused(tmp_path, capsys):
    (tmp_path / "in").mkdir()
    soundfile.write(tmp_path / "in/x.wav", voice(0.5, 16000) * 1e38, 16000, subtype="FLOAT")
    status, _, err = call(capsys, *ANONYMIZE, tmp_path / "in", "-o", tmp_path / "out")
    assert status == 1
    assert "holds absurdly large samples (first at 0." in err


def test_who_speaks_is_told_and_doubtful_folders_too(folder, tmp_path, capsys):
    for place in ("anna/s1", "bruno/s1"):
        write_voice(folder / place / "x.wav", 0.2)
    _, _, err = call(capsys, *ANONYMIZE, folder, "-o", tmp_path / "out", "--dry-run")
    assert "3 speakers by the folders that files lie in, each with one new voice: anna, " in err
    assert "several folders are named s1: they count as one speaker" in err


def test_corrected_speakers_are_done_again_on_resume(folder, tmp_path, capsys):
    assert call(capsys, "key", tmp_path / "k")[0] == 0
    arguments = (*ANONYMIZE, folder, "-o", tmp_path / "out", "--key-file", tmp_path / "k")
    assert call(capsys, *arguments)[0] == 0
    first = tree(tmp_path / "out")
    status, out, _ = call(capsys, *arguments, "--resume", "--speaker-regex", r"/(bru)|(?=one)")
    assert status == 2
    status, out, _ = call(capsys, *arguments, "--resume", "--speaker-regex", "(an|bruno)")
    assert status == 0
    assert "anonymized 2 of 3 files" in out
    second = tree(tmp_path / "out")
    assert first["bruno/three.ogg"] == second["bruno/three.ogg"]
    assert first["anna/one.wav"] != second["anna/one.wav"]


def test_resume_refuses_other_names_and_formats(folder, tmp_path, capsys):
    assert call(capsys, "key", tmp_path / "k")[0] == 0
    arguments = (*ANONYMIZE, folder, "-o", tmp_path / "out", "--key-file", tmp_path / "k")
    assert call(capsys, *arguments)[0] == 0
    for more in (("--rename",), ("--format", "flac")):
        status, _, err = call(capsys, *arguments, "--resume", *more)
        assert status == 2
        assert "other settings" in err


def test_outputs_of_an_earlier_run_are_told(folder, tmp_path, capsys):
    arguments = (*ANONYMIZE, folder, "-o", tmp_path / "out")
    assert call(capsys, *arguments)[0] == 0
    (folder / "anna/one.wav").write_text("junk")
    (folder / "anna/two.flac").unlink()
    status, _, err = call(capsys, *arguments, "--overwrite")
    assert status == 1
    assert "one.wav: is not audio that can be read" in err
    assert "the output of an earlier run is left in place" in err
    assert "not part of this run: 1 output of an earlier one:\n  anna/two.flac\n" in err


def test_named_outputs_of_an_interrupted_run_are_told_under_rename(folder, tmp_path, capsys):
    assert call(capsys, "key", tmp_path / "k")[0] == 0
    arguments = (*ANONYMIZE, folder, "-o", tmp_path / "out", "--key-file", tmp_path / "k")
    plan = make_plan([folder], tmp_path / "out", by_folder)
    key = SecretKey.from_file(tmp_path / "k")
    settings = Settings("mcadams", (("level", "speaker"),), Shape(), key)
    run_engine(plan, settings, report=_interrupt)
    assert (tmp_path / "out/.sordino-work/journal.jsonl").exists()
    status, _, err = call(capsys, *arguments, "--rename", "--overwrite")
    assert status == 0
    assert "1 output of an earlier one:\n  anna/one.wav\n" in err


def _interrupt(entry, task) -> None:
    raise KeyboardInterrupt


def test_withdrawn_recordings_are_told_on_resume(folder, tmp_path, capsys):
    assert call(capsys, "key", tmp_path / "k")[0] == 0
    arguments = (*ANONYMIZE, folder, "-o", tmp_path / "out", "--key-file", tmp_path / "k")
    assert call(capsys, *arguments)[0] == 0
    (folder / "anna/two.flac").unlink()
    status, out, err = call(capsys, *arguments, "--resume")
    assert status == 0
    assert "kept 2 files" in out
    assert "1 output of an earlier one:\n  anna/two.flac\n" in err


def test_record_of_another_run_is_not_replaced_unasked(folder, tmp_path, capsys):
    assert call(capsys, *ANONYMIZE, folder / "anna", "-o", tmp_path / "out")[0] == 0
    before = tree(tmp_path / "out")
    status, _, err = call(capsys, *ANONYMIZE, folder / "bruno", "-o", tmp_path / "out")
    assert status == 2
    assert "holds an earlier run's outputs (one.wav, ...)" in err
    assert tree(tmp_path / "out") == before


def test_mapping_that_cannot_be_written_changes_nothing(folder, tmp_path, capsys):
    (tmp_path / "file").write_text("x")
    for mapping in (tmp_path / "missing/x.csv", tmp_path / "file/x.csv"):
        arguments = (*ANONYMIZE, folder, "-o", tmp_path / "out", "--rename", "--mapping", mapping)
        status, _, err = call(capsys, *arguments)
        assert status == 2
        assert "there is no folder" in err
        assert not (tmp_path / "out").exists()


def test_rename_into_a_folder_whose_parents_do_not_exist(folder, tmp_path, capsys):
    out = tmp_path / "new/deep/out"
    assert call(capsys, *ANONYMIZE, folder, "-o", out, "--rename")[0] == 0
    assert len(read_mapping(tmp_path / "new/deep/out.names.csv")) == 3


def test_names_that_the_system_cannot_hold_end_in_one_line(folder, tmp_path, capsys):
    for inputs, output in ((tmp_path / ("a" * 300), "out"), (folder / "anna/one.wav", "b" * 250)):
        status, _, err = call(capsys, *ANONYMIZE, inputs, "-o", tmp_path / f"{output}.wav")
        assert status in (1, 2)
        assert "too long" in err.splitlines()[-1]


def test_after_a_run_in_which_all_failed_a_corrected_one_is_taken(folder, tmp_path, capsys):
    good = (folder / "anna/one.wav").read_bytes()
    (folder / "anna/one.wav").write_text("junk")
    arguments = (*ANONYMIZE, folder / "anna/one.wav", "-o", tmp_path / "out.wav")
    assert call(capsys, *arguments)[0] == 1
    (folder / "anna/one.wav").write_bytes(good)
    assert call(capsys, *arguments)[0] == 0


@pytest.mark.parametrize("redirect", [">&-", "2>&-", ">&- 2>&-", ">/dev/full", "2>/dev/full"])
def test_output_that_nobody_can_read_does_not_stop_the_work(folder, tmp_path, redirect):
    command = f'"{sys.executable}" -m sordino {" ".join(ANONYMIZE)} "{folder}" -o "{tmp_path}/out"'
    done = subprocess.run(
        ["sh", "-c", f"{command} {redirect}"], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == 0
    assert len(list((tmp_path / "out").rglob("*.*"))) == 4


def test_reader_that_leaves_does_not_stop_the_work(folder, tmp_path):
    command = f'"{sys.executable}" -m sordino {" ".join(ANONYMIZE)} "{folder}" -o "{tmp_path}/out"'
    subprocess.run(["sh", "-c", f"{command} 2>&1 | head -1"], capture_output=True, check=True)
    assert (tmp_path / "out/sordino-run.json").exists()


def test_journal_that_cannot_grow_ends_the_run_with_its_reasons(folder, tmp_path):
    for number in range(40):
        (folder / "anna" / f"bad{number:02d}.wav").write_text("junk")
    script = (
        "import resource, sys\n"
        "from sordino.cli.main import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *ANONYMIZE, folder, "-o", tmp_path / "out", "--jobs", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.count("failed: ") > 3
    assert "sordino: stopped: " in done.stderr
    assert "File too large" in done.stderr


def test_link_loop_is_not_followed(folder, tmp_path, capsys):
    (folder / "anna" / "loop").symlink_to(folder)
    status, out, err = call(capsys, *ANONYMIZE, folder, "-o", tmp_path / "out")
    assert status == 0
    assert "3 of 3 files" in out
    assert "leads back up" in err


def test_unreadable_file_and_unwritable_output(folder, tmp_path, capsys):
    # Once with all rights, so that everything is imported that a user without may not read.
    assert call(capsys, *ANONYMIZE, folder, "-o", tmp_path / "out", "--jobs", "1")[0] == 0
    with open_folder() as place:
        write_voice(place / "in/anna/one.wav", 0.3)
        write_voice(place / "in/anna/locked.wav", 0.3).chmod(0)
        (place / "closed").mkdir(mode=0o755)
        arguments = (*ANONYMIZE, place / "in", "--jobs", "1", "-o")
        with ordinary_user():
            status, out, err = call(capsys, *arguments, place / "out")
            assert status == 1
            assert "locked.wav: Permission denied" in err
            assert "anonymized 1 of 2 files" in out
            status, _, err = call(capsys, *arguments, place / "closed" / "out")
        assert status == 1
        assert "closed/out: Permission denied" in err
        assert list((place / "closed").iterdir()) == []


@pytest.mark.parametrize("ending", ["wav", "flac", "ogg", "mp3", "m4a"])
def test_full_disk_leaves_no_half_file(tmp_path, ending):
    """A limit on file size stands for the full disk: writing stops part of the way."""
    write_voice(tmp_path / "in/anna/small.wav", 0.05, 8000)
    write_voice(tmp_path / "in/anna/long.wav", 20.0, 16000)
    script = (
        "import resource, sys\n"
        "from sordino.cli.main import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    arguments = [*ANONYMIZE, tmp_path / "in", "-o", tmp_path / "out", "--jobs", "1"]
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments), "--format", ending],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("failed: ")]
    assert "long.wav" in line
    assert sorted(tree(tmp_path / "out")) == [f"anna/small.{ending}", "sordino-run.json"]


def test_interrupt_leaves_whole_files_and_resumes(tmp_path):
    for number in range(8):
        write_voice(tmp_path / f"in/s/{number}.wav", 15.0, seed=number)
    arguments = [*ANONYMIZE, tmp_path / "in", "-o", tmp_path / "out", "--jobs", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "sordino", *map(str, arguments)],
        env=os.environ | KEY,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    deadline = time.monotonic() + 30
    while not list((tmp_path / "out").rglob("*.wav")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.terminate()
    err = process.communicate(timeout=30)[1]
    assert process.returncode == 130
    assert "interrupted; --resume goes on" in err
    assert "Traceback" not in err
    kept = {path.name: path.read_bytes() for path in (tmp_path / "out").rglob("*.wav")}
    assert 0 < len(kept) < 8
    assert not list((tmp_path / "out/.sordino-work").glob("part-*"))
    assert sordino(*arguments, "--resume", env=KEY).returncode == 0
    after = {path.name: path.read_bytes() for path in (tmp_path / "out").rglob("*.wav")}
    assert len(after) == 8
    assert kept.items() <= after.items()


def test_bar_on_a_terminal(folder, tmp_path):
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "sordino", *ANONYMIZE, folder, "-o", tmp_path / "out"],
        stderr=follower,
        stdout=subprocess.DEVNULL,
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            data = os.read(leader, 4096)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.close(leader)
    assert process.wait() == 0
    assert b"3/3" in shown
    assert b"[1/3] done" not in shown


RTTM = """\
SPEAKER one 1 0.0 0.3 <NA> <NA> anna <NA> <NA>
SPEAKER one 1 0.3 0.3 <NA> <NA> carl <NA> <NA>
SPEAKER two 1 0.0 0.7 <NA> <NA> carl <NA> <NA>
"""


def several(folder: Path, text: str = RTTM, name: str = "turns.rttm") -> Path:
    (folder.parent / name).write_text(text)
    return folder.parent / name


def test_several_speakers_in_a_recording(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SORDINO_KEY", KEY["SORDINO_KEY"])
    rttm = several(folder)
    status, out, err = call(
        capsys,
        *(*ANONYMIZE, folder / "anna", "-o", tmp_path / "out", "--rttm", rttm, "--jobs", 2),
    )
    assert status == 0, err
    assert "2 of 2 files (2 speakers)" in out
    assert "2 speakers, each with one new voice: anna, carl" in err
    assert "1 speaker of --rttm in several recordings, such as carl" in err
    for name in ("one.wav", "two.flac"):
        before, after = (
            soundfile.info(place / name) for place in (folder / "anna", tmp_path / "out")
        )
        assert (after.frames, after.samplerate) == (before.frames, before.samplerate)
    record = json.loads((tmp_path / "out/sordino-run.json").read_text())
    assert (record["speakers"], record["unassigned"]) == (2, "voice")
    # Carl, who speaks alone in the second, has the voice that he gets without --rttm, too.
    (tmp_path / "in/carl").mkdir()
    (folder / "anna/two.flac").rename(tmp_path / "in/carl/two.flac")
    assert call(capsys, *ANONYMIZE, tmp_path / "in/carl", "-o", tmp_path / "alone")[0] == 0
    alone, _ = soundfile.read(tmp_path / "alone/two.flac")
    together, _ = soundfile.read(tmp_path / "out/two.flac")
    np.testing.assert_allclose(together, alone, atol=2e-4)


def test_parts_of_nobody_can_be_silenced(folder, tmp_path, capsys):
    rttm = several(folder, "SPEAKER one 1 0.1 0.2 <NA> <NA> anna <NA> <NA>\n")
    arguments = (*ANONYMIZE, folder / "anna/one.wav", "--rttm", rttm)
    for how in ("voice", "silence"):
        target = tmp_path / f"{how}.wav"
        assert call(capsys, *arguments, "-o", target, "--unassigned", how)[0] == 0
    silent, rate = soundfile.read(tmp_path / "silence.wav")
    voiced, _ = soundfile.read(tmp_path / "voice.wav")
    assert len(silent) == len(voiced)
    assert not silent[int(0.32 * rate) :].any()
    assert np.abs(voiced[int(0.32 * rate) :]).max() > 0.01
    assert np.abs(silent[int(0.12 * rate) : int(0.28 * rate)]).max() > 0.01


def test_rttm_that_does_not_fit_is_refused(folder, tmp_path, capsys):
    out = tmp_path / "out"
    rttm = several(folder)
    status, shown, _ = call(
        capsys, *ANONYMIZE, folder / "anna", "-o", out, "--rttm", rttm, "--dry-run"
    )
    assert status == 0
    assert shown.splitlines()[0].endswith("one.wav (speakers anna + carl)")
    assert shown.splitlines()[1].endswith("two.flac (speaker carl)")
    for arguments, reason in (
        (("--rttm", rttm), "three.ogg: "),
        (("--unassigned", "voice"), "--unassigned goes with --rttm"),
        (("--rttm", rttm, "--speaker-regex", "a"), "leave out --speaker-regex"),
        (("--rttm", tmp_path / "none"), "No such file"),
        (("--rttm", several(folder, "SPEAKER one\n", "bad.rttm")), "bad.rttm, line 1"),
    ):
        status, _, err = call(capsys, *ANONYMIZE, folder, "-o", out, *arguments)
        assert status == 2
        assert reason in err.splitlines()[-1]
        assert not out.exists()
    beyond = several(folder, "SPEAKER one 1 0 9 <NA> <NA> anna <NA> <NA>\n", "beyond.rttm")
    status, _, err = call(capsys, *ANONYMIZE, folder / "anna/one.wav", "-o", out, "--rttm", beyond)
    assert status == 1
    assert "lasts 0.600 s, but the RTTM file has a turn from 0 s to 9 s" in err
    assert not (out / "one.wav").exists()


def test_two_recordings_of_one_name_cannot_share_turns(folder, tmp_path, capsys):
    (folder / "bruno/three.ogg").rename(folder / "bruno/one.ogg")
    status, _, err = call(
        capsys, *ANONYMIZE, folder, "-o", tmp_path / "out", "--rttm", several(folder)
    )
    assert status == 2
    assert "would both have the turns of 'one'" in err


def test_resume_does_recordings_again_whose_turns_changed(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SORDINO_KEY", KEY["SORDINO_KEY"])
    arguments = (*ANONYMIZE, folder / "anna", "-o", tmp_path / "out", "--rttm")
    assert call(capsys, *arguments, several(folder))[0] == 0
    moved = several(folder, RTTM.replace("one 1 0.3 0.3", "one 1 0.35 0.25"), "moved.rttm")
    status, out, _ = call(capsys, *arguments, moved, "--resume")
    assert status == 0
    assert "kept 1 file" in out
    status, _, err = call(capsys, *arguments, moved, "--resume", "--unassigned", "silence")
    assert status == 2
    assert "other settings" in err
