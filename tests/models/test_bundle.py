from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path

import numpy as np
import pytest

from sordino.errors import OutputError, UsageError
from sordino.models.bundle import Bundle, write_bundle
from tests.encoders import graph, metadata, write_encoder
from tests.helpers import open_folder, ordinary_user, tree


@pytest.fixture
def folder(tmp_path) -> Path:
    return write_encoder(tmp_path / "tiny").folder


def change(folder: Path, **changes: object) -> None:
    path = folder / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_written_and_read_again(folder):
    bundle = Bundle.load(folder)
    assert bundle.name == "mean-energy"
    assert bundle.kind == "speaker-encoder"
    assert bundle.licence == "CC0-1.0"
    assert bundle.summary.startswith("Mean, deviation")
    assert bundle.metadata["training"] == {"none": True}
    assert bundle.card == "# Energies\n"
    assert sorted(bundle.files) == ["CARD.md", "encoder.onnx"]
    assert bundle.files["encoder.onnx"].sha256 == hashlib.sha256(graph()).hexdigest()
    assert bundle.path("encoder.onnx").read_bytes() == graph()
    assert bundle.size == len(graph()) + len(b"# Energies\n")
    assert bundle.integer("dimension") == 3
    assert bundle.integer("maximum_samples", default=7) == 7


def test_only_the_bundle_is_left_and_others_may_read_it(tmp_path):
    before = os.umask(0o022)
    try:
        folder = write_encoder(tmp_path / "new/tiny").folder
    finally:
        os.umask(before)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["tiny"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    assert stat.S_IMODE((folder / "encoder.onnx").stat().st_mode) == 0o644


def test_files_can_be_copied_and_lie_in_folders(tmp_path):
    (tmp_path / "source").write_bytes(b"abc")
    files = {"CARD.md": b"", "parts/one.npz": tmp_path / "source"}
    bundle = write_bundle(tmp_path / "out", metadata(), files)
    assert bundle.path("parts/one.npz").read_bytes() == b"abc"


def test_a_flipped_bit_is_found(folder):
    sound = (folder / "encoder.onnx").read_bytes()
    for position in (0, len(sound) // 2, len(sound) - 1):
        for bit in range(8):
            data = bytearray(sound)
            data[position] ^= 1 << bit
            (folder / "encoder.onnx").write_bytes(data)
            with pytest.raises(UsageError, match=r"encoder.onnx is damaged: its SHA-256") as caught:
                Bundle.load(folder)
            assert "\n" not in str(caught.value)
    (folder / "encoder.onnx").write_bytes(sound)
    assert Bundle.load(folder).name == "mean-energy"


@pytest.mark.parametrize("size", [0, 10])
def test_a_cut_file_is_found(folder, size):
    os.truncate(folder / "encoder.onnx", size)
    with pytest.raises(UsageError, match=rf"has {size} bytes instead of {len(graph())}"):
        Bundle.load(folder)


def test_missing_files_and_folders(folder, tmp_path):
    (folder / "encoder.onnx").unlink()
    with pytest.raises(UsageError, match=r"encoder.onnx: No such file"):
        Bundle.load(folder)
    for path in (tmp_path, tmp_path / "nowhere", folder / "CARD.md"):
        with pytest.raises(UsageError, match=r"is not a model|Not a directory"):
            Bundle.load(path)


def test_surplus_files_are_left_alone(folder):
    digest = Bundle.load(folder).digest
    (folder / "README.md").write_text("by somebody else")
    (folder / "more").mkdir()
    assert Bundle.load(folder).digest == digest
    with pytest.raises(UsageError, match=r"it has no file README.md"):
        Bundle.load(folder).path("README.md")


def test_links_out_of_the_folder_are_refused(folder, tmp_path):
    graph_file = folder / "encoder.onnx"
    graph_file.rename(tmp_path / "outside.onnx")
    graph_file.symlink_to(tmp_path / "outside.onnx")
    with pytest.raises(UsageError, match="link out of the model's folder"):
        Bundle.load(folder)
    graph_file.unlink()
    (tmp_path / "outside.onnx").rename(folder / "inside.onnx")
    graph_file.symlink_to("inside.onnx")
    assert Bundle.load(folder).name == "mean-energy"


def test_a_folder_of_the_hub_cache_may_link_to_its_contents(folder, tmp_path):
    blobs, snapshot = tmp_path / "models--a--b/blobs", tmp_path / "models--a--b/snapshots/01ab"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for number, path in enumerate(sorted(folder.iterdir())):
        path.rename(blobs / str(number))
        (snapshot / path.name).symlink_to(f"../../blobs/{number}")
    assert Bundle.load(snapshot).name == "mean-energy"
    (blobs / "1").rename(tmp_path / "out")
    (blobs / "1").symlink_to(tmp_path / "out")
    with pytest.raises(UsageError, match="link out"):
        Bundle.load(snapshot)


def test_a_link_to_the_whole_folder_is_fine(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    assert Bundle.load(tmp_path / "link").name == "mean-energy"


def test_a_pipe_is_not_waited_for(folder):
    (folder / "encoder.onnx").unlink()
    os.mkfifo(folder / "encoder.onnx")
    with pytest.raises(UsageError, match="not a regular file"):
        Bundle.load(folder)


@pytest.mark.parametrize(
    "name", ["../x", "/etc/passwd", "a/../b", "", ".", "a//b", "a\\b", "model.json", ".x", "c:x"]
)
def test_names_that_leave_the_folder_are_refused(folder, tmp_path, name):
    files = json.loads((folder / "model.json").read_text())["files"]
    change(folder, files=files | {name: {"sha256": "0" * 64, "bytes": 0}})
    with pytest.raises(UsageError, match="cannot be part of a model"):
        Bundle.load(folder)
    before = tree(tmp_path)
    with pytest.raises(UsageError, match="cannot be part of a model"):
        write_bundle(tmp_path / "out", metadata(), {"CARD.md": b"", name: b"x"})
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "another"}, "does not describe a model"),
        ({"version": 2}, "has version 2, and this sordino reads up to 1; install a later one"),
        ({"version": 0}, "no valid version"),
        ({"version": True}, "no valid version"),
        ({"version": "1"}, "no valid version"),
        ({"kind": ""}, "no text 'kind'"),
        ({"licence": None}, "no text 'licence'"),
        ({"name": "../up"}, "no plain file name"),
        ({"files": []}, "no list of files"),
        ({"files": {}}, "names no model card"),
        ({"files": {"CARD.md": {"sha256": "00", "bytes": 1}}}, "no SHA-256 for CARD.md"),
        ({"files": {"CARD.md": None}}, "no SHA-256 for CARD.md"),
        ({"files": {"CARD.md": {"sha256": "0" * 64, "bytes": -1}}}, "no size for CARD.md"),
        ({"files": {"CARD.md": {"sha256": "0" * 64, "bytes": True}}}, "no size for CARD.md"),
    ],
)
def test_wrong_metadata(folder, changes, message):
    change(folder, **changes)
    with pytest.raises(UsageError, match=message) as caught:
        Bundle.load(folder)
    assert str(caught.value).startswith(f"model {folder}: model.json")


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b" " * 2_000_000])
def test_damaged_metadata(folder, text):
    (folder / "model.json").write_bytes(text)
    with pytest.raises(UsageError, match=r"damaged|does not describe|larger") as caught:
        Bundle.load(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [None, 0, -1, 1.5, True, "3"])
def test_numbers_of_the_metadata_are_checked(tmp_path, value):
    bundle = write_encoder(tmp_path / "tiny", dimension=value)
    with pytest.raises(UsageError, match="no whole number above 0 as dimension"):
        bundle.integer("dimension")


def test_the_digest_follows_what_decides_results(tmp_path):
    def digest(place: str, **options: object) -> str:
        return write_encoder(tmp_path / place, **options).digest

    first = digest("first")
    assert digest("card", card="# other\n") == first
    assert digest("words", summary="Other words.", licence="MIT", figures={"eer": 1}) == first
    assert digest("name", name="other") == first
    assert digest("graph", encoder=graph(frame=80)) != first
    assert digest("minimum", minimum_samples=401) != first
    assert digest("more", something="else") != first


def test_arrays_hold_no_pickle(tmp_path):
    np.savez(tmp_path / "good.npz", a=np.arange(3), b=np.array(["x"]))
    np.savez(tmp_path / "bad.npz", a=np.array([{}], dtype=object))
    np.save(tmp_path / "single.npy", np.arange(3))
    files = {
        "CARD.md": b"",
        "good.npz": tmp_path / "good.npz",
        "bad.npz": tmp_path / "bad.npz",
        "single.npz": tmp_path / "single.npy",
        "junk.npz": b"PK\x03\x04 junk",
        "empty.npz": b"",
    }
    bundle = write_bundle(tmp_path / "out", metadata(), files)
    arrays = bundle.arrays("good.npz")
    assert arrays["a"].tolist() == [0, 1, 2]
    assert arrays["b"].tolist() == ["x"]
    for name in ("bad.npz", "single.npz", "junk.npz", "empty.npz"):
        with pytest.raises(UsageError, match=f"{name} is not an NPZ archive of plain arrays"):
            bundle.arrays(name)


def test_a_bundle_is_replaced_only_when_told(folder):
    before = tree(folder)
    with pytest.raises(OutputError, match="exists already"):
        write_encoder(folder, card="# new\n")
    assert tree(folder) == before
    bundle = write_bundle(folder, metadata(), {"CARD.md": b"# new\n"}, replace=True)
    assert sorted(tree(folder)) == ["CARD.md", "model.json"]
    assert bundle.card == "# new\n"
    assert [path.name for path in folder.parent.iterdir()] == ["tiny"]


def test_what_is_not_a_bundle_is_never_replaced(folder, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home/letter").write_text("dear")
    (tmp_path / "file").write_text("text")
    (tmp_path / "link").symlink_to(folder)
    before = tree(tmp_path)
    for name in ("home", "file", "link"):
        with pytest.raises(OutputError, match="is not replaced"):
            write_bundle(tmp_path / name, metadata(), {"CARD.md": b""}, replace=True)
    assert tree(tmp_path) == before


def test_nothing_is_left_of_a_bundle_that_fails(tmp_path):
    missing = {"CARD.md": b"", "graph.onnx": tmp_path / "nowhere"}
    with pytest.raises(OutputError, match="No such file"):
        write_bundle(tmp_path / "out", metadata(), missing)
    with pytest.raises(UsageError, match="names no model card"):
        write_bundle(tmp_path / "out", metadata(), {})
    with pytest.raises(UsageError, match="cannot be written as JSON"):
        write_bundle(tmp_path / "out", metadata(figures=np.float32(1)), {"CARD.md": b""})
    with pytest.raises(UsageError, match="cannot be written as JSON"):
        write_bundle(tmp_path / "out", metadata(figures=float("nan")), {"CARD.md": b""})
    with pytest.raises(UsageError, match="version is not given, but filled in"):
        write_bundle(tmp_path / "out", metadata(version=1), {"CARD.md": b""})
    with pytest.raises(UsageError, match="a name that is no plain file name: 'new/out'"):
        write_bundle(tmp_path / "new/out", metadata(name="new/out"), {"CARD.md": b""})
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written():
    with open_folder() as place:
        (place / "closed").mkdir(mode=0o555)
        with ordinary_user(), pytest.raises(OutputError, match="Permission denied"):
            write_encoder(place / "closed/tiny")


def test_a_failed_replacement_puts_the_old_one_back(folder, monkeypatch):
    before, rename = tree(folder), Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.name.endswith(".part"):
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(OutputError, match="No space left"):
        write_bundle(folder, metadata(), {"CARD.md": b"# new\n"}, replace=True)
    assert tree(folder) == before
    assert [path.name for path in folder.parent.iterdir()] == ["tiny"]
