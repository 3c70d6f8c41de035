"""`sordino embed` as people meet it: exit status, messages, files."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from sordino.cli.main import main
from sordino.speaker.base import mean_vector
from sordino.speaker.encoders import load_encoder
from sordino.speaker.vectors_files import read_vectors
from tests.encoders import write_encoder
from tests.helpers import open_folder, ordinary_user, tree, write_voice


@pytest.fixture(autouse=True)
def _models(tmp_path, monkeypatch):
    write_encoder(tmp_path / "models/tiny")
    monkeypatch.setenv("SORDINO_MODELS", str(tmp_path / "models"))


@pytest.fixture
def folder(tmp_path) -> Path:
    write_voice(tmp_path / "in/anna/one.wav", 0.6, seed=1)
    write_voice(tmp_path / "in/anna/two.flac", 0.7, seed=2)
    write_voice(tmp_path / "in/bruno/three.ogg", 0.8, 8000, seed=3)
    return tmp_path / "in"


def call(capsys, *arguments: object) -> tuple[int, str, str]:
    words = ["embed", *(str(argument) for argument in arguments)]
    if "--encoder" not in words:
        words += ["--encoder", "tiny"]
    status = main(words)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_folder(folder, tmp_path, capsys):
    status, out, err = call(capsys, folder, "-o", tmp_path / "new/out.npz")
    assert status == 0
    assert "embedded 3 of 3 files (2 speakers), 0:00:02 of audio" in out
    assert "3 vectors of 3 numbers, by mean-energy" in out
    assert "2 speakers by the folders that files lie in: anna, bruno" in err
    assert err.count("] done ") == 3
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["out.npz"]
    table = read_vectors(tmp_path / "new/out.npz")
    assert table.keys == ("anna/one", "anna/two", "bruno/three")
    assert table.paths == ("anna/one.wav", "anna/two.flac", "bruno/three.ogg")
    assert table.speakers == ("anna", "anna", "bruno")
    encoder = load_encoder("tiny")
    assert (table.encoder, table.digest) == (encoder.name, encoder.digest)
    wanted = [encoder.embed_file(folder / path) for path in table.paths]
    np.testing.assert_array_equal(table.vectors, wanted)


def test_processes_give_the_same(folder, tmp_path, capsys):
    for jobs in (1, 2):
        out = tmp_path / f"{jobs}.npz"
        assert call(capsys, folder, "-o", out, "--jobs", jobs)[0] == 0
    one, two = read_vectors(tmp_path / "1.npz"), read_vectors(tmp_path / "2.npz")
    assert one.keys == two.keys
    np.testing.assert_array_equal(one.vectors, two.vectors)


def test_per_speaker(folder, tmp_path, capsys):
    status, out, _ = call(capsys, folder, "-o", tmp_path / "out.npz", "--per-speaker")
    assert status == 0
    assert "2 vectors of 3 numbers" in out
    table = read_vectors(tmp_path / "out.npz")
    assert table.keys == ("anna", "bruno")
    encoder = load_encoder("tiny")
    annas = [encoder.embed_file(folder / f"anna/{name}") for name in ("one.wav", "two.flac")]
    np.testing.assert_allclose(table.vectors[0], mean_vector(annas), rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "options", "files"),
    [
        ("out.ark", (), ["out.ark", "out.scp", "out.utt2spk"]),
        ("out.h5", (), ["out.h5"]),
        ("out", ("--format", "npz"), ["out"]),
    ],
)
def test_formats(folder, tmp_path, capsys, name, options, files):
    if name == "out.h5":
        pytest.importorskip("h5py", reason="h5py (extra formats) is not installed")
    target = tmp_path / "new" / name
    assert call(capsys, folder, "-o", target, *options)[0] == 0
    assert sorted(path.name for path in target.parent.iterdir()) == files
    if options:
        target = target.rename(target.with_suffix(".npz"))
    assert read_vectors(target).speakers == ("anna", "anna", "bruno")


def test_table_of_speakers(folder, tmp_path, capsys):
    table = folder / "table.csv"
    table.write_text(
        "path,speaker,split\nanna/one.wav,X,test\nanna/two.flac,Y,test\nbruno/three.ogg,Z,dev\n"
    )
    arguments = ("--speakers", table, "--only", "split=test")
    status, _, err = call(capsys, folder, "-o", tmp_path / "out.npz", *arguments)
    assert status == 0
    assert "left out by --only: 1 recordings" in err
    assert "left aside, not recordings by their names: 1 .csv" in err
    assert read_vectors(tmp_path / "out.npz").speakers == ("X", "Y")
    arguments = ("--speaker-regex", r"(\w)\w+\.", "--overwrite")
    assert call(capsys, folder, "-o", tmp_path / "out.npz", *arguments)[0] == 0
    assert read_vectors(tmp_path / "out.npz").speakers == ("o", "t", "t")


@pytest.mark.parametrize("jobs", [1, 2])
def test_files_that_fail_are_listed_and_the_others_written(folder, tmp_path, capsys, jobs):
    (folder / "anna/empty.wav").write_bytes(b"")
    soundfile.write(folder / "bruno/silent.wav", np.zeros(8000), 16000)
    soundfile.write(folder / "bruno/short.wav", np.linspace(-1, 1, 160), 16000)
    status, out, err = call(capsys, folder, "-o", tmp_path / "out.npz", "--jobs", jobs)
    assert status == 1
    assert "embedded 3 of 6 files" in out
    assert err.splitlines()[-3:] == [
        f"failed: {folder / 'anna/empty.wav'}: is empty (0 bytes)",
        f"failed: {folder / 'bruno/short.wav'}: is too short: 0.010 s; the encoder mean-energy"
        " needs at least 0.025 s",
        f"failed: {folder / 'bruno/silent.wav'}: is digital silence: all its samples are equal",
    ]
    assert len(read_vectors(tmp_path / "out.npz")) == 3


def test_nothing_is_written_where_all_fail(tmp_path, capsys):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/empty.wav").write_bytes(b"")
    status, out, err = call(capsys, tmp_path / "in", "-o", tmp_path / "new/out.npz")
    assert status == 1
    assert "embedded 0 of 1 file " in out
    assert "nothing is written" in out
    assert "failed: " in err
    assert list((tmp_path / "new").iterdir()) == []


@pytest.mark.parametrize("name", ["out.npz", "out.ark"])
def test_outputs_that_exist(folder, tmp_path, capsys, name):
    target = tmp_path / name
    blocking = tmp_path / name.replace(".ark", ".scp")
    blocking.write_text("precious")
    before = tree(tmp_path)
    status, _, err = call(capsys, folder, "-o", target)
    assert status == 2
    assert f"output {blocking} exists; use --overwrite" in err
    assert tree(tmp_path) == before
    assert call(capsys, folder, "-o", target, "--overwrite")[0] == 0
    assert len(read_vectors(target)) == 3


def test_requests_that_cannot_be_carried_out(folder, tmp_path, capsys):
    out = tmp_path / "out.npz"
    (tmp_path / "folder.npz").mkdir()
    before = tree(tmp_path)
    for arguments, message in (
        ((folder, "-o", out, "--encoder", "nobody"), "there is no model 'nobody'; there are: tiny"),
        (
            (folder, "-o", tmp_path / "out.txt"),
            "its ending names no format (.npz, .h5, .hdf5, .ark, .csv)",
        ),
        ((folder, "-o", out, "--format", "pickle"), "there is no format 'pickle'"),
        ((folder, "-o", tmp_path / "folder.npz"), "is a folder; name a file"),
        ((folder, "-o", out, "--only", "a=b"), "give one with --speakers"),
        ((tmp_path / "nowhere", "-o", out), "there is no such file or folder"),
        ((tmp_path / "folder.npz", "-o", out), "no recordings found in the input"),
    ):
        status, _, err = call(capsys, *arguments)
        assert (status, message in err, err.count("\n")) == (2, True, 1), err
    assert tree(tmp_path) == before


def test_a_place_that_cannot_be_written_is_known_at_once(capsys):
    with open_folder() as place:
        write_voice(place / "in/a.wav", 0.5)
        shutil.copytree(write_encoder(place / "tiny").folder, place / "tiny2")
        (place / "closed").mkdir()
        (place / "closed").chmod(0o555)
        with ordinary_user():
            status, _, err = call(
                capsys, place / "in", "-o", place / "closed/out.npz", "--encoder", place / "tiny"
            )
    assert status == 1
    assert "Permission denied" in err
    assert "] done" not in err


def test_interrupted(folder, tmp_path, capsys, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("sordino.speaker.vectors_jobs.attempt", interrupt)
    status, _, err = call(capsys, folder, "-o", tmp_path / "new/out.npz", "--jobs", 1)
    assert status == 130
    assert "interrupted" in err
    assert list((tmp_path / "new").iterdir()) == []


def test_a_hub_model_without_the_client(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    out = tmp_path / "out.npz"
    status, _, err = call(capsys, folder, "-o", out, "--encoder", "hub:anna/tiny")
    assert status == 2
    assert 'pip install "sordino[hub]"' in err


def test_a_recording_is_not_replaced_by_its_vectors(folder, tmp_path, capsys):
    before = tree(folder)
    for output in (folder / "anna/one.wav", folder / "anna/../anna/one.wav"):
        status, _, err = call(
            capsys, folder / "anna", "-o", output, "--format", "npz", "--overwrite"
        )
        assert (status, "is one of the recordings" in err) == (2, True)
    assert tree(folder) == before
    link = tmp_path / "link.npz"
    link.symlink_to(folder / "anna/one.wav")
    status, _, err = call(capsys, folder / "anna", "-o", link, "--overwrite")
    assert (status, "is one of the recordings" in err) == (2, True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_no_regular_file_is_not_replaced(folder, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe.npz")
    status, _, err = call(capsys, folder, "-o", tmp_path / "pipe.npz", "--overwrite")
    assert (status, "is not a regular file" in err) == (2, True)
    assert (tmp_path / "pipe.npz").is_fifo()
