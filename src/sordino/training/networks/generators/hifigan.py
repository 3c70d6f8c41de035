"""HiFi-GAN generator: transposed convolutions and residual blocks from frames to samples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from sordino.errors import UsageError
from sordino.training.networks.generators.base import (
    HOP,
    Conditions,
    Generator,
    at_frame_rate,
    normalised,
    pitch_channels,
)

_SLOPE = 0.1
# The public code leaves the slope before the last convolution at PyTorch's own.
_LAST_SLOPE = 0.01
_EDGE = 7


@dataclass(frozen=True)
class HifiGanSettings:
    """Sizes of a HiFi-GAN generator; the defaults are the paper's.

    Attributes:
        channels: before the first upsampling; halved by each.
        rates: of upsampling; their product is 160.
        kernels: of the upsampling layers, each at least as long as its rate.
        resblock_kernels: of the residual blocks after each upsampling, odd.
        resblock_dilations: of each residual block's layers.

    Raises:
        UsageError: sizes that do not give 160 samples a frame.
    """

    channels: int = 512
    rates: tuple[int, ...] = (5, 4, 2, 2, 2)
    kernels: tuple[int, ...] = (11, 8, 4, 4, 4)
    resblock_kernels: tuple[int, ...] = (3, 7, 11)
    resblock_dilations: tuple[tuple[int, ...], ...] = ((1, 3, 5),) * 3

    def __post_init__(self) -> None:
        if prod(self.rates) != HOP:
            raise UsageError(
                f"rates {self.rates} give {prod(self.rates)} samples a frame; expected {HOP}"
            )
        if len(self.kernels) != len(self.rates) or any(
            kernel < rate for rate, kernel in zip(self.rates, self.kernels, strict=False)
        ):
            raise UsageError(
                f"kernels {self.kernels} do not go with rates {self.rates}: expected one for each,"
                " none smaller"
            )
        if self.channels < 2 ** len(self.rates) or self.channels % 2 ** len(self.rates):
            raise UsageError(f"{self.channels} channels cannot be halved {len(self.rates)} times")
        if len(self.resblock_dilations) != len(self.resblock_kernels) or any(
            kernel % 2 == 0 for kernel in self.resblock_kernels
        ):
            raise UsageError(
                f"residual kernels {self.resblock_kernels} need to be odd, with dilations for each"
            )


class ResidualBlock(nn.Module):
    """Pairs of a dilated and a plain convolution, each pair beside a shortcut.

    Shapes:
        (batch, channels, samples) to the same.
    """

    def __init__(self, channels: int, kernel: int, dilations: Iterable[int]) -> None:
        super().__init__()
        dilations = tuple(dilations)
        self.convs1 = nn.ModuleList(
            nn.Conv1d(
                channels, channels, kernel, dilation=dilation, padding=dilation * (kernel - 1) // 2
            )
            for dilation in dilations
        )
        self.convs2 = nn.ModuleList(
            nn.Conv1d(channels, channels, kernel, padding=(kernel - 1) // 2) for _ in dilations
        )

    def forward(self, signal: Tensor) -> Tensor:
        """Apply the block."""
        for first, second in zip(self.convs1, self.convs2, strict=True):
            inner = first(leaky_relu(signal, _SLOPE))
            signal = signal + second(leaky_relu(inner, _SLOPE))
        return signal


class HifiGan(Generator):
    """HiFi-GAN generator on content, pitch and the speaker vector, joined for each frame.

    Args:
        conditions: what it is made from.
        settings: see `HifiGanSettings`.

    Shapes:
        see `Generator`.

    Example:
        >>> small = HifiGan(Conditions(8, speaker=4), HifiGanSettings(channels=32))
        >>> small(torch.zeros(1, 5, 8), torch.zeros(1, 10), torch.zeros(1, 4)).shape
        torch.Size([1, 1600])

    Source: J. Kong, J. Kim and J. Bae, "HiFi-GAN", NeurIPS 2020; configuration of X. Miao et al.,
    "Language-independent speaker anonymization approach using self-supervised pre-trained models",
    Odyssey 2022.
    """

    def __init__(self, conditions: Conditions, settings: HifiGanSettings) -> None:
        super().__init__(conditions, settings)
        widths = [settings.channels // 2**stage for stage in range(len(settings.rates) + 1)]
        self.conv_pre = nn.Conv1d(conditions.width, widths[0], _EDGE, padding=_EDGE // 2)
        self.ups = nn.ModuleList(
            nn.ConvTranspose1d(
                *channels,
                kernel,
                stride=rate,
                padding=_padding(rate, kernel),
                output_padding=(kernel - rate) % 2,
            )
            for channels, rate, kernel in zip(
                pairwise(widths), settings.rates, settings.kernels, strict=True
            )
        )
        self.resblocks = nn.ModuleList(
            ResidualBlock(width, kernel, dilations)
            for width in widths[1:]
            for kernel, dilations in zip(
                settings.resblock_kernels, settings.resblock_dilations, strict=True
            )
        )
        self.conv_post = nn.Conv1d(widths[-1], 1, _EDGE, padding=_EDGE // 2)
        for layer in self.normed_layers():
            if layer is not self.conv_pre:
                nn.init.normal_(layer.weight, 0.0, 0.01)
        unbounded = "content" in conditions.normalise
        self.context_frames = None if unbounded else context_of(settings)

    def forward(
        self,
        content: Tensor,
        f0: Tensor | None = None,
        speaker: Tensor | None = None,
        harmonic: Tensor | None = None,
        noise: Tensor | None = None,
    ) -> Tensor:
        """Waveforms of a batch; the sources are not used."""
        signal = self.conv_pre(joined(self.conditions, content, f0, speaker))
        blocks = len(self.settings.resblock_kernels)
        for stage, up in enumerate(self.ups):
            signal = up(leaky_relu(signal, _SLOPE))
            first, *others = [block(signal) for block in self.resblocks[stage * blocks :][:blocks]]
            signal = sum(others, start=first) / blocks
        return torch.tanh(self.conv_post(leaky_relu(signal, _LAST_SLOPE))).squeeze(1)

    def normed_layers(self) -> Iterable[nn.Conv1d | nn.ConvTranspose1d]:
        """All convolutions."""
        return [
            layer for layer in self.modules() if isinstance(layer, nn.Conv1d | nn.ConvTranspose1d)
        ]


def joined(
    conditions: Conditions, content: Tensor, f0: Tensor | None, speaker: Tensor | None
) -> Tensor:
    """Content, pitch and speaker for each frame.

    Args:
        conditions: how they come in.
        content: shape (batch, frames * 160 / hop, channels).
        f0: in Hz, shape (batch, frames), unless the conditions have none.
        speaker: shape (batch, speaker), unless the conditions have none.

    Returns:
        Shape (batch, width, frames).

    Example:
        >>> conditions = Conditions(channels=3, speaker=2, pitch="hertz")
        >>> content, f0, speaker = torch.ones(1, 1, 3), torch.zeros(1, 2), torch.ones(1, 2)
        >>> joined(conditions, content, f0, speaker)[0].T.tolist()
        [[1.0, 1.0, 1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.0, 1.0, 1.0]]
    """
    if "content" in conditions.normalise:
        content = normalised(content)
    parts = [at_frame_rate(content, conditions.hop)]
    if conditions.pitch != "none":
        assert f0 is not None
        parts.append(pitch_channels(f0, conditions.pitch))
    if conditions.speaker:
        assert speaker is not None
        if "speaker" in conditions.normalise:
            speaker = normalised(speaker)
        parts.append(speaker.unsqueeze(1).expand(-1, parts[0].shape[1], -1))
    return torch.cat(parts, dim=2).transpose(1, 2)


def context_of(settings: HifiGanSettings) -> int:
    """How many frames on each side the samples of a frame depend on.

    Follows the first and the last sample of a frame back through all layers.

    Example:
        >>> context_of(HifiGanSettings())
        22
    """
    first, last = -(_EDGE // 2), HOP - 1 + _EDGE // 2
    widest = max(
        sum((kernel - 1) // 2 * (dilation + 1) for dilation in dilations)
        for kernel, dilations in zip(
            settings.resblock_kernels, settings.resblock_dilations, strict=True
        )
    )
    for rate, kernel in zip(reversed(settings.rates), reversed(settings.kernels), strict=True):
        padding = _padding(rate, kernel)
        # Input i reaches outputs rate * i - padding to rate * i - padding + kernel - 1.
        first = -((kernel - 1 - padding - (first - widest)) // rate)
        last = (last + widest + padding) // rate
    return max(-(first - _EDGE // 2), last + _EDGE // 2)


def _padding(rate: int, kernel: int) -> int:
    """What an upsampling layer cuts off at the start; at the end one less where that is odd."""
    return (kernel - rate + 1) // 2
