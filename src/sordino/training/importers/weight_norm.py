"""Weights kept as length and direction (weight normalisation), made plain.

Salimans and Kingma, "Weight normalization", NeurIPS 2016, equation 2: w = g v / |v|.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor
from torch.linalg import vector_norm

from sordino.errors import UsageError

# Length and direction, as torch has called them up to version 2.0, and since.
_PAIRS = (
    ("weight_g", "weight_v"),
    ("parametrizations.weight.original0", "parametrizations.weight.original1"),
)


def plain_weights(weights: Mapping[str, Tensor], where: str) -> dict[str, Tensor]:
    """The same weights with `weight` in place of length and direction; others stay.

    The length is one number for each index of the axes on which it has more than one.

    Args:
        weights: by name; a layer's pair is called `weight_g` and `weight_v`, or
            `parametrizations.weight.original0` and `original1`.
        where: what to call the checkpoint in errors.

    Raises:
        UsageError: half of a pair is missing, or the halves do not fit each other.

    Example:
        >>> import torch
        >>> length, direction = torch.tensor([[10.0]]), torch.tensor([[3.0, 4.0]])
        >>> plain_weights({"a.weight_g": length, "a.weight_v": direction}, "x.pt")
        {'a.weight': tensor([[6., 8.]])}
    """
    plain: dict[str, Tensor] = {}
    for name, value in weights.items():
        layer, half, other = _split(name)
        if half is None:
            key, result = name, value
        elif f"{layer}{other}" not in weights:
            raise UsageError(f"{where}: has no weights for {layer}{other}")
        elif half == 1:
            key = f"{layer}weight"
            result = _joined((f"{layer}{other}", name), weights, where)
        else:
            continue
        if key in plain:
            raise UsageError(f"{where}: has {key} twice, plain and as length and direction")
        plain[key] = result
    return plain


def _split(name: str) -> tuple[str, int | None, str]:
    """A name's layer, which half of a pair it is, and what the other half is called."""
    for pair in _PAIRS:
        for half, ending in enumerate(pair):
            if name == ending or name.endswith(f".{ending}"):
                return name[: -len(ending)], half, pair[1 - half]
    return name, None, ""


def _joined(names: tuple[str, str], weights: Mapping[str, Tensor], where: str) -> Tensor:
    length, direction = (weights[name] for name in names)
    axes = [axis for axis, size in enumerate(length.shape) if size == 1]
    fits = length.ndim == direction.ndim and all(
        own in (1, full) for own, full in zip(length.shape, direction.shape, strict=True)
    )
    if not fits or not axes:
        raise UsageError(
            f"{where}: {names[0]} has shape {tuple(length.shape)}, and {names[1]}"
            f" {tuple(direction.shape)}; they do not fit each other"
        )
    size: Tensor = vector_norm(direction, dim=axes, keepdim=True)
    return direction * (length / size)
