from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pytest
import soundfile

from tests.voices import CepstralEncoder


def test_the_voice_is_accepted_and_another_rejected(enrolled, people):
    answer = enrolled("verify", "anna", people.of(0)[2], "--threshold", "0.2")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith("accepted: anna, score 0.")
    assert "threshold 0.200, log-likelihood ratio" in answer.out
    answer = enrolled("verify", "anna", people.of(2)[2], "--threshold", "0.9")
    assert (answer.status, answer.err) == (3, "")
    assert answer.out.startswith("rejected: anna, score ")


def test_the_threshold_follows_from_the_rate(enrolled, people):
    trial = people.of(0)[2]
    said = enrolled("verify", "anna", trial, "--json").said
    assert (said["threshold"], said["false_accepts"]) == (0.25, 0.01)
    assert said["measured_on"] == "test speakers"
    strict = enrolled("verify", "anna", trial, "--json", "--false-accepts", "0.001")
    assert strict.status == 3
    assert (strict.said["decision"], strict.said["threshold"]) == ("reject", 0.9999)
    answer = enrolled("verify", "anna", trial, "--false-accepts", "0.001")
    assert "threshold 1.000 for 0.10% false accepts" in answer.out
    answer = enrolled("verify", "anna", trial, "--false-accepts", "0.2")
    assert answer.status == 2
    assert "no threshold for a false-accept rate of 0.2, only for 0.01, 0.001" in answer.err


def test_json(enrolled, people):
    answer = enrolled("verify", "anna", people.of(0)[2], "--json", "--threshold", "0.2")
    said = answer.said
    assert said.keys() == {
        "name",
        "score",
        "llr",
        "decision",
        "threshold",
        "false_accepts",
        "measured_on",
        "reasons",
        "quality",
    }
    assert (said["name"], said["decision"], said["reasons"]) == ("anna", "accept", [])
    assert said["llr"] == pytest.approx(10 * said["score"] - 4, abs=1e-4)
    assert said["false_accepts"] is None
    quality = said["quality"]
    assert quality.keys() == {"seconds", "speech", "snr", "clipped", "peak"}
    info = soundfile.info(people.of(0)[2])
    assert quality["seconds"] == pytest.approx(info.frames / info.samplerate, abs=1e-3)


def test_a_bad_recording_cannot_be_judged(enrolled, people):
    silent = enrolled.folder / "silent.wav"
    soundfile.write(silent, np.zeros(32000), 16000)
    answer = enrolled("verify", "anna", silent)
    assert (answer.status, answer.out) == (4, "cannot tell: anna; it is silent\n")
    said = enrolled("verify", "anna", silent, "--json").said
    assert (said["decision"], said["score"], said["llr"]) == ("cannot tell", None, None)
    assert said["reasons"] == [{"code": "silence", "text": "it is silent"}]
    answer = enrolled("verify", "anna", people.of(0)[2], "--min-speech", "100")
    assert answer.status == 4
    assert answer.out.startswith("cannot tell: anna; too little speech: ")
    assert ", score 0." in answer.out


def test_what_cannot_be_carried_out(enrolled, people, monkeypatch):
    trial = people.of(0)[2]
    answer = enrolled("verify", "dora", trial)
    assert answer.status == 2
    assert answer.err == f"sordino: nobody is enrolled as 'dora' in {enrolled.store}\n"
    assert enrolled("verify", "anna", trial, "--threshold", "1", "--false-accepts", "1").status == 2
    assert enrolled("verify", "anna", trial, "--scoring", "mean-cosine").status == 2
    assert enrolled("verify", "anna", trial, "--key-file", "").status == 2
    options = ("--scoring", "mean-cosine", "--threshold", "-1")
    assert enrolled("verify", "anna", trial, *options).status == 0
    answer = enrolled("verify", "anna", enrolled.folder / "none.wav")
    assert (answer.status, "none.wav: cannot be opened" in answer.err) == (1, True)
    monkeypatch.setattr(CepstralEncoder, "digest", "another")
    answer = enrolled("verify", "anna", trial)
    assert (answer.status, "cannot be compared" in answer.err) == (2, True)
    monkeypatch.setenv("SORDINO_KEY", "another key for the tests")
    answer = enrolled("verify", "anna", trial)
    assert (answer.status, "this key does not open it" in answer.err) == (2, True)
    monkeypatch.setenv("SORDINO_STORE", str(enrolled.folder / "none"))
    answer = enrolled("verify", "anna", trial)
    assert (answer.status, "there is none; sordino enroll makes one" in answer.err) == (2, True)


def test_a_damaged_store_is_a_failure(enrolled, people):
    with closing(sqlite3.connect(enrolled.store)) as connection, connection:
        connection.execute("UPDATE enrolments SET record = zeroblob(100)")
    answer = enrolled("verify", "anna", people.of(0)[2])
    assert answer.status == 1
    assert "is damaged or was changed: enrolment 1 of 'anna'" in answer.err
    assert answer.err.count("\n") == 1


def test_help_tells_the_exit_statuses(shell):
    for command in ("verify", "identify"):
        answer = shell(command, "--help")
        assert answer.status == 0
        for status in range(5):
            assert f"\n  {status}  " in answer.out
