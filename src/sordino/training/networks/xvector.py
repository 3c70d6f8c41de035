"""X-vector TDNN speaker encoder (Snyder et al., ICASSP 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sordino.training.networks.ecapa import TdnnLayer


@dataclass(frozen=True)
class XvectorSettings:
    """Sizes of an x-vector network; the defaults are those of SpeechBrain's VoxCeleb model.

    Attributes:
        inputs: channels of the frames that come in.
        channels: of the five layers over time.
        kernels: of these layers.
        dilations: of these layers.
        dimension: of the speaker vector.
    """

    inputs: int = 24
    channels: tuple[int, ...] = (512, 512, 512, 512, 1500)
    kernels: tuple[int, ...] = (5, 3, 3, 1, 1)
    dilations: tuple[int, ...] = (1, 2, 3, 1, 1)
    dimension: int = 512


class Xvector(nn.Module):
    """Five layers over time, mean and standard deviation, one layer.

    Args:
        settings: see `XvectorSettings`.

    Shapes:
        (batch, inputs, frames), at least 10 frames, to (batch, dimension).

    Example:
        >>> Xvector(XvectorSettings()).eval()(torch.zeros(2, 24, 50)).shape
        torch.Size([2, 512])
    """

    def __init__(self, settings: XvectorSettings) -> None:
        super().__init__()
        self.settings = settings
        sizes = (settings.inputs, *settings.channels)
        self.layers = nn.ModuleList(
            TdnnLayer(
                sizes[index],
                sizes[index + 1],
                kernel,
                dilation,
                activation=nn.functional.leaky_relu,
            )
            for index, (kernel, dilation) in enumerate(
                zip(settings.kernels, settings.dilations, strict=True)
            )
        )
        self.fc = nn.Linear(2 * settings.channels[-1], settings.dimension)

    def forward(self, frames: Tensor) -> Tensor:
        """Speaker vectors, of any length."""
        for layer in self.layers:
            frames = layer(frames)
        mean = frames.mean(dim=2)
        spread = (frames - mean.unsqueeze(2)).square().sum(dim=2) / (frames.shape[2] - 1)
        vector: Tensor = self.fc(torch.cat([mean, spread.clamp(min=1e-10).sqrt()], dim=1))
        return vector
