"""`sordino conceal`, and enrolment and verification by protected templates."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sordino.cli.main import main
from sordino.conceal import load
from sordino.privacy.keys import SecretKey
from sordino.privacy.ledger import Ledger, Limit
from sordino.speaker.encoders import load_encoder
from sordino.speaker.store import Store
from sordino.speaker.vectors import Vectors
from sordino.speaker.vectors_files import read_vectors, write_vectors
from tests import concealers, encoders
from tests.cli.conftest import KEY, Answer
from tests.helpers import tree, write_voice
from tests.voices import CepstralEncoder


@pytest.fixture
def models(tmp_path, monkeypatch) -> Path:
    """Where models lie: an encoder of energies, and a concealer for it."""
    place = tmp_path / "models"
    bundle = encoders.write_encoder(place / "tiny")
    about = concealers.laplace(
        clip=0.5, encoder="tiny", encoder_digest=bundle.digest, dimension=3, latent=2, length=1.0
    )
    concealers.write_concealer(place / "hide", about)
    monkeypatch.setenv("SORDINO_MODELS", str(place))
    return place


@pytest.fixture
def conceal(models, capsys) -> Callable[..., Answer]:
    def call(*arguments: object) -> Answer:
        status = main(["conceal", *map(str, arguments), "--model", "hide"])
        return Answer(status, *capsys.readouterr())

    return call


@pytest.fixture
def table(models, tmp_path) -> Path:
    """Vectors of three recordings by two speakers."""
    rows = np.random.default_rng(0).normal(size=(3, 3)).astype(np.float32)
    keys = ("ann/1", "ann/2", "bob/1")
    paths = tuple(f"{key}.wav" for key in keys)
    digest = load_encoder("tiny").digest
    given = Vectors(keys, paths, ("ann", "ann", "bob"), rows, encoders.NAME, digest)
    write_vectors(given, tmp_path / "vectors.npz", "npz", tmp_path)
    return tmp_path / "vectors.npz"


def test_a_file_of_vectors(conceal, table, tmp_path):
    answer = conceal(table, "-o", tmp_path / "new/out.npz", "--epsilon", 15)
    assert (answer.status, answer.err) == (0, "")
    assert "concealed 3 vectors by tiny-concealer (laplace, epsilon 15) in " in answer.out
    assert "those of one person add up, here to 30 for 2" in answer.out
    assert str(tmp_path / "new/out.privacy.json") in answer.out
    assert set(tree(tmp_path / "new")) == {"out.npz", "out.privacy.json"}
    given, found = read_vectors(table), read_vectors(tmp_path / "new/out.npz")
    assert (found.keys, found.paths, found.speakers) == (given.keys, given.paths, given.speakers)
    assert found.encoder == "mean-energy + tiny-concealer (laplace, epsilon 15)"
    assert (found.vectors != given.vectors).any(axis=1).all()
    said = json.loads((tmp_path / "new/out.privacy.json").read_text())
    assert (said["epsilon"], said["guarantee"], said["releases"]["epsilon_of_those"]) == (
        15.0,
        True,
        30.0,
    )
    again = conceal(tmp_path / "new/out.npz", "-o", tmp_path / "b.npz", "--epsilon", 15)
    assert (again.status, "are concealed already" in again.err) == (2, True)


def test_the_concealer_is_the_one_for_the_encoder(models, table, tmp_path, capsys):
    assert main(["conceal", str(table), "-o", str(tmp_path / "a.npz"), "--epsilon", "3"]) == 0
    assert "by tiny-concealer (laplace, epsilon 3)" in capsys.readouterr().out
    write_voice(tmp_path / "in/ann/1.wav", 0.6, seed=1)
    speech = ["conceal", str(tmp_path / "in"), "-o", str(tmp_path / "b.npz"), "--epsilon", "inf"]
    assert main([*speech, "--encoder", "tiny", "--jobs", "1"]) == 0
    assert "by tiny-concealer (no DP guarantee)" in capsys.readouterr().out
    again = ["conceal", str(tmp_path / "a.npz"), "-o", str(tmp_path / "c.npz"), "--epsilon", "3"]
    assert main(again) == 2
    assert "are concealed already" in capsys.readouterr().err


def test_csv_in_and_out(conceal, table, models, tmp_path, capsys):
    given = read_vectors(table)
    write_vectors(given, tmp_path / "in.csv", "csv", tmp_path)
    answer = conceal(tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--epsilon", "inf")
    assert answer.status == 0
    found = read_vectors(tmp_path / "out.csv")
    assert (found.keys, found.speakers) == (given.keys, given.speakers)
    np.testing.assert_array_equal(found.vectors, load("hide").conceal(given.vectors))
    (tmp_path / "bare.csv").write_text("0,1,2\n1,2,3\n")
    bare = ["conceal", str(tmp_path / "bare.csv"), "-o", str(tmp_path / "o.csv"), "--epsilon", "9"]
    assert main(bare) == 2
    assert "nothing says of which encoder the vectors are; name" in capsys.readouterr().err


def test_without_noise_it_says_so(conceal, table, tmp_path):
    answer = conceal(table, "-o", tmp_path / "out.npz", "--epsilon", "inf")
    assert answer.err == "note: no DP guarantee: no noise is added at release\n"
    assert "by tiny-concealer (no DP guarantee) in" in answer.out
    assert "epsilon" not in answer.out
    expected = load("hide").conceal(read_vectors(table).vectors)
    np.testing.assert_array_equal(read_vectors(tmp_path / "out.npz").vectors, expected)
    said = json.loads((tmp_path / "out.privacy.json").read_text())
    assert (said["epsilon"], said["guarantee"]) == ("inf", False)
    assert "no DP guarantee" in read_vectors(tmp_path / "out.npz").encoder


def test_recordings_are_embedded_first(conceal, models, tmp_path):
    for number, place in enumerate(("ann/1.wav", "ann/2.flac", "bob/1.ogg")):
        write_voice(tmp_path / "in" / place, 0.6, seed=number)
    (tmp_path / "in/bob/2.wav").write_bytes(b"no sound")
    out = tmp_path / "out.h5"
    answer = conceal(tmp_path / "in", "-o", out, "--epsilon", "inf", "--jobs", 1)
    assert answer.status == 1
    assert "2 speakers by the folders that files lie in: ann, bob" in answer.err
    assert "failed: " in answer.err
    found = read_vectors(out)
    assert found.speakers == ("ann", "ann", "bob")
    encoder = load_encoder("tiny")
    rows = [encoder.embed_file(tmp_path / "in" / path) for path in found.paths]
    np.testing.assert_allclose(found.vectors, load("hide").conceal(rows), rtol=1e-5)


def test_nothing_done_nothing_written(conceal, models, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.wav").write_bytes(b"no sound")
    answer = conceal(tmp_path / "in", "-o", tmp_path / "out/out.npz", "--epsilon", 3)
    assert answer.status == 1
    assert answer.out == "concealed nothing; nothing is written\n"
    assert tree(tmp_path / "out") == {}


def test_another_mechanism(conceal, table, tmp_path):
    options = ("--epsilon", 9, "--mechanism")
    answer = conceal(table, "-o", tmp_path / "a.npz", *options, "privunit")
    assert (answer.status, "(privunit, epsilon 9)" in answer.out) == (0, True)
    answer = conceal(table, "-o", tmp_path / "b.npz", *options, "gaussian")
    assert (answer.status, "gaussian needs a clip of l2 norms" in answer.err) == (2, True)


def test_a_ledger_stops_at_a_limit(conceal, table, tmp_path):
    ledger = Ledger(tmp_path / "budget", create=True)
    ledger.set_limit(Limit(20.0), purpose="log-in")
    counted = ("--ledger", tmp_path / "budget", "--purpose", "log-in")
    assert conceal(table, "-o", tmp_path / "a.npz", "--epsilon", 9, *counted).status == 0
    assert ledger.spent("ann", "log-in").releases == 2
    answer = conceal(table, "-o", tmp_path / "b.npz", "--epsilon", 9, *counted)
    assert answer.status == 0
    first, second = (read_vectors(tmp_path / name).vectors for name in ("a.npz", "b.npz"))
    np.testing.assert_array_equal(first, second)
    answer = conceal(table, "-o", tmp_path / "c.npz", "--epsilon", 8, *counted)
    assert (answer.status, "'ann'" in answer.err) == (2, True)
    assert not (tmp_path / "c.npz").exists()
    assert ledger.spent("bob").releases == 1
    alone = ("-o", tmp_path / "d.npz", "--epsilon", 6, *counted, "--person", "zoe")
    assert conceal(table, *alone).status == 0
    assert ledger.spent("zoe").releases == 3
    said = json.loads((tmp_path / "d.privacy.json").read_text())["releases"]
    assert (said["speakers"], said["most_of_one_speaker"], said["epsilon_of_those"]) == (1, 3, 18.0)


def test_a_table_without_rows_is_nothing(conceal, tmp_path):
    (tmp_path / "none.csv").write_text("key,encoder,digest,0,1,2\n")
    answer = conceal(tmp_path / "none.csv", "-o", tmp_path / "o.csv", "--epsilon", 9)
    assert answer.status != 0
    assert not (tmp_path / "o.csv").exists()
    assert not (tmp_path / "o.privacy.json").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--epsilon", "3", "--ledger", "none"), "--ledger and --purpose go together"),
        (("--epsilon", "3", "--purpose", "x"), "--ledger and --purpose go together"),
        (("--epsilon", "3", "--ledger-key", "x"), "--ledger-key goes with --ledger"),
        (("--epsilon", "3", "--person", "x"), "--person goes with --ledger"),
        (("--epsilon", "inf", "--ledger", "x", "--purpose", "y"), "there is nothing to count"),
        (("--epsilon", "3", "--encoder", "tiny"), "--encoder goes with recordings"),
        (("--epsilon", "3", "--speaker-regex", "x"), "--speaker-regex goes with recordings"),
        (("--epsilon", "3", "--ledger", "none", "--purpose", "x"), "none"),
    ],
)
def test_options_that_do_not_fit(conceal, table, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    answer = conceal(table, "-o", tmp_path / "out.npz", *options)
    assert (answer.status, message in answer.err) == (2, True)
    assert not (tmp_path / "out.npz").exists()


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "much"])
def test_epsilon_is_a_number_above_0(conceal, table, tmp_path, capsys, epsilon):
    with pytest.raises(SystemExit):
        conceal(table, "-o", tmp_path / "out.npz", f"--epsilon={epsilon}")
    assert "is not a number above 0, nor inf" in capsys.readouterr().err


def test_epsilon_has_to_be_said(conceal, table, tmp_path, capsys):
    with pytest.raises(SystemExit):
        conceal(table, "-o", tmp_path / "out.npz")
    assert "--epsilon" in capsys.readouterr().err


def test_outputs_that_stand_in_the_way(conceal, table, tmp_path):
    before = table.read_bytes()
    answer = conceal(table, "-o", table, "--epsilon", 3, "--overwrite")
    assert (answer.status, "is the input; name another" in answer.err) == (2, True)
    (tmp_path / "out.privacy.json").write_text("mine")
    answer = conceal(table, "-o", tmp_path / "out.npz", "--epsilon", 3)
    assert (answer.status, "out.privacy.json exists; use --overwrite" in answer.err) == (2, True)
    assert conceal(table, "-o", tmp_path / "out.npz", "--epsilon", 3, "--overwrite").status == 0
    answer = conceal(table, table, "-o", tmp_path / "c.npz", "--epsilon", 3)
    assert (answer.status, "is concealed alone" in answer.err) == (2, True)
    assert table.read_bytes() == before


def test_vectors_of_another_encoder(conceal, table, tmp_path):
    given = read_vectors(table)
    other = Vectors(given.keys, given.paths, given.speakers, given.vectors, "other", "decade")
    write_vectors(other, tmp_path / "other.npz", "npz", tmp_path)
    answer = conceal(tmp_path / "other.npz", "-o", tmp_path / "a.npz", "--epsilon", 3)
    assert (answer.status, "the vectors are of other (decade)" in answer.err) == (2, True)
    write_vectors(given, tmp_path / "kaldi.ark", "ark", tmp_path)
    answer = conceal(tmp_path / "kaldi.ark", "-o", tmp_path / "b.ark", "--epsilon", 3)
    assert (answer.status, "does not say that its vectors are of tiny" in answer.err) == (0, True)
    assert read_vectors(tmp_path / "b.ark").speakers == given.speakers


def test_real_speech_with_the_encoder_that_comes_with_sordino(
    people, tmp_path, monkeypatch, capsys
):
    encoder = load_encoder("ecapa-small")
    about = concealers.description(
        encoder="ecapa-small", encoder_digest=encoder.digest, dimension=192, latent=64
    )
    concealers.write_concealer(tmp_path / "models/hide", about)
    monkeypatch.setenv("SORDINO_MODELS", str(tmp_path / "models"))
    for number in range(2):
        folder = tmp_path / "in" / f"person {number}"
        folder.mkdir(parents=True)
        for file in people.of(number)[:2]:
            shutil.copy(file, folder)
    words = ["conceal", tmp_path / "in", "--model", "hide", "--jobs", 1]
    for epsilon in ("25", "inf"):
        assert (
            main([*map(str, words), "-o", str(tmp_path / f"{epsilon}.npz"), "--epsilon", epsilon])
            == 0
        )
    found = read_vectors(tmp_path / "inf.npz")
    unit = found.vectors / np.linalg.norm(found.vectors, axis=1, keepdims=True)
    scores = unit @ unit.T
    same = np.array(found.speakers)[:, None] == np.array(found.speakers)
    assert scores[same].min() > scores[~same].max() + 0.1
    noisy = read_vectors(tmp_path / "25.npz").vectors
    noisy = noisy / np.linalg.norm(noisy, axis=1, keepdims=True)
    assert 0.2 < np.einsum("ij,ij->i", noisy, unit).mean() < 0.95


@pytest.fixture
def hidden(shell, monkeypatch) -> Path:
    """A concealer for the encoder of the shell."""
    about = concealers.description(
        encoder="cepstral", encoder_digest=CepstralEncoder.digest, dimension=38, latent=36
    )
    thresholds = {"both": {"inf": {"thresholds": {"0.01": 0.1}, "measured_on": "a few"}}}
    concealers.write_concealer(shell.folder / "models/hide", about, verification=thresholds)
    monkeypatch.setenv("SORDINO_MODELS", str(shell.folder / "models"))
    return shell.folder / "models/hide"


def stored(shell) -> dict[str, np.ndarray]:
    with Store.open(shell.store, SecretKey.from_secret(KEY.encode())) as store:
        return {template.name: template.vectors for template in store.templates()}


def test_protected_templates_are_all_that_is_stored(shell, hidden, people):
    protect = ("--conceal", "hide", "--epsilon", "200")
    answer = shell("enroll", "anna", *people.of(0)[:2], *protect)
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.endswith(
        "\nstored protected, by cepstral + tiny-concealer (privunit, epsilon 200); nothing else of"
        " the recordings\n"
    )
    (rows,) = stored(shell).values()
    directions = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    in_range = directions @ concealers.weights(38, 36)
    np.testing.assert_allclose(np.linalg.norm(in_range, axis=1), 1, rtol=1e-3)
    answer = shell("list")
    assert "by cepstral + tiny-concealer (privunit, epsilon 200)" in answer.out
    answer = shell("enroll", "anna", people.of(0)[2])
    assert (answer.status, "cannot be compared with cepstral" in answer.err) == (2, True)


def test_either_side_may_be_protected(shell, hidden, people):
    protect = ("--conceal", "hide", "--epsilon", "200")
    own, other = people.of(0)[2], people.of(1)[2]
    assert shell("enroll", "open", *people.of(0)[:2]).status == 0
    assert shell("enroll", "hidden", *people.of(0)[:2], *protect).status == 0
    for name, options in (("open", protect), ("hidden", protect), ("hidden", ())):
        tried = [
            shell("verify", name, file, "--threshold", "0.5", "--json", *options).said["score"]
            for file in (own, other)
        ]
        assert tried[0] > tried[1] + 0.05, (name, options)
        answer = shell("verify", name, own, *options)
        assert (answer.status, "thresholds for trials of cepstral" in answer.err) == (2, True)


def test_thresholds_that_were_measured_are_used(shell, hidden, people):
    protect = ("--conceal", "hide", "--epsilon", "inf")
    answer = shell("enroll", "anna", *people.of(0)[:2], *protect)
    assert answer.err == "note: no DP guarantee: no noise is added at release\n"
    assert "by cepstral + tiny-concealer (no DP guarantee)" in answer.out
    said = shell("verify", "anna", people.of(0)[2], "--json", *protect).said
    assert (said["threshold"], said["measured_on"]) == (0.1, "a few")


def test_releases_of_a_name_are_counted(shell, hidden, people):
    ledger = Ledger(shell.folder / "budget", create=True)
    ledger.set_limit(Limit(100.0), purpose="log-in")
    counted = ("--ledger", shell.folder / "budget", "--purpose", "log-in")
    protect = ("--conceal", "hide", "--epsilon", "40", *counted)
    assert shell("enroll", "anna", *people.of(0)[:2], *protect).status == 0
    assert ledger.spent("anna").releases == 2
    answer = shell("verify", "anna", people.of(0)[2], *protect, "--threshold", "0.5")
    assert (answer.status, "'anna'" in answer.err) == (2, True)
    assert ledger.spent("anna").releases == 2
    answer = shell("verify", "anna", people.of(0)[0], *protect, "--threshold", "0.1")
    assert answer.status == 0, "the same recording again costs nothing"


@pytest.mark.parametrize("command", ["enroll", "verify"])
def test_options_of_release_go_with_a_concealer(shell, hidden, people, command):
    for option in ("--epsilon=3", "--mechanism=laplace", "--ledger=x", "--ledger-key=x"):
        answer = shell(command, "anna", people.of(0)[0], option)
        assert answer.status == 2
    assert shell("enroll", "anna", *people.of(0)[:2]).status == 0
    answer = shell(command, "anna", people.of(0)[0], "--conceal", "hide")
    assert (answer.status, "give --epsilon E, or --epsilon inf" in answer.err) == (2, True)
