"""Reading foreign PyTorch checkpoints without running what is in them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
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
        with warnings.catch_warnings():
            # Of how a file was pickled; it loads or it does not.
            warnings.simplefilter("ignore")
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


def tensors_only(content: Mapping[str, Any], where: str) -> dict[str, Tensor]:
    """What is there, checked to be tensors; half precision becomes single.

    Raises:
        UsageError: something is no tensor; the message names it.
    """
    for key, value in content.items():
        if not isinstance(value, Tensor):
            raise UsageError(f"{where}: {key} is no tensor; expected a network's weights")
    return {
        key: value.float() if value.is_floating_point() else value for key, value in content.items()
    }


def shape_of(weights: Mapping[str, Tensor], key: str, where: str, axes: int = 3) -> tuple[int, ...]:
    """The shape of a weight that must be there and have so many axes.

    Raises:
        UsageError: it does not; the message names it.
    """
    if key not in weights:
        raise UsageError(f"{where}: has no weights for {key}")
    shape = tuple(weights[key].shape)
    if len(shape) != axes:
        raise UsageError(f"{where}: {key} has shape {shape}; expected {axes} axes")
    return shape


def load_renamed(
    network: nn.Module, weights: Mapping[str, Tensor], theirs: Callable[[str], str], where: str
) -> None:
    """`load_exactly`, with errors in the checkpoint's own names.

    Args:
        network: what the weights go into.
        weights: by their names in the checkpoint.
        theirs: what the checkpoint calls a weight of the network.
        where: what to call the checkpoint in errors.

    Raises:
        UsageError: a weight is missing, left over or of another shape; the message names it.
    """
    state = network.state_dict()
    ours = {theirs(name): name for name in state}
    for key, value in weights.items():
        if key not in ours:
            raise UsageError(f"{where}: {key} has no place in the network")
        expected = tuple(state[ours[key]].shape)
        if tuple(value.shape) != expected:
            raise UsageError(f"{where}: {key} has shape {tuple(value.shape)}; expected {expected}")
    for key in ours:
        if key not in weights and not key.endswith("num_batches_tracked"):
            raise UsageError(f"{where}: has no weights for {key}")
    load_exactly(network, {ours[key]: value for key, value in weights.items()}, where)
