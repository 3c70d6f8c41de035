"""The first layers of Whisper's encoder as a content network, and small blocks that adapt them.

What a recogniser makes of speech in its first layers says how it sounds in the terms of speech, and
comes from far more voices, microphones and rooms than anybody could train on here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, pad, scaled_dot_product_attention

from sordino.errors import UsageError
from sordino.evaluate.utility.whisper_models import WEIGHTS, find_whisper
from sordino.training.importers.ctranslate2 import read_variables
from sordino.training.networks.convnext import TimeBlock
from sordino.training.networks.encoder import settings_from
from sordino.training.networks.filterbank import Filterbank, FilterbankSettings

_HOP, _HEAD = 320, 64
_LEAST_ENERGY, _RANGE = 1e-10, 8.0
_LONGEST_PERIOD = 10000.0
# Whisper's own positions end here, at 30 s.
_POSITIONS = 1500


@dataclass(frozen=True)
class WhisperSizes:
    """Sizes of a content network that begins as Whisper's encoder does.

    Attributes:
        channels: of a frame in Whisper's layers, a multiple of 64.
        layers: how many of them there are.
        bands: of the filterbank.
        tuned: whether these layers learn; else only what comes after them does.
        width: channels of the blocks after them.
        blocks: how many of those there are.
        kernel: frames that a block sees, odd.
        widening: how many times as many channels a block has inside.

    Raises:
        UsageError: a size out of its range.
    """

    channels: int = 384
    layers: int = 2
    bands: int = 80
    tuned: bool = False
    width: int = 256
    blocks: int = 2
    kernel: int = 7
    widening: int = 3

    def __post_init__(self) -> None:
        if min(self.bands, self.width, self.kernel, self.widening) < 1:
            raise UsageError("bands, width, kernel and widening start at 1")
        if min(self.layers, self.blocks) < 0:
            raise UsageError("layers and blocks start at 0")
        if self.channels < _HEAD or self.channels % _HEAD:
            raise UsageError(f"{self.channels} channels are no multiple of {_HEAD}")
        if self.kernel % 2 == 0:
            raise UsageError(f"a kernel of {self.kernel} frames has no middle; expected odd")


class WhisperFrames(nn.Module):
    """Waveform to frames, by layers of Whisper and blocks after them.

    Args:
        sizes: see `WhisperSizes`.

    Attributes:
        hop: samples from frame to frame.
        width: values of a frame.
        context: None: a frame depends on all of the waveform.
        sizes: as given.

    Shapes:
        (batch, samples) to (batch, samples // 320, width).

    Example:
        >>> sizes = WhisperSizes(channels=64, layers=1, width=8, blocks=1)
        >>> WhisperFrames(sizes)(torch.zeros(1, 3200)).shape
        torch.Size([1, 10, 8])

    Source: A. Radford et al., "Robust speech recognition via large-scale weak supervision", 2022.
    """

    hop = _HOP
    context: int | None = None

    def __init__(self, sizes: WhisperSizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.width = sizes.width
        self.whisper = Whisper(sizes.channels, sizes.layers, sizes.bands)
        self.whisper.requires_grad_(sizes.tuned)
        self.level = nn.BatchNorm1d(sizes.channels, momentum=0.01)
        self.first = nn.Linear(sizes.channels, sizes.width)
        self.blocks = nn.Sequential(
            *(
                TimeBlock(sizes.width, kernel=sizes.kernel, widening=sizes.widening)
                for _ in range(sizes.blocks)
            )
        )
        self.last_norm = nn.LayerNorm(sizes.width)

    def forward(
        self, wave: Tensor, weights: Tensor | None = None, gains: Tensor | None = None
    ) -> Tensor:
        """Frames of a batch of waveforms of one length.

        Args:
            wave: shape (batch, samples).
            weights: of the filterbank, in training on changed voices; see `Filterbank.forward`.
            gains: factors on the bands' energies, shape (batch, bands); the same.
        """
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.sizes.tuned):
            bands = self.whisper.bands(wave, weights, gains)
            heard = self.whisper(bands, self._start(wave))[-1]
        even = self.level(heard.transpose(1, 2)).transpose(1, 2)
        content: Tensor = self.last_norm(self.blocks(self.first(even)))
        return content

    @property
    def filterbank(self) -> Filterbank:
        """What it hears through."""
        return self.whisper.filterbank

    def _start(self, wave: Tensor) -> int:
        """A place among Whisper's positions: any, as it learns, so that none is of a meaning."""
        if not self.training:
            return 0
        return int(torch.randint(max(1, _POSITIONS - wave.shape[1] // _HOP), ()))


class Whisper(nn.Module):
    """Whisper's front end and the first layers of its encoder, as many as wanted.

    Args:
        channels: of a frame, a multiple of 64.
        layers: how many.
        bands: of the filterbank.
    """

    def __init__(self, channels: int, layers: int, bands: int) -> None:
        super().__init__()
        self.filterbank = Filterbank(
            FilterbankSettings(bands=bands, taper="hann", scale="slaney", compression="none")
        )
        self.conv1 = nn.Conv1d(bands, channels, 3, padding=1)
        self.conv2 = nn.Conv1d(channels, channels, 3, stride=2, padding=1)
        self.layers = nn.ModuleList(Layer(channels) for _ in range(layers))

    def bands(
        self, wave: Tensor, weights: Tensor | None = None, gains: Tensor | None = None
    ) -> Tensor:
        """What the first layer takes: shape (batch, bands, 2 * (samples // 320)).

        Args:
            wave: shape (batch, samples).
            weights: see `WhisperFrames.forward`.
            gains: the same.
        """
        # Whisper's frames are centred on the edges of ours.
        half = _HOP // 2
        moved = pad(wave[:, half:], (0, half))
        with torch.autocast(wave.device.type, enabled=False):
            energies = self.filterbank(moved, weights)[:, :, : 2 * (wave.shape[1] // _HOP)]
            if gains is not None:
                energies = energies * gains.unsqueeze(2)
            logarithms = energies.clamp(min=_LEAST_ENERGY).log10()
            loudest = logarithms.amax(dim=(1, 2), keepdim=True)
            return torch.maximum(logarithms, loudest - _RANGE) / 4 + 1

    def forward(self, bands: Tensor, start: int = 0) -> list[Tensor]:
        """Frames of a batch before the layers and after each: shape (batch, frames, channels).

        Args:
            bands: shape (batch, bands, 2 * frames).
            start: position of the first frame.
        """
        joined = gelu(self.conv2(gelu(self.conv1(bands)))).transpose(1, 2)
        depths = [joined + positions(joined, start)]
        for layer in self.layers:
            depths.append(layer(depths[-1]))
        return depths


class Layer(nn.Module):
    """Attention, then two layers on each frame, each on what is normalised and added to it.

    Args:
        channels: of a frame.

    Shapes:
        (batch, frames, channels) to the same.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.heads = channels // _HEAD
        self.attention_norm = nn.LayerNorm(channels)
        self.attention_in = nn.Linear(channels, 3 * channels)
        self.attention_out = nn.Linear(channels, channels)
        self.norm = nn.LayerNorm(channels)
        self.wide = nn.Linear(channels, 4 * channels)
        self.narrow = nn.Linear(4 * channels, channels)

    def forward(self, frames: Tensor) -> Tensor:
        """Frames of a batch."""
        batch, count, channels = frames.shape
        asked = self.attention_in(self.attention_norm(frames))
        parts = asked.reshape(batch, count, 3, self.heads, _HEAD).permute(2, 0, 3, 1, 4)
        seen = scaled_dot_product_attention(parts[0], parts[1], parts[2])
        frames = frames + self.attention_out(seen.transpose(1, 2).reshape(batch, count, channels))
        deep: Tensor = frames + self.narrow(gelu(self.wide(self.norm(frames))))
        return deep


def positions(frames: Tensor, start: int) -> Tensor:
    """Sines, then cosines, of a frame's place, with periods from 2 pi to 10,000 times as long.

    Args:
        frames: shape (batch, frames, channels), of which the sizes are used.
        start: place of the first.

    Returns:
        Shape (frames, channels).

    Example:
        >>> positions(torch.zeros(1, 2, 4), 0)[0].tolist()
        [0.0, 0.0, 1.0, 1.0]
    """
    half = frames.shape[2] // 2
    step = math.log(_LONGEST_PERIOD) / max(1, half - 1)
    rates = torch.exp(-step * torch.arange(half, device=frames.device))
    places = torch.arange(frames.shape[1], device=frames.device) + start
    angles = places.unsqueeze(1) * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def build_whisper_frames(network: Mapping[str, Any]) -> WhisperFrames:
    """The frames that a content network's description asks for.

    Args:
        network: see `content.build_content`.

    Raises:
        UsageError: there is no such source, or it does not have these sizes.
    """
    given = dict(network.get("sizes", {}))
    if "source" not in network:
        return WhisperFrames(settings_from(WhisperSizes, given))
    source = str(network["source"])
    pretrained = load_whisper(source, int(given.get("layers", WhisperSizes.layers)))
    there = {"channels": pretrained.conv1.out_channels, "bands": pretrained.conv1.in_channels}
    for name, value in there.items():
        if given.setdefault(name, value) != value:
            raise UsageError(f"Whisper {source} has {value} {name}, and not {given[name]}")
    frames = WhisperFrames(settings_from(WhisperSizes, given))
    frames.whisper.load_state_dict(pretrained.state_dict())
    return frames


def load_whisper(source: str, layers: int | None = None) -> Whisper:
    """The encoder of a Whisper model, with its weights.

    Args:
        source: see `find_whisper`.
        layers: how many of its layers; None for all.

    Raises:
        UsageError: there is no such model, it cannot be read, or has not so many layers.

    Example:
        >>> load_whisper("tiny.en", 2)  # doctest: +SKIP
    """
    files = find_whisper(source, [])
    return whisper_of(read_variables(files.folder / WEIGHTS, "encoder/"), layers)


def whisper_of(variables: Mapping[str, npt.NDArray[np.float32]], layers: int | None) -> Whisper:
    """The encoder that weights are of.

    Args:
        variables: see `training.importers.ctranslate2.read_variables`.
        layers: how many of its layers; None for all.

    Raises:
        UsageError: they are not of a Whisper encoder, or it has not so many layers.
    """
    first = variables.get("encoder/conv1/weight")
    if first is None or first.ndim != 3:
        raise UsageError("the weights are of no Whisper model: there is no encoder/conv1/weight")
    there = 0
    while f"encoder/layer_{there}/ffn/linear_0/weight" in variables:
        there += 1
    if layers is not None and layers > there:
        raise UsageError(f"this Whisper model has {there} layers, and not {layers}")
    channels, bands, _ = first.shape
    whisper = Whisper(channels, there if layers is None else layers, bands)
    state = whisper.state_dict()
    for name, value in state.items():
        found = variables.get(_name(name))
        if found is None or found.shape != tuple(value.shape):
            raise UsageError(
                f"the weights of Whisper have no {_name(name)} of shape {tuple(value.shape)}"
            )
        state[name] = torch.from_numpy(found)
    whisper.load_state_dict(state)
    return whisper


_PARTS = {
    "attention_norm": "self_attention/layer_norm",
    "attention_in": "self_attention/linear_0",
    "attention_out": "self_attention/linear_1",
    "norm": "ffn/layer_norm",
    "wide": "ffn/linear_0",
    "narrow": "ffn/linear_1",
}


def _name(name: str) -> str:
    """What CTranslate2 calls a weight of `Whisper`."""
    parts = name.split(".")
    if parts[0] != "layers":
        return "encoder/" + "/".join(parts)
    _, number, part, kind = parts
    if part.endswith("norm"):
        kind = {"weight": "gamma", "bias": "beta"}[kind]
    return f"encoder/layer_{number}/{_PARTS[part]}/{kind}"
