from __future__ import annotations

import numpy as np
import pytest
import soundfile

from sordino.privacy.keys import SecretKey
from sordino.speaker.store import Store
from tests.encoders import write_encoder
from tests.helpers import sordino
from tests.voices import CepstralEncoder

KEY = "a key for the tests"


def stored(path):
    with Store.open(path, SecretKey.from_secret(KEY.encode())) as store:
        return store.templates()


def test_a_name_is_stored_and_recordings_are_added(shell, people):
    first, second, third = people.of(0)
    answer = shell("enroll", "anna", first, second)
    assert (answer.status, answer.err) == (0, "")
    (template,) = stored(shell.store)
    speech = f"{template.speech:.1f}"
    assert answer.out == f"enrolled anna: 2 recordings, {speech} s of speech\n"
    answer = shell("enroll", "anna", third)
    (template,) = stored(shell.store)
    assert answer.out.startswith("enrolled anna: 1 recording, ")
    assert answer.out.endswith(f" s of speech; 3 and {template.speech:.1f} s in all\n")
    assert template.vectors.shape == (3, CepstralEncoder.dimension)


def test_json(shell, people):
    assert shell("enroll", "anna", people.of(0)[2]).status == 0
    said = shell("enroll", "Zoë\n", *people.of(0)[:2], "--json").said
    assert (said["name"], said["added"], said["enrolments"]) == ("Zoë\n", 2, 2)
    assert said["speech"] > 2
    assert said["first"] <= said["last"]
    assert said["first"].endswith("+00:00")
    assert said["encoder"] == {"name": "cepstral", "digest": CepstralEncoder.digest}


def test_nothing_of_a_template_is_printed(shell, people):
    outputs = [shell("enroll", "anna", *people.of(0)), shell("list"), shell("list", "--json")]
    outputs += [shell("verify", "anna", people.of(0)[0], "--json")]
    (template,) = stored(shell.store)
    numbers = {f"{value:.3f}" for value in np.abs(template.vectors).ravel() if value > 0.01}
    assert len(numbers) > 20
    for answer in outputs:
        assert not numbers & set(answer.out.replace(",", " ").split())
        assert "array" not in answer.out + answer.err


def test_a_key_is_needed(shell, people, monkeypatch):
    monkeypatch.delenv("SORDINO_KEY")
    answer = shell("enroll", "anna", *people.of(0))
    assert answer.status == 2
    assert "needs a key; make one with: sordino key FILE, and give it with --key-file" in answer.err
    assert not shell.store.exists()


def test_a_key_file_goes_before_the_environment(shell, people):
    key_file = shell.folder / "my.key"
    assert shell("key", key_file).status == 0
    assert shell("enroll", "anna", *people.of(0), "--key-file", key_file).status == 0
    answer = shell("enroll", "bruno", *people.of(1))
    assert answer.status == 2
    assert answer.err == (
        f"sordino: store {shell.store}: this key does not open it; it was made with another one;"
        " give that, or another store\n"
    )
    assert shell("list", "--key-file", key_file).out.startswith("anna: 3 enrolments")


def test_the_store_can_be_named(shell, people):
    other = shell.folder / "new" / "other"
    assert shell("enroll", "anna", *people.of(0), "--store", other).status == 0
    assert not shell.store.exists()
    assert [template.name for template in stored(other)] == ["anna"]


def test_one_bad_file_stores_nothing(shell, people):
    silent = shell.folder / "silent.wav"
    soundfile.write(silent, np.zeros(32000), 16000)
    broken = shell.folder / "broken.wav"
    broken.write_bytes(b"no sound")
    for file, message in (
        (silent, f"{silent}: it is silent"),
        (broken, f"{broken}: is not audio"),
        (shell.folder / "none.wav", "none.wav: cannot be opened"),
    ):
        answer = shell("enroll", "anna", people.of(0)[0], file)
        assert answer.status == 1
        assert message in answer.err
        assert answer.err.count("\n") == 1
        assert stored(shell.store) == []


def test_limits_can_be_set(shell, people):
    answer = shell("enroll", "anna", people.of(0)[0], "--min-speech", "100")
    assert (answer.status, "in all, needs 100.0 s" in answer.err) == (1, True)
    answer = shell("enroll", "anna", people.of(0)[0], "--min-snr", "90")
    assert (answer.status, "needs 90 dB" in answer.err) == (1, True)
    answer = shell("enroll", "anna", people.of(0)[0], "--min-speech", "0")
    assert (answer.status, "not a number above 0" in answer.err) == (2, True)


def test_a_file_given_twice_and_bad_names(shell, people):
    file = people.of(0)[0]
    assert "is given twice" in shell("enroll", "anna", file, file).err
    assert not shell.store.exists()
    for name, message in (("", "a name is empty"), ("x" * 300, "300 characters")):
        answer = shell("enroll", name, file)
        assert (answer.status, message in answer.err) == (2, True)


def test_another_encoder_is_refused(shell, enrolled, people, monkeypatch):
    monkeypatch.setattr(CepstralEncoder, "digest", "another")
    answer = shell("enroll", "anna", people.of(0)[2])
    assert answer.status == 2
    assert "'anna' is enrolled with the encoder cepstral (c0ffeec0), which cannot be" in answer.err


@pytest.mark.parametrize("name", ["two\nlines", "\x1b[31mred", "名前", "-dash"])
def test_odd_names(shell, people, name):
    assert shell("enroll", "--", name, people.of(0)[0]).status == 0
    answer = shell("list")
    assert answer.out.count("\n") == 1
    assert "\x1b" not in answer.out
    assert shell("forget", "--", name).status == 0


def test_through_the_program_with_a_model_folder(tmp_path, people):
    write_encoder(tmp_path / "model")
    common = ("--store", tmp_path / "voices", "--encoder", tmp_path / "model")
    env = {"SORDINO_KEY": KEY}
    first, second = people.of(0)[:2]
    done = sordino("enroll", "anna", first, *common, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    for threshold, status in (("0.1", 0), ("1", 3)):
        done = sordino("verify", "anna", second, "--threshold", threshold, *common, env=env)
        assert (done.returncode, done.stderr) == (status, "")
    done = sordino("verify", "anna", second, "--threshold", "50", *common, env=env)
    assert (done.returncode, "threshold 50 is not a cosine" in done.stderr) == (2, True)
    done = sordino("verify", "anna", second, *common, env=env)
    assert done.returncode == 2
    assert "the encoder has no thresholds of its own; give one with --threshold" in done.stderr
