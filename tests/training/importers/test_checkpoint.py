"""Foreign checkpoints: tensors, nothing else, and all of them."""

from __future__ import annotations

import pickle
import zipfile

import pytest

torch = pytest.importorskip("torch")
from torch import nn

from sordino.errors import UsageError
from sordino.training.importers.checkpoint import load_exactly, read_tensors


class Evil:
    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return (open, (str(self.place), "w"))


def test_plain_tensors(tmp_path):
    torch.save({"a": torch.arange(3), "b": {"c": torch.ones(2)}}, tmp_path / "x.pt")
    content = read_tensors(tmp_path / "x.pt", "x")
    assert content["a"].tolist() == [0, 1, 2]
    assert content["b"]["c"].tolist() == [1, 1]
    with (tmp_path / "x.pt").open("rb") as file:
        assert read_tensors(file, "x").keys() == {"a", "b"}


@pytest.mark.parametrize("new", [True, False], ids=["zip", "legacy"])
def test_code_in_a_checkpoint_is_not_run(tmp_path, new):
    place = tmp_path / "made"
    torch.save({"a": Evil(place)}, tmp_path / "x.pt", _use_new_zipfile_serialization=new)
    with pytest.raises(UsageError, match="x: is no checkpoint of plain tensors"):
        read_tensors(tmp_path / "x.pt", "x")
    assert not place.exists()
    (tmp_path / "y.pt").write_bytes(pickle.dumps(Evil(place), protocol=2))
    with pytest.raises(UsageError, match="y: is no checkpoint of plain tensors"):
        read_tensors(tmp_path / "y.pt", "y")
    assert not place.exists()


def test_other_ways_to_pickle_are_refused_without_a_warning(tmp_path):
    (tmp_path / "x.pt").write_bytes(pickle.dumps(Evil(tmp_path / "made"), protocol=4))
    with pytest.raises(UsageError, match=r"no checkpoint of plain tensors \(UnpicklingError\)"):
        read_tensors(tmp_path / "x.pt", "x")


@pytest.mark.parametrize("content", [b"", b"no pickle", b"\x80\x02", None], ids=repr)
def test_what_is_no_checkpoint(tmp_path, content):
    if content is not None:
        (tmp_path / "x.pt").write_bytes(content)
    with pytest.raises(UsageError, match="x: is no checkpoint of plain tensors"):
        read_tensors(tmp_path / "x.pt", "x")


def test_a_damaged_archive(tmp_path):
    torch.save({"a": torch.zeros(1000)}, tmp_path / "x.pt")
    data = (tmp_path / "x.pt").read_bytes()
    (tmp_path / "x.pt").write_bytes(data[: len(data) // 2])
    with pytest.raises(UsageError, match="x: is no checkpoint of plain tensors"):
        read_tensors(tmp_path / "x.pt", "x")
    with zipfile.ZipFile(tmp_path / "z.pt", "w") as archive:
        archive.writestr("other", "text")
    with pytest.raises(UsageError, match="z: is no checkpoint of plain tensors"):
        read_tensors(tmp_path / "z.pt", "z")


def test_single_wrong_bytes(tmp_path):
    """Never anything but what was kept, other numbers, or a clear error."""
    torch.save({"a": torch.zeros(3)}, tmp_path / "x.pt", _use_new_zipfile_serialization=False)
    data = (tmp_path / "x.pt").read_bytes()
    failed = 0
    for place in range(0, len(data), 2):
        (tmp_path / "x.pt").write_bytes(data[:place] + b"h" + data[place + 1 :])
        try:
            read_tensors(tmp_path / "x.pt", "x")
        except UsageError:
            failed += 1
    assert failed > len(data) / 8


def test_tensors_without_names(tmp_path):
    torch.save([torch.zeros(2)], tmp_path / "x.pt")
    with pytest.raises(UsageError, match="x: holds list; expected named tensors"):
        read_tensors(tmp_path / "x.pt", "x")


def test_load_exactly():
    source, target = (nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)) for _ in range(2))
    weights = source.state_dict()
    without = {k: v for k, v in weights.items() if k != "1.num_batches_tracked"}
    load_exactly(target, without, "x")
    assert torch.equal(target[0].weight, source[0].weight)
    for change, message in [
        ({"0.weight": None}, "x: has no weights for 0.weight"),
        ({"2.weight": torch.zeros(1)}, "x: 2.weight has no place in the network"),
        ({"0.bias": torch.zeros(3)}, r"x: 0.bias has shape \(3,\); expected \(2,\)"),
    ]:
        changed = {k: v for k, v in {**weights, **change}.items() if v is not None}
        with pytest.raises(UsageError, match=message):
            load_exactly(target, changed, "x")
