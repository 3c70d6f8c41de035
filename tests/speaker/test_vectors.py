from __future__ import annotations

import os
import stat
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sordino.corpus.speakers import by_folder, by_table
from sordino.errors import OutputError, UsageError
from sordino.speaker.base import mean_vector
from sordino.speaker.encoders import OnnxEncoder
from sordino.speaker.vectors import Vectors
from sordino.speaker.vectors_files import (
    FORMATS,
    files_of,
    format_name_of,
    read_vectors,
    write_vectors,
)
from sordino.speaker.vectors_jobs import Task, attempt, collected, gather
from tests.encoders import write_encoder
from tests.helpers import open_folder, ordinary_user, write_voice


def vectors(rows: int = 4, dimension: int = 3, keys: tuple[str, ...] | None = None) -> Vectors:
    keys = keys or tuple(f"anna/{row}" for row in range(rows))
    speakers = tuple(f"speaker {row % 2}" for row in range(len(keys)))
    values = np.random.default_rng(0).normal(size=(len(keys), dimension)).astype(np.float32)
    return Vectors(keys, tuple(f"{key}.wav" for key in keys), speakers, values, "tiny", "ab" * 32)


def same(one: Vectors, other: Vectors) -> None:
    assert (one.keys, one.paths, one.speakers) == (other.keys, other.paths, other.speakers)
    assert (one.encoder, one.digest) == (other.encoder, other.digest)
    assert one.vectors.dtype == other.vectors.dtype == np.float32
    np.testing.assert_array_equal(one.vectors, other.vectors)


@pytest.fixture
def work(tmp_path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def test_rows_must_agree():
    good = vectors()
    with pytest.raises(UsageError, match="as many rows"):
        Vectors(good.keys, good.paths[:-1], good.speakers, good.vectors)
    with pytest.raises(UsageError, match="as many rows"):
        Vectors(good.keys, good.paths, good.speakers, good.vectors[0])
    with pytest.raises(UsageError, match="same key"):
        Vectors(("a",) * 4, good.paths, good.speakers, good.vectors)


def test_per_speaker():
    utterances = vectors(5)
    speakers = utterances.per_speaker()
    assert speakers.keys == speakers.speakers == ("speaker 0", "speaker 1")
    assert speakers.paths == ("", "")
    assert (speakers.encoder, speakers.digest) == ("tiny", "ab" * 32)
    np.testing.assert_allclose(speakers.vectors[0], mean_vector(utterances.vectors[::2]), rtol=1e-6)
    np.testing.assert_allclose(
        speakers.vectors[1], mean_vector(utterances.vectors[1::2]), rtol=1e-6
    )


def test_npz_is_plain_numpy(tmp_path, work):
    write_vectors(vectors(), tmp_path / "out.npz", "npz", work)
    with np.load(tmp_path / "out.npz", allow_pickle=False) as archive:
        assert sorted(archive.files) == [
            "digest",
            "encoder",
            "keys",
            "paths",
            "speakers",
            "vectors",
        ]
        assert archive["keys"].dtype.kind == "U"
        assert archive["paths"].tolist() == [f"anna/{row}.wav" for row in range(4)]
        assert archive["encoder"].item() == "tiny"
        np.testing.assert_array_equal(archive["vectors"], vectors().vectors)
    assert list(work.iterdir()) == []


def test_hdf5_as_h5py_reads_it(tmp_path, work):
    h5py = pytest.importorskip("h5py", reason="h5py (extra formats) is not installed")
    write_vectors(vectors(), tmp_path / "out.h5", "hdf5", work)
    with h5py.File(tmp_path / "out.h5") as file:
        np.testing.assert_array_equal(file["vectors"][...], vectors().vectors)
        assert list(file["speakers"].asstr()[...]) == list(vectors().speakers)
        assert file.attrs["encoder"] == "tiny"


def test_ark_as_another_library_reads_it(tmp_path, work):
    kaldiio = pytest.importorskip("kaldiio", reason="kaldiio is not installed")
    some = vectors(keys=("b/2", "a/1", "ä/3", "a b/4%"))
    write_vectors(some, tmp_path / "out dir.ark", "ark", work)
    rows = dict(zip(some.keys, some.vectors, strict=True))
    names = {"a%20b/4%25": "a b/4%", "a/1": "a/1", "b/2": "b/2", "ä/3": "ä/3"}
    read = dict(kaldiio.load_ark(str(tmp_path / "out dir.ark")))
    assert list(read) == list(names)  # sorted as bytes
    listed = kaldiio.load_scp(str(tmp_path / "out dir.scp"))
    assert list(listed) == list(names)
    for key, name in names.items():
        np.testing.assert_array_equal(read[key], rows[name])
        np.testing.assert_array_equal(listed[key], rows[name])
    lines = (tmp_path / "out dir.utt2spk").read_text().splitlines()
    assert lines[0] == "a%20b/4%25 speaker%201"
    assert str(tmp_path / "out dir.ark") in (tmp_path / "out dir.scp").read_text()


def test_ark_of_another_library_is_read(tmp_path):
    kaldiio = pytest.importorskip("kaldiio", reason="kaldiio is not installed")
    rows = {"a": np.arange(3, dtype=np.float32), "b": -np.arange(3, dtype=np.float32)}
    kaldiio.save_ark(str(tmp_path / "other.ark"), rows)
    read = read_vectors(tmp_path / "other.ark")
    assert (read.keys, read.speakers, read.paths) == (("a", "b"), ("", ""), ("", ""))
    np.testing.assert_array_equal(read.vectors, list(rows.values()))
    for changed in ({"a": np.eye(2, dtype=np.float32)}, {"a": np.arange(3.0)}):
        kaldiio.save_ark(str(tmp_path / "other.ark"), changed)
        with pytest.raises(UsageError, match="not a binary vector of single floats"):
            read_vectors(tmp_path / "other.ark")


names = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=8
)


@pytest.mark.parametrize("name", FORMATS)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(keys=st.lists(names, min_size=1, max_size=5, unique=True))
def test_what_is_written_is_read(tmp_path, name, keys):
    if name == "hdf5":
        pytest.importorskip("h5py", reason="h5py (extra formats) is not installed")
    (tmp_path / "work").mkdir(exist_ok=True)
    path = tmp_path / f"out{FORMATS[name].suffixes[0]}"
    written = vectors(keys=tuple(keys))
    write_vectors(written, path, name, tmp_path / "work")
    read = read_vectors(path)
    if name == "ark":  # sorted, without paths and the encoder's name
        order = [read.keys.index(key) for key in keys]
        assert tuple(read.speakers[row] for row in order) == written.speakers
        np.testing.assert_array_equal(read.vectors[order], written.vectors)
    else:
        same(read, written)


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files_are_one_line(tmp_path, work, name):
    if name == "hdf5":
        pytest.importorskip("h5py", reason="h5py (extra formats) is not installed")
    path = tmp_path / f"out{FORMATS[name].suffixes[0]}"
    write_vectors(vectors(), path, name, work)
    sound = path.read_bytes()
    damaged = [b"", b"junk", b"x" * 100_000, sound[: len(sound) // 2 + 3]]
    # A table of text that lacks its last digits is a table.
    damaged += [] if name == "csv" else [sound[:-2]]
    for data in damaged:
        path.write_bytes(data)
        with pytest.raises(UsageError, match=f"{path}: ") as caught:
            read_vectors(path)
        assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="there is no such file"):
        read_vectors(tmp_path / f"nothing{path.suffix}")


def test_pickles_and_numbers_that_are_none_are_refused(tmp_path):
    path = tmp_path / "out.npz"
    good = {name: np.array(["a"]) for name in ("keys", "paths", "speakers", "encoder", "digest")}
    for wrong in (
        {"vectors": np.array([[{}]], dtype=object)},
        {"vectors": np.array([[np.nan]], dtype=np.float32)},
        {"vectors": np.array([[1]])},
        {"vectors": np.ones((2, 2), dtype=np.float32)},
        {},
    ):
        np.savez(path, **good, **wrong)
        with pytest.raises(UsageError, match=r"out\.npz"):
            read_vectors(path)
    np.savez(tmp_path / "good.npz", **good, vectors=np.ones((1, 2)))
    assert read_vectors(tmp_path / "good.npz").vectors.dtype == np.float32


def test_formats_by_name():
    assert format_name_of(Path("a.NPZ")) == "npz"
    assert format_name_of(Path("a.txt"), "ark") == "ark"
    with pytest.raises(UsageError, match="its ending names no format"):
        format_name_of(Path("a.txt"))
    with pytest.raises(UsageError, match="there is no format 'pt'"):
        format_name_of(Path("a.npz"), "pt")
    assert files_of(Path("x/a.ark"), "ark") == tuple(
        map(Path, ("x/a.ark", "x/a.utt2spk", "x/a.scp"))
    )
    assert files_of(Path("x/a"), "ark")[2] == Path("x/a.scp")
    assert files_of(Path("a.npz"), "npz") == (Path("a.npz"),)


def test_without_h5py(monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(UsageError, match=r'pip install "sordino\[formats\]"'):
        format_name_of(Path("out.h5"))


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, work, monkeypatch):
    path = tmp_path / "out.npz"
    write_vectors(vectors(), path, "npz", work)
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda number: (_ for _ in ()).throw(OSError(28, "No space")))
    with pytest.raises(OutputError, match=r"out\.npz: cannot be written: No space"):
        write_vectors(vectors(5), path, "npz", work)
    assert path.read_bytes() == before


def test_a_folder_that_cannot_be_written():
    with open_folder() as place:
        (place / "closed").mkdir()
        (place / "work").mkdir()
        (place / "work").chmod(0o777)
        (place / "closed").chmod(0o555)
        with ordinary_user(), pytest.raises(OutputError, match="Permission denied"):
            write_vectors(vectors(), place / "closed/out.npz", "npz", place / "work")
        assert stat.S_IMODE((place / "closed").stat().st_mode) == 0o555


def test_gather_a_folder(tmp_path):
    for name in ("b/2.wav", "b/1.flac", "a/1.wav"):
        write_voice(tmp_path / "in" / name, 0.1)
    (tmp_path / "in/readme.txt").write_text("")
    found = gather([tmp_path / "in"], by_folder)
    assert [(task.name, task.speaker) for task in found.tasks] == [
        ("a/1.wav", "a"),
        ("b/1.flac", "b"),
        ("b/2.wav", "b"),
    ]
    assert found.tasks[0].source == tmp_path / "in/a/1.wav"
    assert found.ignored == Counter({".txt": 1, "hidden": 0})


def test_gather_several(tmp_path):
    for name in ("x/a/1.wav", "y/a/1.wav", "3.wav"):
        write_voice(tmp_path / name, 0.1)
    found = gather([tmp_path / "x", tmp_path / "y", tmp_path / "3.wav"], by_folder)
    assert [task.name for task in found.tasks] == ["3.wav", "x/a/1.wav", "y/a/1.wav"]
    with pytest.raises(UsageError, match=r"would both be called 1\.wav"):
        gather([tmp_path / "x/a/1.wav", tmp_path / "y/a/1.wav"], by_folder)
    with pytest.raises(UsageError, match="no such file or folder"):
        gather([tmp_path / "z"], by_folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no recordings found"):
        gather([tmp_path / "empty"], by_folder)


def test_gather_what_a_table_selects(tmp_path):
    for name in ("1.wav", "2.wav"):
        write_voice(tmp_path / "in" / name, 0.1)
    table = tmp_path / "in/table.csv"
    table.write_text("path,speaker,split\n1.wav,anna,test\n2.wav,ben,dev\n")
    found = gather([tmp_path / "in"], by_table(table, [("split", "test")]))
    assert [task.speaker for task in found.tasks] == ["anna"]
    assert found.left_out == 1


def test_names_that_are_no_text(tmp_path):
    name = os.fsdecode(b"b\xff.wav")
    write_voice(tmp_path / "in/a.wav", 0.1).rename(tmp_path / "in" / name)
    (task,) = gather([tmp_path / "in"], by_folder).tasks
    assert task.name == "b\\xff.wav"
    assert task.source.exists()


def test_one_recording(tmp_path):
    encoder = OnnxEncoder(write_encoder(tmp_path / "tiny"))
    told: list[float] = []
    path = write_voice(tmp_path / "a.wav", 10, channels=2)
    outcome = attempt(encoder, Task(path, "a.wav", "a"), told.append)
    np.testing.assert_array_equal(outcome.vector, encoder.embed_file(path))
    assert outcome.seconds == pytest.approx(sum(told)) == pytest.approx(10)
    assert len(told) > 1


def test_every_failure_is_a_reason(tmp_path, monkeypatch):
    encoder = OnnxEncoder(write_encoder(tmp_path / "tiny"))
    (tmp_path / "empty.wav").write_bytes(b"")
    outcome = attempt(encoder, Task(tmp_path / "empty.wav", "empty.wav", "a"), lambda _: None)
    assert (outcome.vector, outcome.reason) == (None, "is empty (0 bytes)")
    path = write_voice(tmp_path / "a.wav", 0.5)
    for error, reason in (
        (MemoryError(), "out of memory"),
        (OSError(5, "Input/output error"), "Input/output error"),
        (KeyError("x"), "internal error, please report it (KeyError: 'x')"),
    ):
        monkeypatch.setattr(
            OnnxEncoder, "embed_blocks", lambda *_, error=error: (_ for _ in ()).throw(error)
        )
        assert attempt(encoder, Task(path, "a.wav", "a"), lambda _: None).reason == reason


def test_keys_have_no_ending_unless_they_need_one(tmp_path):
    encoder = OnnxEncoder(write_encoder(tmp_path / "tiny"))
    files = ["b/1.wav", "a/1.wav", "a/1.flac", "a/2.b.wav", "a/3", "a/3.wav"]
    rows = [
        (Task(Path(name), name, name[0]), np.full(3, row, np.float32))
        for row, name in enumerate(files)
    ]
    table = collected(rows, encoder)
    assert table.paths == tuple(sorted(files))
    assert table.keys == ("a/1.flac", "a/1.wav", "a/2.b", "a/3", "a/3.wav", "b/1")
    assert table.vectors[:, 0].tolist() == [2, 1, 3, 4, 5, 0]
    assert table.speakers == ("a",) * 5 + ("b",)
    assert (table.encoder, table.digest) == (encoder.name, encoder.digest)


def test_a_file_that_is_no_archive_is_told_without_advice_to_trust_it(tmp_path):
    (tmp_path / "junk.npz").write_text("junk")
    with pytest.raises(UsageError, match=r"junk\.npz: is not an NPZ of plain arrays"):
        read_vectors(tmp_path / "junk.npz")
