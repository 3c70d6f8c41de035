"""The loop: sampler, log, checkpoints, resuming, gradients."""

from __future__ import annotations

import csv
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("lightning_fabric", reason="needs the extra train")
pytest.importorskip("tensorboard", reason="needs the extra train")

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils.data import Dataset

from sordino.errors import OutputError, UsageError
from sordino.training.launch import Hardware, launch
from sordino.training.loop import (
    LoopSettings,
    StepSampler,
    descend,
    kept_weights,
    run_loop,
)
from sordino.training.record import CHECKPOINT, LOG, settle


class TestSampler:
    @given(
        batch=st.integers(1, 16),
        processes=st.integers(1, 5),
        first=st.integers(0, 10),
        steps=st.integers(0, 5),
    )
    @hypothesis_settings(deadline=None)
    def test_processes_share_the_batch_of_one(self, batch, processes, first, steps):
        def of(rank, count):
            return list(StepSampler(first, first + steps, batch, rank=rank, processes=count))

        alone = of(0, 1)
        shared = [of(rank, processes) for rank in range(processes)]
        together = [sorted(chain.from_iterable(parts)) for parts in zip(*shared, strict=True)]
        assert together == alone
        assert [number for step in alone for number in step] == list(
            range(first * batch, (first + steps) * batch)
        )

    def test_begins_where_a_run_was_cut_off(self):
        whole = list(StepSampler(0, 7, 4, rank=0, processes=2))
        rest = StepSampler(3, 7, 4, rank=0, processes=2)
        assert list(rest) == whole[3:]
        assert len(rest) == 4


class Point(NamedTuple):
    x: Tensor
    y: Tensor


class Line(Dataset):
    """Points of y = 3x + 1."""

    def __getitem__(self, number: int) -> Point:
        x = torch.tensor([(number * 7 % 11) / 11.0])
        return Point(x, 3 * x + 1)


def fit(fabric, folder: Path, steps: int, batch: int = 4, stop: int = 0) -> None:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(1, 8), nn.Dropout(0.1), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    network, optimizer = fabric.setup(network, optimizer)

    def step(points: Point, number: int) -> dict[str, Tensor]:
        if number == stop:
            raise KeyboardInterrupt
        loss = (network(points.x) - points.y).square().mean()
        descend(fabric, network, optimizer, loss)
        return {"total": loss}

    def after(number: int) -> dict[str, float]:
        return {"checked": float(number)} if number % 5 == 0 else {}

    settings = LoopSettings(
        "line", folder, steps, batch, 3, ("total", "checked"), 10, Hardware(workers=0), quiet=True
    )
    state = {"network": network, "optimizer": optimizer}
    run_loop(fabric, settings, state, Line(), step, after=after)


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / LOG).open(newline="") as file:
        return list(csv.DictReader(file))


def test_learns_and_logs(tmp_path: Path) -> None:
    launch(Hardware(workers=0), tmp_path, fit, tmp_path, 60)
    found = rows(tmp_path)
    assert [int(row["step"]) for row in found] == list(range(1, 61))
    assert float(found[-1]["total"]) < 0.1 * float(found[0]["total"])
    assert [row["checked"] for row in found[3:6]] == ["", "5.0", ""]
    weights = kept_weights(tmp_path, "network", "0.")
    assert set(weights) == {"weight", "bias"}


def test_a_run_cut_short_goes_on_to_the_same_losses(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for folder in (whole, parts):
        folder.mkdir()
    launch(Hardware(workers=0), whole, fit, whole, 30)
    with pytest.raises(KeyboardInterrupt):
        launch(Hardware(workers=0), parts, fit, parts, 30, 4, 17)
    assert len(rows(parts)) == 16
    launch(Hardware(workers=0), parts, fit, parts, 30)
    assert rows(parts) == rows(whole)


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / CHECKPOINT).write_bytes(b"nothing")
    with pytest.raises(UsageError, match="is no checkpoint"):
        launch(Hardware(workers=0), tmp_path, fit, tmp_path, 3)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_ends_the_run(tmp_path: Path, value: float) -> None:
    def diverge(fabric) -> None:
        network = nn.Linear(1, 1)
        network, optimizer = fabric.setup(network, torch.optim.SGD(network.parameters(), 1e-3))
        descend(fabric, network, optimizer, network(torch.tensor([[value]])).sum())

    with pytest.raises(OutputError, match="no number"):
        launch(Hardware(workers=0), tmp_path, diverge)


def test_gradients_are_cut_and_the_rate_is_set(tmp_path: Path) -> None:
    def once(fabric) -> None:
        network = nn.Linear(1, 1, bias=False)
        before = network.weight.item()
        network, optimizer = fabric.setup(network, torch.optim.SGD(network.parameters(), 1e-3))
        loss = network(torch.tensor([[1000.0]])).sum()
        descend(fabric, network, optimizer, loss, rate=0.5, longest=2.0)
        moved.append(before - network.weight.item())

    moved: list[float] = []
    launch(Hardware(workers=0), tmp_path, once)
    assert moved == [pytest.approx(1.0, rel=1e-5)]


def test_settle_tells_runs_apart(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    settle({"steps": 2}, {"utterances": 3}, folder, resume=False)
    settle({"steps": 2}, {"utterances": 3}, folder, resume=True)
    with pytest.raises(UsageError, match="holds a run; go on with --resume"):
        settle({"steps": 2}, {"utterances": 3}, folder, resume=False)
    with pytest.raises(UsageError, match="another recipe"):
        settle({"steps": 3}, {"utterances": 3}, folder, resume=True)
    with pytest.raises(UsageError, match="other data"):
        settle({"steps": 2}, {"utterances": 4}, folder, resume=True)
    with pytest.raises(UsageError, match="no run that could be resumed"):
        settle({"steps": 2}, {"utterances": 3}, tmp_path / "other", resume=True)
