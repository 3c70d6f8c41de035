"""The one loop of all training runs: steps, log, curves, checkpoints, resuming.

Everything that happens at a step is a function of the seed and the step's number, so that a run
which is resumed, or spread over more processes, learns the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from torch.utils.data import DataLoader, Dataset, Sampler
from tqdm import tqdm

from sordino.errors import AudioError, OutputError
from sordino.training.importers.checkpoint import read_tensors
from sordino.training.launch import LOSS_SCALING, Hardware, is_first
from sordino.training.record import CHECKPOINT, LOG, Log

LONGEST_GRADIENT = 5.0
_NO_NUMBER = "the loss is no number any more; lower the learning rate"

Numbers = Mapping[str, float | torch.Tensor]
Step = Callable[[Any, int], Numbers]
After = Callable[[int], Mapping[str, float]]


@dataclass(frozen=True)
class LoopSettings:
    """What a loop is told; the same in all processes.

    Attributes:
        name: shown with the progress.
        folder: of the run: checkpoint, log.csv.
        steps: how many there are.
        batch: items in a step, over all processes.
        seed: decides, with the step, what networks draw.
        fields: columns of log.csv after "step".
        keep_every: steps between two checkpoints.
        hardware: what may be used.
        quiet: whether progress is not shown.
    """

    name: str
    folder: Path
    steps: int
    batch: int
    seed: int
    fields: tuple[str, ...]
    keep_every: int
    hardware: Hardware
    quiet: bool


def run_loop(
    fabric: Fabric,
    settings: LoopSettings,
    state: dict[str, Any],
    items: Dataset[Any],
    step: Step,
    *,
    collate: Callable[[list[Any]], Any] | None = None,
    after: After | None = None,
) -> None:
    """Train from the newest checkpoint, or from the start, to the last step.

    Args:
        fabric: of this process.
        settings: see `LoopSettings`.
        state: modules and optimizers that `fabric` has set up, and anything else with a
            `state_dict`; filled from the checkpoint, kept in it.
        items: item number `step * batch + place`, steps counted from 0.
        step: learns from a batch, which is on the device already. It gets the number of the step,
            from 1, and gives numbers for the log; of tensors, of which there is at least one, the
            mean over all processes is taken.
        collate: puts items together; named tuples of tensors become batches of their kind.
        after: called after each step in the first process; gives further numbers for the log.

    Raises:
        AudioError: a recording cannot be read.
        OutputError: what `step` raises where a loss is no number any more.
    """
    checkpoint = settings.folder / CHECKPOINT
    state |= {"precision": fabric.strategy.precision, "step": 0}
    if checkpoint.exists():
        read_tensors(checkpoint, str(checkpoint))
        fabric.load(checkpoint, state)
    loader = DataLoader(
        items,
        batch_sampler=StepSampler(
            state["step"],
            settings.steps,
            settings.batch,
            rank=fabric.global_rank,
            processes=fabric.world_size,
        ),
        num_workers=settings.hardware.workers,
        collate_fn=collate,
    )
    first = is_first(fabric)
    with (
        Log(settings.folder / LOG, ("step", *settings.fields), state["step"], active=first) as log,
        tqdm(
            total=settings.steps,
            initial=state["step"],
            desc=settings.name,
            unit="step",
            disable=settings.quiet or not first,
        ) as bar,
    ):
        for batch in _on_device(loader, fabric):
            state["step"] += 1
            number = state["step"]
            seed_step(settings.seed, number, fabric.global_rank)
            row = _averaged(fabric, step(batch, number))
            if first and after is not None:
                row |= after(number)
            # Before the checkpoint: on resuming, a line too many goes, one too few would not come.
            log.write({"step": number, **row})
            if number % settings.keep_every == 0 or number == settings.steps:
                keep(fabric, checkpoint, state)
            fabric.log_dict(row, step=number)
            bar.set_postfix({name: f"{row[name]:.3f}" for name in list(row)[:1]}, refresh=False)
            bar.update()
    fabric.logger.finalize("success")


class StepSampler(Sampler[list[int]]):
    """The numbers of one process's items, step by step.

    Args:
        first_step: where to begin.
        last_step: where to end, exclusive.
        batch: items in a step over all processes.
        rank: this process.
        processes: how many there are; each takes every so many-th item.

    Example:
        >>> list(StepSampler(1, 3, 4, rank=1, processes=2))
        [[5, 7], [9, 11]]
    """

    def __init__(
        self, first_step: int, last_step: int, batch: int, *, rank: int, processes: int
    ) -> None:
        self._steps = range(first_step, last_step)
        self._places = range(rank, batch, processes)
        self._batch = batch

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[list[int]]:
        for step in self._steps:
            yield [step * self._batch + place for place in self._places]


def seed_step(seed: int, step: int, rank: int) -> None:
    """Make what networks draw (dropout, first weights) a function of the step."""
    number = int(np.random.SeedSequence([seed, step, rank]).generate_state(1)[0])
    random.seed(number)
    np.random.seed(number)
    torch.manual_seed(number)


def descend(
    fabric: Fabric,
    network: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    loss: torch.Tensor,
    *,
    rate: float | None = None,
    longest: float = LONGEST_GRADIENT,
) -> None:
    """One update of a network, with its gradient cut to a length.

    Args:
        fabric: of this process.
        network: set up by it.
        optimizer: the same; of this network.
        loss: without dimensions.
        rate: the learning rate from now on; None to leave it.
        longest: to what the gradient is cut.

    Raises:
        OutputError: the loss or its gradient is no number any more.
    """
    if not torch.isfinite(loss):
        raise OutputError(_NO_NUMBER)
    if rate is not None:
        for group in optimizer.param_groups:
            group["lr"] = rate
    optimizer.zero_grad()
    fabric.backward(loss)
    norm = fabric.clip_gradients(network, optimizer, max_norm=longest, error_if_nonfinite=False)
    # A scaled loss may let gradients overflow: that step is left out, and the scale lowered.
    scaled = getattr(fabric.strategy.precision, "precision", "") == LOSS_SCALING
    if not scaled and norm is not None and not torch.isfinite(norm):
        raise OutputError(_NO_NUMBER)
    optimizer.step()


def keep(fabric: Fabric, checkpoint: Path, state: dict[str, Any]) -> None:
    """Write a checkpoint that is either complete or not there."""
    part = checkpoint.with_suffix(".part")
    fabric.save(part, state)
    fabric.barrier()
    if is_first(fabric):
        part.replace(checkpoint)
    fabric.barrier()


def kept_weights(folder: Path, name: str, prefix: str = "") -> dict[str, torch.Tensor]:
    """Weights from a run's newest checkpoint.

    Args:
        folder: of the run.
        name: which part of the loop's state.
        prefix: only those whose names begin so; it is taken off.

    Raises:
        UsageError: there is no checkpoint.
    """
    state = read_tensors(folder / CHECKPOINT, str(folder / CHECKPOINT))
    return {
        key[len(prefix) :]: value for key, value in state[name].items() if key.startswith(prefix)
    }


def _averaged(fabric: Fabric, row: Numbers) -> dict[str, float]:
    """Plain numbers, and means over all processes of what is a tensor."""
    tensors = {key: value for key, value in row.items() if isinstance(value, torch.Tensor)}
    means = fabric.all_reduce(torch.stack([value.detach().float() for value in tensors.values()]))
    assert isinstance(means, torch.Tensor)
    averages = dict(zip(tensors, means.tolist(), strict=True))
    return {key: averages.get(key, value) for key, value in row.items()}


def _on_device(loader: DataLoader[Any], fabric: Fabric) -> Iterator[Any]:
    try:
        for batch in loader:
            yield fabric.to_device(batch)
    except AudioError as error:
        # From a worker it comes with that process's traceback in its text.
        raise AudioError(str(error).strip().rpartition("AudioError: ")[2]) from error
