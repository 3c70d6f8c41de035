"""A ConvNeXt block over time, of which content networks are made."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class TimeBlock(nn.Module):
    """A depthwise convolution over time, then two layers on each frame, added to what came in.

    Args:
        channels: of a frame.
        kernel: frames that it sees, odd.
        widening: how many times as many channels there are between the two layers.

    Shapes:
        (batch, frames, channels) to the same.

    Example:
        >>> TimeBlock(8, kernel=3, widening=2)(torch.zeros(1, 5, 8)).shape
        torch.Size([1, 5, 8])

    Source: Z. Liu et al., "A ConvNet for the 2020s", CVPR 2022.
    """

    def __init__(self, channels: int, *, kernel: int, widening: int) -> None:
        super().__init__()
        inside = widening * channels
        self.depthwise = nn.Conv1d(channels, channels, kernel, padding=kernel // 2, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.wide = nn.Linear(channels, inside)
        self.narrow = nn.Linear(inside, channels)
        self.scale = nn.Parameter(torch.full((channels,), 0.1))

    def forward(self, frames: Tensor) -> Tensor:
        """Frames of a batch."""
        around = self.depthwise(frames.transpose(1, 2)).transpose(1, 2)
        inside = nn.functional.gelu(self.wide(self.norm(around)))
        widened: Tensor = self.scale * self.narrow(inside)
        return frames + widened
