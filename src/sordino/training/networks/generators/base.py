"""What every waveform generator takes and gives, and how one is described."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations, parametrize

from sordino.errors import UsageError
from sordino.training.networks.encoder import settings_from

HOP = 160
PITCHES = ("log", "hertz", "none")
INPUTS = ("content", "f0", "speaker", "harmonic", "noise")
"""The arguments of every generator's `forward`, in their order."""
_KEYS = frozenset({"architecture", "content", "speaker", "pitch", "normalise", "sizes"})
_MIDDLE_HZ = 200.0


@dataclass(frozen=True)
class Conditions:
    """What a generator makes speech from.

    Attributes:
        channels: of a content frame.
        hop: samples from one content frame to the next, a multiple of 160; content is repeated to
            100 frames a second.
        speaker: length of the speaker vector; 0 for a generator of a single voice.
        pitch: "log", two channels: octaves above 200 Hz where voiced, and whether voiced; "hertz",
            one channel: F0 as it is, 0 where unvoiced; "none".
        normalise: which of "content" and "speaker" are brought to mean 0 and deviation 1 over all
            their values at once. Only for models that were trained so: the same content then
            differs with the length of the recording.

    Raises:
        UsageError: a value that is out of range.

    Example:
        >>> Conditions(channels=200, speaker=192, pitch="hertz").width
        393
    """

    channels: int
    hop: int = 320
    speaker: int = 192
    pitch: str = "log"
    normalise: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.channels < 1 or self.speaker < 0:
            raise UsageError(
                f"{self.channels} content channels and a speaker vector of {self.speaker};"
                " expected at least 1 and 0"
            )
        if self.hop < HOP or self.hop % HOP:
            raise UsageError(f"a content hop of {self.hop} samples is not a multiple of {HOP}")
        if self.pitch not in PITCHES:
            raise UsageError(f"the pitch {self.pitch!r} is not one of {', '.join(PITCHES)}")
        unknown = set(self.normalise) - {"content", "speaker"}
        if unknown:
            raise UsageError(f"{min(unknown)!r} cannot be normalised; content and speaker can")

    @property
    def width(self) -> int:
        """Channels of everything joined, for each frame."""
        return self.channels + self.pitch_width + self.speaker

    @property
    def pitch_width(self) -> int:
        """Channels of pitch."""
        return {"log": 2, "hertz": 1, "none": 0}[self.pitch]

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs that these conditions come in by."""
        pitch = () if self.pitch == "none" else ("f0",)
        return ("content", *pitch, *(("speaker",) if self.speaker else ()))


class Generator(nn.Module, ABC):
    """From what is said, how high, and whose voice, to a waveform at 16 kHz.

    Args:
        conditions: what it is made from.
        settings: the sizes, of the architecture's own class.

    Attributes:
        conditions: the same.
        settings: the same.
        inputs: which arguments of `forward` it uses, in their order; see `INPUTS`.
        context_frames: how many frames of 10 ms on each side of a frame its samples depend on;
            None where they depend on the whole recording.
    """

    inputs: tuple[str, ...]
    context_frames: int | None

    def __init__(self, conditions: Conditions, settings: Any) -> None:
        super().__init__()
        self.conditions = conditions
        self.settings = settings
        self.inputs = conditions.inputs

    @abstractmethod
    def forward(
        self,
        content: Tensor,
        f0: Tensor | None = None,
        speaker: Tensor | None = None,
        harmonic: Tensor | None = None,
        noise: Tensor | None = None,
    ) -> Tensor:
        """Waveforms of a batch.

        Args:
            content: shape (batch, frames * 160 / hop, channels).
            f0: in Hz, 0 where unvoiced, shape (batch, frames), 100 frames a second; may be None
                like everything below where `inputs` does not name it.
            speaker: shape (batch, speaker).
            harmonic: what stands for the voice's pulses, shape (batch, 160 * frames); see
                `sordino.dsp.excitation`.
            noise: white, of variance 1, the same shape.

        Returns:
            Shape (batch, 160 * frames), full scale 1.
        """

    def normed_layers(self) -> Iterable[nn.Module]:
        """The layers that training gives weight normalisation."""
        return ()


def build_generator(network: Mapping[str, Any]) -> Generator:
    """The generator that a recipe or a bundle describes, with fresh weights.

    Args:
        network: "architecture" ("hifigan", "istft" or "two-stage"), "content" (at least
            "channels"; "hop" is 320 if not given), "speaker" (length of the vector), "pitch" and
            "normalise" (see `Conditions`; "log" and nothing if not given) and "sizes" (the fields
            of the architecture's settings that are not the defaults).

    Returns:
        The generator without weight normalisation; see `add_weight_norm`.

    Raises:
        UsageError: unknown architecture, name or size.

    Example:
        >>> network = {"architecture": "hifigan", "content": {"channels": 8}, "speaker": 4,
        ...            "sizes": {"channels": 32}}
        >>> generator = build_generator(network)
        >>> generator(torch.zeros(2, 5, 8), torch.zeros(2, 10), torch.zeros(2, 4)).shape
        torch.Size([2, 1600])
    """
    unknown = sorted(set(network) - _KEYS)
    if unknown:
        raise UsageError(f"a generator has no {unknown[0]!r}; it has {', '.join(sorted(_KEYS))}")
    conditions = _conditions(network)
    architecture, sizes = network.get("architecture"), network.get("sizes", {})
    if architecture == "hifigan":
        from sordino.training.networks.generators.hifigan import HifiGan, HifiGanSettings

        return HifiGan(conditions, settings_from(HifiGanSettings, sizes))
    if architecture == "istft":
        from sordino.training.networks.generators.istft import IstftGenerator, IstftSettings

        return IstftGenerator(conditions, settings_from(IstftSettings, sizes))
    if architecture == "two-stage":
        from sordino.training.networks.generators.hifigan import HifiGanSettings
        from sordino.training.networks.generators.two_stage import TwoStage, TwoStageSettings

        vocoder = settings_from(HifiGanSettings, sizes.get("vocoder", {}))
        return TwoStage(conditions, settings_from(TwoStageSettings, {**sizes, "vocoder": vocoder}))
    raise UsageError(
        f"there is no generator {architecture!r}; there are hifigan, istft and two-stage"
    )


def add_weight_norm(generator: Generator) -> Generator:
    """Train each filter's length apart from its direction, where the architecture does so.

    The state dict then holds `parametrizations.weight.original0` (lengths) and `original1`.

    Returns:
        The same generator, changed.

    Source: T. Salimans and D. Kingma, "Weight normalization", NeurIPS 2016.
    """
    for layer in generator.normed_layers():
        parametrizations.weight_norm(layer)
    return generator


def without_weight_norm(generator: Generator) -> Generator:
    """A copy with plain weights, on the processor and ready to use, for export."""
    state = {
        name: value
        for name, value in generator.state_dict().items()
        if ".parametrizations." not in name
    }
    for name, layer in generator.named_modules():
        if parametrize.is_parametrized(layer, "weight"):
            state[f"{name}.weight"] = layer.weight.detach()
    # Not a deep copy: PyTorch would take the weights of the original away with the copy's.
    plain = type(generator)(generator.conditions, generator.settings)
    plain.load_state_dict(state)
    return plain.eval()


def at_frame_rate(content: Tensor, hop: int) -> Tensor:
    """Content repeated to 100 frames a second.

    Args:
        content: shape (batch, frames, channels).
        hop: samples from frame to frame, a multiple of 160.

    Returns:
        Shape (batch, frames * hop / 160, channels).

    Example:
        >>> at_frame_rate(torch.tensor([[[1.0], [2.0]]]), 320).flatten().tolist()
        [1.0, 1.0, 2.0, 2.0]
    """
    if hop == HOP:
        return content
    batch, _, channels = content.shape
    return content.unsqueeze(2).expand(-1, -1, hop // HOP, -1).reshape(batch, -1, channels)


def pitch_channels(f0: Tensor, pitch: str) -> Tensor:
    """F0 as a network takes it.

    Args:
        f0: in Hz, 0 where unvoiced, shape (batch, frames).
        pitch: "log" or "hertz"; see `Conditions`.

    Returns:
        Shape (batch, frames, 2 or 1).

    Example:
        >>> pitch_channels(torch.tensor([[0.0, 100.0, 200.0]]), "log")[0].tolist()
        [[0.0, 0.0], [-1.0, 1.0], [0.0, 1.0]]
    """
    if pitch == "hertz":
        return f0.unsqueeze(2)
    voiced = f0 > 0
    octaves = torch.log2(torch.where(voiced, f0, _MIDDLE_HZ) / _MIDDLE_HZ)
    return torch.stack([octaves, voiced.to(f0.dtype)], dim=2)


def normalised(values: Tensor) -> Tensor:
    """Each item of a batch brought to mean 0 and deviation 1 over all its values.

    Example:
        >>> normalised(torch.tensor([[1.0, 3.0]])).round(decimals=3).tolist()
        [[-1.0, 1.0]]
    """
    axes = tuple(range(1, values.ndim))
    centred = values - values.mean(dim=axes, keepdim=True)
    return centred / (centred.square().mean(dim=axes, keepdim=True) + 1e-5).sqrt()


def _conditions(network: Mapping[str, Any]) -> Conditions:
    content = network.get("content")
    if not isinstance(content, Mapping) or "channels" not in content or "speaker" not in network:
        raise UsageError('a generator needs "content" with "channels", and "speaker"')
    return Conditions(
        channels=int(content["channels"]),
        hop=int(content.get("hop", 320)),
        speaker=int(network["speaker"]),
        pitch=str(network.get("pitch", "log")),
        normalise=tuple(network.get("normalise", ())),
    )
