"""Processes, devices and precision, by Lightning Fabric."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sordino.errors import UsageError

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@dataclass(frozen=True)
class Hardware:
    """What a run may use.

    Attributes:
        accelerator: "auto", "cpu", "cuda" or "mps".
        devices: processes on this machine, each with a device of its own.
        nodes: machines; started by torchrun, SLURM or another launcher that Fabric knows.
        precision: "32-true", "16-mixed", "bf16-mixed" or another that Fabric knows.
        workers: processes that prepare crops, for each device.
    """

    accelerator: str = "auto"
    devices: int = 1
    nodes: int = 1
    precision: str = "32-true"
    workers: int = 1


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
    """
    from lightning_fabric import Fabric
    from lightning_fabric.loggers import TensorBoardLogger

    several = hardware.devices * hardware.nodes > 1
    outside = hardware.nodes > 1 or "LOCAL_RANK" in os.environ
    strategy = ("ddp" if outside else "ddp_spawn") if several else "auto"
    try:
        fabric = Fabric(
            accelerator=hardware.accelerator,
            devices=hardware.devices,
            num_nodes=hardware.nodes,
            strategy=strategy,
            precision=hardware.precision,  # type: ignore[arg-type]
            loggers=TensorBoardLogger(root_dir=logs, name="", version=""),
        )
    except (RuntimeError, ValueError) as error:
        raise UsageError(f"this hardware cannot be used: {error}") from error
    if several:
        fabric.launch(function, *arguments)
    else:
        function(fabric, *arguments)


def is_first(fabric: Fabric) -> bool:
    """Whether this process is the one that writes and shows."""
    return bool(fabric.global_rank == 0)
