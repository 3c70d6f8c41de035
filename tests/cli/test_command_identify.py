from __future__ import annotations

import numpy as np
import pytest
import soundfile

from tests.voices import CepstralEncoder


def test_the_best_name_is_found(enrolled, people):
    for number, name in enumerate(("anna", "bruno")):
        answer = enrolled("identify", people.of(number)[2], "--threshold", "-1")
        assert (answer.status, answer.err) == (0, "")
        first, *matches = answer.out.splitlines()
        assert first == f"found: {name}, of 2 names"
        assert len(matches) == 2
        assert matches[0].startswith(f"  {name}, score ")


def test_nobody_is_found(enrolled, people):
    answer = enrolled("identify", people.of(2)[0], "--threshold", "0.9999", "--top", "1")
    assert (answer.status, answer.err) == (3, "")
    lines = answer.out.splitlines()
    assert lines[0] == "found: nobody, of 2 names"
    assert len(lines) == 2


def test_json(enrolled, people):
    answer = enrolled("identify", people.of(1)[2], "--json", "--threshold", "-1")
    said = answer.said
    assert (answer.status, said["name"], said["names"]) == (0, "bruno", 2)
    assert [match["name"] for match in said["matches"]] == ["bruno", "anna"]
    scores = [match["score"] for match in said["matches"]]
    assert scores == sorted(scores, reverse=True)
    for match in said["matches"]:
        assert match["llr"] == pytest.approx(10 * match["score"] - 4, abs=1e-4)
    verified = enrolled("verify", "bruno", people.of(1)[2], "--json", "--threshold", "-1").said
    assert verified["score"] == pytest.approx(scores[0], abs=1e-6)
    nobody = enrolled("identify", people.of(1)[2], "--json", "--threshold", "0.9999")
    assert (nobody.status, nobody.said["name"], nobody.said["decision"]) == (3, None, "reject")


def test_it_cannot_be_told(enrolled):
    silent = enrolled.folder / "silent.wav"
    soundfile.write(silent, np.zeros(32000), 16000)
    answer = enrolled("identify", silent)
    assert (answer.status, answer.out) == (4, "cannot tell: it is silent\n")
    said = enrolled("identify", silent, "--json").said
    assert (said["name"], said["decision"], said["matches"]) == (None, "cannot tell", [])


def test_names_of_another_encoder_are_left_out(enrolled, people, monkeypatch):
    monkeypatch.setattr(CepstralEncoder, "digest", "another")
    answer = enrolled("identify", people.of(0)[2])
    assert answer.status == 2
    assert "nobody is enrolled with the encoder cepstral (another), only with" in answer.err
    assert enrolled("enroll", "chloé", *people.of(2)[:2]).status == 0
    answer = enrolled("identify", people.of(0)[2], "--threshold", "-1")
    assert answer.status == 0
    assert answer.err == "note: not compared, of another encoder: 2 names\n"
    assert answer.out.startswith("found: chloé, of 1 name\n")


def test_what_cannot_be_carried_out(shell, people):
    answer = shell("identify", people.of(0)[0])
    assert (answer.status, "there is none; sordino enroll makes one" in answer.err) == (2, True)
    assert shell("enroll", "anna", people.of(0)[0]).status == 0
    assert shell("forget", "anna").status == 0
    answer = shell("identify", people.of(0)[0])
    assert (answer.status, "use sordino enroll first" in answer.err) == (2, True)
    assert shell("identify", people.of(0)[0], "--top", "0").status == 2
