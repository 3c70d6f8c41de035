from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import soundfile

from sordino.anonymize import job
from sordino.anonymize.engine import run
from sordino.anonymize.plan import make_plan
from sordino.anonymize.render import Shape
from sordino.anonymize.settings import Settings
from sordino.corpus.speakers import by_folder
from sordino.errors import OutputError, UsageError
from sordino.privacy.keys import SecretKey
from tests.helpers import sordino, tree, write_voice
from tests.neural_voices import write_models

SECRET = "a key for the tests"
KEY = SecretKey.from_secret(SECRET.encode())
SETTINGS = Settings("mcadams", (("level", "speaker"),), Shape(), KEY)


@pytest.fixture
def recordings(tmp_path) -> Path:
    for number in range(6):
        name = f"in/speaker{number % 2}/{number}.{'wav' if number % 3 else 'flac'}"
        write_voice(tmp_path / name, 0.6 + 0.1 * number, seed=number)
    return tmp_path / "in"


def outputs(folder: Path) -> dict[str, bytes]:
    """Everything below the output folder but the dated record."""
    return {name: data for name, data in tree(folder).items() if not name.endswith(".json")}


def go(recordings: Path, output: Path, *, settings=SETTINGS, **options):
    return run(make_plan([recordings], output, by_folder), settings, **options)


def test_every_file_is_done_and_recorded(recordings, tmp_path):
    summary = go(recordings, tmp_path / "out")
    assert (len(summary.done), summary.failed, summary.interrupted) == (6, [], False)
    assert summary.seconds == pytest.approx(sum(0.6 + 0.1 * n for n in range(6)), abs=0.01)
    record = json.loads((tmp_path / "out" / "sordino-run.json").read_text())
    assert record["system"] == "mcadams"
    assert record["parameters"]["high"] == 0.9
    assert record["speakers"] == 2
    assert [file["name"] for file in record["files"]] == sorted(outputs(tmp_path / "out"))
    for file in record["files"]:
        info = soundfile.info(tmp_path / "out" / file["name"])
        assert (file["samples"], file["sample_rate"]) == (info.frames, info.samplerate)
    assert not (tmp_path / "out" / ".sordino-work").exists()


def test_record_tells_neither_key_nor_coefficients_nor_a_usable_digest(recordings, tmp_path):
    import hashlib

    go(recordings, tmp_path / "out")
    text = (tmp_path / "out" / "sordino-run.json").read_text()
    assert SECRET not in text
    assert KEY.material.hex() not in text
    anonymizer = SETTINGS.anonymizer()
    for speaker in ("speaker0", "speaker1"):
        alpha = anonymizer.coefficient(anonymizer.draws(KEY, speaker))
        assert str(alpha)[:8] not in text
    for source in recordings.rglob("*.*"):
        for method in ("md5", "sha1", "sha256", "sha512"):
            assert hashlib.new(method, source.read_bytes()).hexdigest() not in text


def test_workers_give_the_same_files(recordings, tmp_path):
    go(recordings, tmp_path / "one", jobs=1)
    go(recordings, tmp_path / "two", jobs=2)
    assert outputs(tmp_path / "one") == outputs(tmp_path / "two")


def test_key_decides_and_is_repeatable(recordings, tmp_path):
    other = SecretKey.from_secret(b"another key for tests")
    go(recordings, tmp_path / "a")
    go(recordings, tmp_path / "b")
    go(recordings, tmp_path / "c", settings=Settings("mcadams", (), Shape(), other))
    assert outputs(tmp_path / "a") == outputs(tmp_path / "b")
    assert not set(outputs(tmp_path / "a").values()) & set(outputs(tmp_path / "c").values())


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_bad_file_does_not_stop_the_others(recordings, tmp_path, jobs):
    (recordings / "speaker0" / "bad.wav").write_text("this is text")
    summary = go(recordings, tmp_path / "out", jobs=jobs)
    assert len(summary.done) == 6
    ((task, reason),) = summary.failed
    assert task.name == "speaker0/bad.wav"
    assert "not audio" in reason
    assert not (tmp_path / "out" / "speaker0" / "bad.wav").exists()
    record = json.loads((tmp_path / "out" / "sordino-run.json").read_text())
    assert {file["status"] for file in record["files"]} == {"done", "failed"}


def test_outputs_that_exist_are_refused_before_anything_happens(recordings, tmp_path):
    go(recordings, tmp_path / "out")
    before = tree(tmp_path / "out")
    with pytest.raises(UsageError, match="6 of 6 outputs"):
        go(recordings, tmp_path / "out")
    assert tree(tmp_path / "out") == before


def test_overwrite_replaces_with_another_voice(recordings, tmp_path):
    go(recordings, tmp_path / "out")
    first = outputs(tmp_path / "out")
    other = Settings("mcadams", (("alpha", 0.5),), Shape(), KEY)
    go(recordings, tmp_path / "out", settings=other, mode="overwrite")
    assert first.keys() == outputs(tmp_path / "out").keys()
    assert not set(first.values()) & set(outputs(tmp_path / "out").values())


def test_resume_does_only_what_is_missing_or_changed(recordings, tmp_path):
    go(recordings, tmp_path / "out")
    whole = outputs(tmp_path / "out")
    (tmp_path / "out" / "speaker0" / "0.flac").unlink()
    damaged = tmp_path / "out" / "speaker1" / "1.wav"
    damaged.write_bytes(damaged.read_bytes()[:-10])
    done = []
    summary = go(
        recordings, tmp_path / "out", mode="resume", report=lambda entry, task: done.append(entry)
    )
    assert (len(summary.done), summary.kept) == (6, 4)
    assert outputs(tmp_path / "out") == whole
    write_voice(recordings / "speaker0" / "2.wav", 0.5, seed=99)
    summary = go(recordings, tmp_path / "out", mode="resume")
    assert summary.kept == 5
    assert outputs(tmp_path / "out") != whole


def test_resume_with_other_settings_or_key_is_refused(recordings, tmp_path):
    go(recordings, tmp_path / "out")
    for settings in (
        Settings("mcadams", (("alpha", 0.8),), Shape(), KEY),
        Settings("mcadams", (), Shape(), SecretKey.from_secret(b"another key for tests")),
        Settings("mcadams", (), Shape(8000), KEY),
    ):
        with pytest.raises(UsageError, match="other settings or another key"):
            go(recordings, tmp_path / "out", settings=settings, mode="resume")


def test_resume_does_not_replace_files_of_unknown_origin(recordings, tmp_path):
    write_voice(tmp_path / "out" / "speaker0" / "0.flac", 0.1)
    before = tree(tmp_path / "out")
    with pytest.raises(UsageError, match="no earlier run"):
        go(recordings, tmp_path / "out", mode="resume")
    assert tree(tmp_path / "out") == before


def test_two_runs_do_not_share_an_output(recordings, tmp_path):
    from filelock import FileLock

    work = tmp_path / "out" / ".sordino-work"
    work.mkdir(parents=True)
    with FileLock(work / "lock"), pytest.raises(UsageError, match="another run"):
        go(recordings, tmp_path / "out")


def test_nothing_to_do_is_an_error(tmp_path):
    (tmp_path / "in").mkdir()
    with pytest.raises(UsageError, match="no recordings"):
        go(tmp_path / "in", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_nobody_could_be_given_a_voice(recordings, tmp_path, monkeypatch):
    write_models(tmp_path / "models")
    monkeypatch.setenv("SORDINO_MODELS", str(tmp_path / "models"))
    parameters = (("voice", "tiny-voice"), ("strategy", "average"))
    settings = Settings("neural", parameters, Shape(), KEY)
    with pytest.raises(UsageError, match=r"pool has 30 voices of .*, 200 are needed"):
        go(recordings, tmp_path / "out", settings=settings)
    assert not (tmp_path / "out").exists()


def test_output_below_a_file_is_an_error(recordings, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="out"):
        go(recordings, tmp_path / "file" / "out")


def test_interrupted_run_goes_on(recordings, tmp_path):
    go(recordings, tmp_path / "whole")
    seen = []

    def interrupt(entry, task) -> None:
        seen.append(entry.name)
        if len(seen) == 3:
            raise KeyboardInterrupt

    summary = go(recordings, tmp_path / "out", report=interrupt)
    assert summary.interrupted
    assert (
        len(outputs(tmp_path / "out")) - len(list((tmp_path / "out").rglob(".sordino-work/*"))) == 3
    )
    summary = go(recordings, tmp_path / "out", mode="resume")
    assert (summary.kept, summary.interrupted) == (3, False)
    assert outputs(tmp_path / "out") == outputs(tmp_path / "whole")


def test_worker_that_dies_fails_only_its_file(recordings, tmp_path, monkeypatch):
    """A decoder that crashes takes its process with it; the other files are still done."""
    script = tmp_path / "crash.py"
    script.write_text(
        "import os, sys\n"
        "from pathlib import Path\n"
        "from sordino.anonymize import engine, job\n"
        "from tests.anonymize.test_engine import SETTINGS\n"
        "from sordino.anonymize.plan import make_plan\n"
        "from sordino.corpus.speakers import by_folder\n"
        "real = job.render\n"
        "def render(source, *arguments, **options):\n"
        "    if source.name == '3.flac':\n"
        "        os.abort()\n"
        "    return real(source, *arguments, **options)\n"
        "job.render = render\n"
        "if __name__ == '__main__':\n"
        "    plan = make_plan([Path(sys.argv[1])], Path(sys.argv[2]), by_folder)\n"
        "    summary = engine.run(plan, SETTINGS, jobs=2)\n"
        "    print(len(summary.done), [(t.name, r) for t, r in summary.failed])\n"
    )
    done = subprocess.run(
        [sys.executable, script, recordings, tmp_path / "out"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.stdout.startswith("5 [('speaker1/3.flac', 'the worker process died")
    assert len(outputs(tmp_path / "out")) == 5


def test_killed_at_random_moments_and_resumed_equals_an_undisturbed_run(tmp_path):
    for number in range(12):
        ending = ("wav", "flac", "ogg", "mp3")[number % 4]
        write_voice(tmp_path / f"in/s{number % 3}/{number}.{ending}", 12.0, seed=number)
    command = ["anonymize", "--system", "mcadams", tmp_path / "in", "--jobs", "2", "-o"]
    arguments = [*command, tmp_path / "out"]
    environment = os.environ | {"SORDINO_KEY": SECRET}
    assert sordino(*command, tmp_path / "whole", env=environment).returncode == 0
    chance = random.Random(20)
    kills = completed = 0
    while kills < 20:
        process = subprocess.Popen(
            [sys.executable, "-m", "sordino", *map(str, arguments), "--resume"],
            env=environment,
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(chance.uniform(0.3, 1.6))
        if process.poll() is not None:
            assert process.returncode == 0
            completed += 1
            for path in sorted((tmp_path / "out").rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
            continue
        if kills % 2:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
        kills += 1
        for name, data in outputs(tmp_path / "out").items():
            if ".sordino-work" not in name:
                assert data == (tmp_path / "whole" / name).read_bytes()
    final = sordino(*arguments, "--resume", env=environment)
    assert final.returncode == 0, final.stderr
    assert outputs(tmp_path / "out") == outputs(tmp_path / "whole")


def test_settings_fingerprint_depends_on_all_settings_and_the_key():
    key = SecretKey.from_secret(b"another key for tests")
    variants = [
        SETTINGS,
        Settings("mcadams", (("level", "utterance"),), Shape(), KEY),
        Settings("mcadams", (("alpha", 0.7),), Shape(), KEY),
        Settings("mcadams", (), Shape(16000), KEY),
        Settings("mcadams", (), Shape(mono=True), KEY),
        Settings("mcadams", (), Shape(), key),
    ]
    assert len({variant.fingerprint() for variant in variants}) == len(variants)
    assert SETTINGS.fingerprint() == Settings("mcadams", (), Shape(), KEY).fingerprint()


def test_internal_errors_name_themselves(recordings, tmp_path, monkeypatch):
    def faulty(*arguments, **options):
        raise ZeroDivisionError("a\nb")

    monkeypatch.setattr(job, "render", faulty)
    summary = go(recordings, tmp_path / "out")
    assert len(summary.failed) == 6
    assert summary.failed[0][1] == "internal error, please report it (ZeroDivisionError: a b)"
    assert outputs(tmp_path / "out") == {}


def test_internal_errors_do_not_put_names_into_the_record(recordings, tmp_path, monkeypatch):
    def faulty(source, *arguments, **options):
        raise RuntimeError(f"cannot do {source}, nor {source.name}")

    monkeypatch.setattr(job, "render", faulty)
    go(recordings, tmp_path / "out")
    record = json.loads((tmp_path / "out/sordino-run.json").read_text())
    assert all("cannot do ..., nor ...)" in file["reason"] for file in record["files"])


def test_speakers_differ_and_utterances_of_one_agree(recordings, tmp_path):
    """The same sound gets one voice as one speaker's and another as another's."""
    data = (recordings / "speaker0" / "2.wav").read_bytes()
    for place in ("speaker0/again.wav", "speaker1/again.wav"):
        (recordings / place).write_bytes(data)
    go(recordings, tmp_path / "out")
    first, again, other = (
        soundfile.read(tmp_path / "out" / name)[0]
        for name in ("speaker0/2.wav", "speaker0/again.wav", "speaker1/again.wav")
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other, atol=1e-3)
