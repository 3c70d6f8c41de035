"""What the tests of generators share."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from sordino.training.generator_export import example_inputs
from sordino.training.networks.generators import Generator

SMALL: Mapping[str, Mapping[str, object]] = {
    "hifigan": {"channels": 32},
    "istft": {"channels": 16, "hidden": 24, "blocks": 2},
    "two-stage": {
        "layers": 1,
        "channels": 8,
        "postnet": 2,
        "postnet_channels": 6,
        "vocoder": {"channels": 32},
    },
}


def network(architecture: str, hop: int = 160, **changes: object) -> dict[str, object]:
    """A small generator's description."""
    return {
        "architecture": architecture,
        "content": {"channels": 6, "hop": hop},
        "speaker": 5,
        "sizes": SMALL[architecture],
        **changes,
    }


def randomised(generator: Generator, seed: int = 0) -> Generator:
    """Weights that keep the size of what goes through, so that every layer counts."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, value in generator.named_parameters():
            fan = value[0].numel() if value.ndim > 1 else 25
            if value.ndim > 1 or not name.startswith("head"):
                value.copy_(torch.randn(value.shape) / math.sqrt(fan))
    return generator.eval()


def tensors(generator: Generator, frames: int, seed: int = 0) -> dict[str, Tensor]:
    """Random inputs in double precision, to see the smallest change."""
    content_frames = frames * 160 // generator.conditions.hop
    arrays = example_inputs(generator, content_frames, seed=seed)
    return {name: torch.from_numpy(array).double() for name, array in arrays.items()}


def reach(generator: Generator, frames: int) -> int:
    """How far, in frames, the samples of the middle frame depend on inputs, by their gradients.

    Gradients show what is too faint to change the sum that it is part of. The generator takes
    content at 100 frames a second.
    """
    generator = generator.double()
    inputs, middle = tensors(generator, frames), frames // 2
    inputs["f0"] = torch.full_like(inputs["f0"], 120.0)
    for value in inputs.values():
        value.requires_grad_()
    generator(**inputs)[:, 160 * middle : 160 * (middle + 1)].sum().backward()
    farthest = 0
    for name, value in inputs.items():
        if name == "speaker":
            continue
        assert value.grad is not None
        heard = torch.nonzero(value.grad.reshape(frames, -1).any(dim=1)).flatten()
        assert heard[0] > 0
        assert heard[-1] < frames - 1
        farthest = max(farthest, int(middle - heard[0]), int(heard[-1] - middle))
    return farthest
