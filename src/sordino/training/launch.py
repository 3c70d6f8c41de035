"""Processes, devices and precision, by Lightning Fabric."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch
from lightning_fabric import Fabric
from lightning_fabric.loggers.tensorboard import TensorBoardLogger
from lightning_fabric.plugins import MixedPrecision, Precision
from lightning_fabric.utilities.rank_zero import rank_zero_only
from torch.multiprocessing.spawn import ProcessRaisedException

from sordino import errors
from sordino.errors import SordinoError, UsageError

LOSS_SCALING: Final = "16-mixed"
PRECISIONS = ("32-true", LOSS_SCALING, "bf16-mixed")


@dataclass(frozen=True)
class Hardware:
    """What a run may use.

    Attributes:
        accelerator: "auto", "cpu", "cuda" or "mps".
        devices: processes on this machine, each with a device of its own.
        nodes: machines; started by torchrun, SLURM or another launcher that Fabric knows.
        precision: "32-true"; or "16-mixed" or "bf16-mixed", which compute most products in 16 bits.
        workers: processes that prepare crops, for each device.
    """

    accelerator: str = "auto"
    devices: int = 1
    nodes: int = 1
    precision: str = "32-true"
    workers: int = 1

    @property
    def processes(self) -> int:
        """On all machines."""
        return self.devices * self.nodes

    @property
    def device(self) -> str:
        """What ready models run on before training begins: "cpu", "cuda", or "auto"."""
        return {"cpu": "cpu", "mps": "cpu", "cuda": "cuda"}.get(self.accelerator, "auto")


def launch_run(
    hardware: Hardware,
    folder: Path,
    begin: Callable[[], None],
    ready: Callable[[], Any],
    learn: Callable[[Fabric, Any], None],
) -> None:
    """Prepare a training run once, and learn in as many processes as the hardware says.

    Args:
        hardware: see `Hardware`.
        folder: of the run; TensorBoard's files go into "curves" in it.
        begin: called once, before all else.
        ready: makes what `learn` needs, or finds what another process has made; what it gives, and
            itself where a launcher starts the processes, can be pickled.
        learn: called in each process; must be importable by its name.

    Raises:
        UsageError: there is no such hardware.
        SordinoError: what any of the three raises.
    """
    curves = folder / "curves"
    if started_by_launcher() or hardware.nodes > 1:
        launch(hardware, curves, _prepare_and_learn, begin, ready, learn)
    else:
        begin()
        launch(hardware, curves, learn, ready())


def check_batch(batch: int, hardware: Hardware, *, least: int = 1) -> None:
    """See that a batch can be shared by all processes.

    Args:
        batch: crops over all processes.
        hardware: says how many there are.
        least: crops that each needs.

    Raises:
        UsageError: it cannot.

    Example:
        >>> check_batch(12, Hardware(devices=4))
    """
    if batch % hardware.processes or batch // hardware.processes < least:
        enough = f", with {least} crops or more for each" if least > 1 else ""
        raise UsageError(
            f"a batch of {batch} cannot be shared by {hardware.processes} processes evenly{enough};"
            " set optimisation.batch"
        )


def launch(
    hardware: Hardware, logs: Path, function: Callable[..., Any], *arguments: object
) -> None:
    """Run a function in as many processes as the hardware says; each gets Fabric first.

    Args:
        hardware: see `Hardware`.
        logs: where TensorBoard's files go.
        function: must be importable by its name; called as function(fabric, *arguments).
        arguments: anything that can be pickled.

    Raises:
        UsageError: there is no such hardware.
        SordinoError: what the function raises, whichever process it is in.
    """
    several = hardware.processes > 1 or started_by_launcher()
    outside = hardware.nodes > 1 or started_by_launcher()
    strategy = ("ddp" if outside else "ddp_spawn") if several else "auto"
    logger = TensorBoardLogger(root_dir=logs, name="", version="")
    try:
        fabric = Fabric(
            accelerator=hardware.accelerator,
            devices=hardware.devices,
            num_nodes=hardware.nodes,
            strategy=strategy,
            plugins=_precision(hardware),
            loggers=logger,
        )
    except (RuntimeError, ValueError) as error:
        raise UsageError(f"this hardware cannot be used: {error}") from error
    try:
        if several:
            # Fabric would take arguments apart in search of networks, and refuse frozen classes.
            fabric.launch(partial(_call, function, arguments))
        else:
            function(fabric, *arguments)
    except ProcessRaisedException as error:
        raise _raised_there(error) from error


def started_by_launcher() -> bool:
    """Whether this process is one of several that torchrun or another launcher has started."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def is_first(fabric: Fabric) -> bool:
    """Whether this process is the one that writes and shows."""
    return bool(fabric.global_rank == 0)


def first_process() -> bool:
    """The same before and after `launch`: false in all but one of a launcher's processes."""
    return not getattr(rank_zero_only, "rank", 0)


def _prepare_and_learn(
    fabric: Fabric,
    begin: Callable[[], None],
    ready: Callable[[], Any],
    learn: Callable[[Fabric, Any], None],
) -> None:
    # Processes that have no common parent: the first makes what the others find.
    with fabric.rank_zero_first():
        if is_first(fabric):
            begin()
        prepared = ready()
    learn(fabric, prepared)


def _call(function: Callable[..., Any], arguments: tuple[object, ...], fabric: Fabric) -> None:
    function(fabric, *arguments)


class _Mixed(MixedPrecision):
    """Mixed precision whose inputs stay as they are: a waveform in bfloat16 has 8 bits."""

    def convert_input(self, data: Any) -> Any:
        return data


def _precision(hardware: Hardware) -> Precision:
    device = _kind_of_device(hardware.accelerator)
    if hardware.precision == "32-true":
        return Precision()
    if hardware.precision == "bf16-mixed":
        return _Mixed("bf16-mixed", device)
    if hardware.precision != LOSS_SCALING:
        raise UsageError(
            f"there is no precision {hardware.precision!r}; there are {', '.join(PRECISIONS)}"
        )
    if device == "cpu":
        raise UsageError(f"{LOSS_SCALING} needs a GPU; bf16-mixed does not")
    return _Mixed(LOSS_SCALING, device)


def _kind_of_device(accelerator: str) -> str:
    if accelerator in {"auto", "cuda", "gpu"} and torch.cuda.is_available():
        return "cuda"
    if accelerator in {"auto", "mps", "gpu"} and torch.backends.mps.is_available():
        return "mps"
    return "cpu"


def _raised_there(error: ProcessRaisedException) -> Exception:
    # The message holds the other process's traceback; its last line is what was raised.
    last = str(error).strip().rpartition("\n")[2]
    found = re.fullmatch(r"sordino\.errors\.(\w+): (.*)", last)
    kind = getattr(errors, found[1], None) if found else None
    if found and isinstance(kind, type) and issubclass(kind, SordinoError):
        return kind(found[2])
    return error
