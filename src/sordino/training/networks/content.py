"""Content encoders: waveform in, what is said out, described by a plain dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from torch import Tensor, nn

from sordino.errors import UsageError
from sordino.training.networks.content_conv import ConvFrames, ConvSizes
from sordino.training.networks.content_heads import (
    FrameNorm,
    Head,
    NearestUnit,
    SoftSettings,
    SoftUnits,
)
from sordino.training.networks.content_whisper import WhisperFrames, build_whisper_frames
from sordino.training.networks.encoder import settings_from
from sordino.training.networks.generators.base import normalised

OUTPUTS = ("features", "units", "soft", "bottleneck")

_KEYS = {
    "architecture",
    "output",
    "projection",
    "units",
    "temperature",
    "temperature_at_inference",
    "softmax",
    "normalise_over",
    "frame_norm",
    "layer_norm_output",
}
_KEYS_OF: Mapping[str, set[str]] = {
    "ssl": {"ssl", "layer", "normalise_wave"},
    "conv": {"sizes"},
    "whisper": {"source", "sizes"},
}
_BOTTLENECK = 48


class ContentNetwork(nn.Module):
    """Frames of a waveform, a projection of each, and what is made of it.

    Args:
        frames: waveform to frames (batch, frames, width); with `hop`, `width` and `context`.
        projection: applied to each frame.
        head: what each projected frame becomes.
        whole_norm: bring all values of an utterance to mean 0 and variance 1 at once, as a
            published model does. The content then depends on the utterance's length.

    Attributes:
        hop: samples from frame to frame.
        channels: of the content.
        context: frame k depends on samples from hop * k - context to hop * (k + 1) + context, the
            last exclusive; None where it depends on all.

    Shapes:
        (batch, samples) at 16 kHz, full scale 1, to (batch, samples // hop, channels). Frame k is
        centred on sample hop * k + hop / 2.
    """

    def __init__(
        self, frames: nn.Module, projection: nn.Module, head: Head, *, whole_norm: bool = False
    ) -> None:
        super().__init__()
        self.frames = frames
        self.projection = projection
        self.head = head
        self._whole_norm = whole_norm
        self.hop: int = frames.hop  # type: ignore[assignment]
        self.channels: int = head.channels
        bounded = head.bounded and not whole_norm
        self.context: int | None = frames.context if bounded else None  # type: ignore[assignment]

    def forward(self, wave: Tensor) -> Tensor:
        """The content of a batch of waveforms of one length."""
        return self.coded(self.frames(wave))

    def coded(self, frames: Tensor) -> Tensor:
        """What the content is, of what `frames` gives."""
        content: Tensor = self.head(self.projection(frames))
        return normalised(content) if self._whole_norm else content

    def projected(self, wave: Tensor) -> Tensor:
        """The frames after the projection: (batch, frames, projection's width)."""
        frames: Tensor = self.projection(self.frames(wave))
        return frames

    def logits(self, wave: Tensor) -> Tensor:
        """What a softmax makes the distribution over units of: (batch, frames, units).

        Raises:
            UsageError: the network has no units to be trained.
        """
        if not isinstance(self.head, SoftUnits):
            raise UsageError("this content network has no units that could be trained")
        return self.head.logits(self.projected(wave))


def build_content(network: Mapping[str, Any]) -> ContentNetwork:
    """The content network that a recipe or a bundle describes, with fresh weights.

    Args:
        network: "architecture" is "ssl", "conv" or "whisper".

            - "ssl", a HuBERT, wav2vec 2.0 or WavLM: "ssl" (see `pretrained.load_ssl`), "layer" (the
              hidden state that is taken: 0 enters the first layer, n is what layer n gives; left
              out for the model's result) and "normalise_wave" (see `SslFrames`).
            - "conv", a small network of bounded reach: "sizes" has the fields of `ConvSizes` that
              are not the defaults.
            - "whisper", the first layers of Whisper's encoder and small blocks after them: "sizes"
              has the fields of `WhisperSizes` that are not the defaults; "source" (see
              `find_whisper`) is where the layers' weights and the sizes that follow come from.

            For all, "output" is

            - "features": the frames as they are, projected to "projection" values where given;
            - "units": one of "units" values is 1, the others are 0. It is the nearest centroid for
              "ssl" (see `NearestUnit`), and the most similar vector for the others;
            - "soft": similarity to each of "units" vectors, with "temperature",
              "temperature_at_inference", "softmax" and "normalise_over" (see `SoftSettings`);
              "projection" may come before it;
            - "bottleneck": "projection" values (48), brought to mean 0 and variance 1 over the
              values of each frame unless "frame_norm" is false.

            "layer_norm_output" is for a published model (see `ContentNetwork`).

    Raises:
        UsageError: unknown architecture, output, name or size.

    Example:
        >>> import torch
        >>> sizes = {"channels": 16, "blocks": 1, "early": 0}
        >>> network = {"architecture": "conv", "output": "soft", "units": 10, "sizes": sizes}
        >>> content = build_content(network)
        >>> content(torch.zeros(2, 16000)).shape, content.hop, content.channels
        (torch.Size([2, 50, 10]), 320, 10)
    """
    architecture = str(network.get("architecture"))
    if architecture not in _KEYS_OF:
        raise UsageError(
            f"there is no content network {architecture!r}; there are {', '.join(_KEYS_OF)}"
        )
    known = _KEYS | _KEYS_OF[architecture]
    if unknown := sorted(set(network) - known):
        raise UsageError(
            f"a content network {architecture} has no {unknown[0]!r}; it has"
            f" {', '.join(sorted(known))}"
        )
    frames: Any
    if architecture == "ssl":
        from sordino.training.networks.content_ssl import build_ssl_frames

        frames = build_ssl_frames(network)
    elif architecture == "whisper":
        frames = build_whisper_frames(network)
    else:
        frames = ConvFrames(settings_from(ConvSizes, network.get("sizes", {})))
    output = network.get("output")
    size = _number(network, "projection", _BOTTLENECK if output == "bottleneck" else None)
    projection = nn.Identity() if size is None else nn.Linear(frames.width, size)
    head = _head(network, frames.width if size is None else size)
    return ContentNetwork(
        frames, projection, head, whole_norm=bool(network.get("layer_norm_output", False))
    )


def self_contained(network: Mapping[str, Any], content: ContentNetwork) -> dict[str, Any]:
    """A description that needs nothing but itself, as a bundle keeps it.

    Args:
        network: what the network was built from; a pre-trained "source" in it is replaced by the
            configuration that it had.
        content: what was built.
    """
    frames = content.frames
    if isinstance(frames, WhisperFrames):
        plain = {key: value for key, value in network.items() if key != "source"}
        return {**plain, "sizes": asdict(frames.sizes)}
    if network.get("architecture") != "ssl":
        return dict(network)
    from sordino.training.networks.pretrained import ssl_config

    return {**network, "ssl": {"config": ssl_config(content.frames.ssl)}}


def has_trained_units(network: Mapping[str, Any]) -> bool:
    """Whether a description is of a network whose units are learned with it.

    Example:
        >>> has_trained_units({"architecture": "conv", "output": "units"})
        True
    """
    output = network.get("output")
    return output == "soft" or (output == "units" and network.get("architecture") != "ssl")


def _head(network: Mapping[str, Any], width: int) -> Head:
    output = network.get("output")
    if output not in OUTPUTS:
        raise UsageError(f"content has no output {output!r}; it has {', '.join(OUTPUTS)}")
    if output in {"features", "bottleneck"}:
        return FrameNorm(
            width, normalise=output == "bottleneck" and network.get("frame_norm", True)
        )
    units = _number(network, "units", None)
    if units is None:
        raise UsageError(f'the output {output} needs "units", how many there are')
    if not has_trained_units(network):
        return NearestUnit(units, width)
    names = ("temperature", "temperature_at_inference", "softmax", "normalise_over")
    given = {name: network[name] for name in names if name in network}
    settings = SoftSettings(**given, hard=output == "units")
    return SoftUnits(units, width, settings)


def _number(network: Mapping[str, Any], name: str, default: int | None) -> int | None:
    value = network.get(name, default)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise UsageError(f"a content network's {name} is {value!r}; expected a number from 1")
    return value
