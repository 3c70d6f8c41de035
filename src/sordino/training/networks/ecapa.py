"""ECAPA-TDNN speaker encoder (Desplanques et al., Interspeech 2020)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

Padding = Literal["reflect", "zeros"]


@dataclass(frozen=True)
class EcapaSettings:
    """Sizes of an ECAPA-TDNN; the defaults are F-ECAPA with 512 channels.

    Attributes:
        inputs: channels of the frames that come in.
        channels: of the first layer and of the SE-Res2 blocks.
        aggregated: channels after the blocks' outputs are joined.
        kernels: of the first layer, the three blocks, and the joining layer.
        dilations: the same.
        attention: hidden channels of the attentive pooling.
        res2_scale: parts of a Res2 block.
        squeeze: hidden channels of squeeze-and-excitation.
        dimension: of the speaker vector.
        stride: of the first layer; 2 halves the frame rate and the work.
        padding: what lies beyond the ends for convolutions: "reflect" as SpeechBrain has it, or
            "zeros", which is faster.
    """

    inputs: int = 80
    channels: int = 512
    aggregated: int = 1536
    kernels: tuple[int, ...] = (5, 3, 3, 3, 1)
    dilations: tuple[int, ...] = (1, 2, 3, 4, 1)
    attention: int = 128
    res2_scale: int = 8
    squeeze: int = 128
    dimension: int = 192
    stride: int = 1
    padding: Padding = "reflect"


class TdnnLayer(nn.Module):
    """Convolution over time, activation (ReLU unless another is given), batch normalisation.

    Shapes:
        (batch, inputs, frames) to (batch, outputs, ceil(frames / stride)).
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        dilation: int = 1,
        stride: int = 1,
        padding: Padding = "reflect",
        activation: Callable[[Tensor], Tensor] = torch.relu,
    ) -> None:
        super().__init__()
        self.activation = activation
        self.conv = nn.Conv1d(
            inputs,
            outputs,
            kernel,
            dilation=dilation,
            stride=stride,
            padding=dilation * (kernel - 1) // 2,
            padding_mode=padding if kernel > 1 else "zeros",
        )
        self.norm = nn.BatchNorm1d(outputs)

    def forward(self, frames: Tensor) -> Tensor:
        """Apply the layer."""
        out: Tensor = self.norm(self.activation(self.conv(frames)))
        return out


class Res2Block(nn.Module):
    """Channels in parts; each part but the first is convolved, after the part before is added."""

    def __init__(
        self, channels: int, kernel: int, dilation: int, scale: int, padding: Padding
    ) -> None:
        super().__init__()
        width = channels // scale
        self.blocks = nn.ModuleList(
            TdnnLayer(width, width, kernel, dilation, padding=padding) for _ in range(scale - 1)
        )

    def forward(self, frames: Tensor) -> Tensor:
        """Apply the block."""
        first, *others = frames.chunk(len(self.blocks) + 1, dim=1)
        out = [first]
        for index, (block, part) in enumerate(zip(self.blocks, others, strict=True)):
            out.append(block(part if index == 0 else part + out[-1]))
        return torch.cat(out, dim=1)


class SqueezeExcitation(nn.Module):
    """Scale every channel by a gate computed from all channels' means over time."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(channels, hidden, 1)
        self.conv2 = nn.Conv1d(hidden, channels, 1)

    def forward(self, frames: Tensor) -> Tensor:
        """Apply the gates."""
        mean = frames.mean(dim=2, keepdim=True)
        return frames * torch.sigmoid(self.conv2(torch.relu(self.conv1(mean))))


class SeRes2Block(nn.Module):
    """Layer, Res2 block, layer and squeeze-and-excitation, beside a shortcut."""

    def __init__(
        self,
        channels: int,
        kernel: int,
        dilation: int,
        scale: int,
        squeeze: int,
        padding: Padding,
    ) -> None:
        super().__init__()
        self.tdnn1 = TdnnLayer(channels, channels, 1)
        self.res2net_block = Res2Block(channels, kernel, dilation, scale, padding)
        self.tdnn2 = TdnnLayer(channels, channels, 1)
        self.se_block = SqueezeExcitation(channels, squeeze)

    def forward(self, frames: Tensor) -> Tensor:
        """Apply the block."""
        out: Tensor = self.se_block(self.tdnn2(self.res2net_block(self.tdnn1(frames))))
        return out + frames


class AttentiveStatistics(nn.Module):
    """Weighted mean and standard deviation over time; weights see the whole utterance.

    The first layer acts on each frame joined with the utterance's mean and deviation. As these do
    not change over time, its products with them are computed once and not for every frame.

    Shapes:
        (batch, channels, frames) to (batch, 2 * channels, 1).
    """

    def __init__(self, channels: int, attention: int) -> None:
        super().__init__()
        self.tdnn = TdnnLayer(3 * channels, attention, 1)
        self.conv = nn.Conv1d(attention, channels, 1)

    def forward(self, frames: Tensor) -> Tensor:
        """Pool over time."""
        mean = frames.mean(dim=2, keepdim=True)
        deviation = _deviation(frames, mean, torch.full_like(frames[:, :1], 1) / frames.shape[2])
        weight, channels = self.tdnn.conv.weight, frames.shape[1]
        for_frames, for_statistics = weight[:, :channels], weight[:, channels:]
        context = nn.functional.conv1d(
            torch.cat([mean, deviation], dim=1), for_statistics, self.tdnn.conv.bias
        )
        hidden = torch.relu(nn.functional.conv1d(frames, for_frames) + context)
        weights = torch.softmax(self.conv(torch.tanh(self.tdnn.norm(hidden))), dim=2)
        centre = (weights * frames).sum(dim=2, keepdim=True)
        return torch.cat([centre, _deviation(frames, centre, weights)], dim=1)


class Ecapa(nn.Module):
    """ECAPA-TDNN from frames to a speaker vector.

    Args:
        settings: see `EcapaSettings`.

    Shapes:
        (batch, inputs, frames), at least 10 frames, to (batch, dimension).

    Example:
        >>> network = Ecapa(EcapaSettings(channels=64, aggregated=96)).eval()
        >>> network(torch.zeros(2, 80, 100)).shape
        torch.Size([2, 192])
    """

    def __init__(self, settings: EcapaSettings) -> None:
        super().__init__()
        size = settings
        first, *middle, _ = zip(size.kernels, size.dilations, strict=True)
        self.settings = size
        self.first = TdnnLayer(size.inputs, size.channels, *first, size.stride, size.padding)
        self.blocks = nn.ModuleList(
            SeRes2Block(
                size.channels, kernel, dilation, size.res2_scale, size.squeeze, size.padding
            )
            for kernel, dilation in middle
        )
        self.mfa = TdnnLayer(
            size.channels * len(middle),
            size.aggregated,
            size.kernels[-1],
            size.dilations[-1],
            padding=size.padding,
        )
        self.asp = AttentiveStatistics(size.aggregated, size.attention)
        self.asp_bn = nn.BatchNorm1d(2 * size.aggregated)
        self.fc = nn.Conv1d(2 * size.aggregated, size.dimension, 1)

    def forward(self, frames: Tensor) -> Tensor:
        """Speaker vectors, of any length."""
        out = self.first(frames)
        outputs = []
        for block in self.blocks:
            out = block(out)
            outputs.append(out)
        pooled = self.asp_bn(self.asp(self.mfa(torch.cat(outputs, dim=1))))
        vector: Tensor = self.fc(pooled).squeeze(2)
        return vector


def _deviation(frames: Tensor, mean: Tensor, weights: Tensor) -> Tensor:
    variance = (weights * (frames - mean).square()).sum(dim=2, keepdim=True)
    return variance.clamp(min=1e-12).sqrt()
