from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is in the extra train, not installed")
pytest.importorskip("lightning_fabric", reason="it is in the extra train, which is not installed")
pytest.importorskip("tensorboard", reason="it is in the extra train, which is not installed")

from sordino.errors import AudioError, OutputError, UsageError
from sordino.training.launch import (
    Hardware,
    check_batch,
    first_process,
    is_first,
    launch,
    launch_run,
    started_by_launcher,
)


def write_rank(fabric, folder):
    total = fabric.all_reduce(torch.tensor(float(fabric.global_rank + 1)), reduce_op="sum")
    text = f"{fabric.world_size} {is_first(fabric)} {int(total)}"
    (folder / str(fabric.global_rank)).write_text(text)


def fail(fabric, error):
    if fabric.global_rank == fabric.world_size - 1:
        raise error
    fabric.barrier()


def write_and_fail(fabric, folder):
    write_rank(fabric, folder)
    fabric.barrier()
    fail(fabric, OutputError("the disk is full: sorry"))


def products(fabric, found):
    layer = fabric.setup(Products())
    found.append(layer(torch.full((1, 4), 1.001)))


class Products(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.eye(4))

    def forward(self, numbers):
        return numbers, torch.matmul(numbers, self.weight)


def test_one_process_is_this_one(tmp_path):
    launch(Hardware("cpu"), tmp_path / "logs", write_rank, tmp_path)
    assert (tmp_path / "0").read_text() == "1 True 1"
    assert not started_by_launcher()
    assert first_process()


def test_two_processes_work_together_and_their_errors_are_raised(tmp_path):
    with pytest.raises(OutputError) as caught:
        launch(Hardware("cpu", devices=2), tmp_path / "logs", write_and_fail, tmp_path)
    assert str(caught.value) == "the disk is full: sorry"
    assert (tmp_path / "0").read_text() == "2 True 3"
    assert (tmp_path / "1").read_text() == "2 False 3"


@pytest.mark.parametrize("error", [AudioError("a.wav: no"), ValueError("a bug")])
def test_error_of_the_only_process_is_raised(tmp_path, error):
    with pytest.raises(type(error), match=str(error)):
        launch(Hardware("cpu"), tmp_path, fail, error)


def test_mixed_precision_leaves_inputs_as_they_are(tmp_path):
    found = []
    launch(Hardware("cpu", precision="bf16-mixed"), tmp_path, products, found)
    same, product = found[0]
    assert torch.equal(same, torch.full((1, 4), 1.001))
    assert torch.equal(product, torch.full((1, 4), 1.0))


@pytest.mark.parametrize(
    ("hardware", "told"),
    [
        (Hardware("abacus"), "this hardware cannot be used"),
        (Hardware("cpu", precision="8-bit"), "there is no precision '8-bit'; there are 32-true"),
        (Hardware("cpu", precision="16-mixed"), "16-mixed needs a GPU"),
    ],
)
def test_hardware_that_there_is_not_is_told(tmp_path, hardware, told):
    with pytest.raises(UsageError, match=told):
        launch(hardware, tmp_path, write_rank, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is such hardware here")
def test_gpu_that_there_is_not_is_told(tmp_path):
    with pytest.raises(UsageError, match="this hardware cannot be used"):
        launch(Hardware("cuda"), tmp_path, write_rank, tmp_path)


def test_processes_are_counted_over_all_machines():
    assert Hardware(devices=4, nodes=2).processes == 8


def test_what_models_run_on_before_training():
    devices = {name: Hardware(name).device for name in ("auto", "gpu", "cpu", "mps", "cuda")}
    assert devices == {"auto": "auto", "gpu": "auto", "cpu": "cpu", "mps": "cpu", "cuda": "cuda"}


@pytest.mark.parametrize("launcher", [False, True])
def test_a_run_is_prepared_before_it_is_learned(monkeypatch, tmp_path, launcher):
    told = []

    def ready():
        told.append("ready")
        return "crops"

    def here(hardware, logs, function, *arguments):
        assert logs == tmp_path / "curves"
        monkeypatch.undo()
        launch(hardware, logs, function, *arguments)

    monkeypatch.setattr("sordino.training.launch.launch", here)
    if launcher:
        monkeypatch.setattr("sordino.training.launch.started_by_launcher", lambda: True)
    launch_run(
        Hardware("cpu"),
        tmp_path,
        lambda: told.append("begin"),
        ready,
        lambda fabric, prepared: told.append(f"{fabric.world_size} learns {prepared}"),
    )
    assert told == ["begin", "ready", "1 learns crops"]


def test_a_batch_that_cannot_be_shared_is_told():
    check_batch(8, Hardware(devices=4), least=2)
    with pytest.raises(UsageError, match="batch of 9 cannot be shared by 4 processes evenly; set"):
        check_batch(9, Hardware(devices=2, nodes=2))
    with pytest.raises(UsageError, match="4 processes evenly, with 2 crops or more for each; set"):
        check_batch(4, Hardware(devices=4), least=2)
