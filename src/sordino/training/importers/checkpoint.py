"""Reading foreign PyTorch checkpoints without running what is in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import torch
from torch import Tensor, nn

from sordino.errors import UsageError


def read_tensors(source: Path | IO[bytes], where: str) -> Mapping[str, Any]:
    """What a checkpoint holds; tensors and plain containers only.

    Args:
        source: a file's path, or an open file.
        where: what to call it in errors.

    Raises:
        UsageError: it is not a checkpoint, or holds more than tensors.
    """
    try:
        content = torch.load(source, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file fails in many ways inside torch
        # What torch says of it recommends to run what is in the file.
        raise UsageError(
            f"{where}: is no checkpoint of plain tensors ({type(error).__name__})"
        ) from error
    if not isinstance(content, Mapping):
        raise UsageError(f"{where}: holds {type(content).__name__}; expected named tensors")
    return content


def load_exactly(network: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Put weights into a network; each must be there, fit, and be used.

    Raises:
        UsageError: a weight is missing, left over or of another shape; the message names it.
    """
    wanted = network.state_dict()
    for name in wanted:
        if name not in weights and not name.endswith("num_batches_tracked"):
            raise UsageError(f"{where}: has no weights for {name}")
    for name, value in weights.items():
        if name not in wanted:
            raise UsageError(f"{where}: {name} has no place in the network")
        if value.shape != wanted[name].shape:
            raise UsageError(
                f"{where}: {name} has shape {tuple(value.shape)};"
                f" expected {tuple(wanted[name].shape)}"
            )
    network.load_state_dict({**wanted, **weights})
