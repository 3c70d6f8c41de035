"""Cheap generator: a network at frame rate shapes a harmonic and a noise source by spectra."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, normalize

from sordino.errors import UsageError
from sordino.training.networks.generators.base import (
    HOP,
    Conditions,
    Generator,
    at_frame_rate,
    normalised,
    pitch_channels,
)
from sordino.training.networks.generators.frames import FrameTransform

# Limits of the gains' natural logarithm: no weights give infinity, and the lowest is inaudible.
_LOWEST, _HIGHEST = -12.0, 3.0
# Of fresh weights: how loud the buzz is below its corner, where it falls from, and the noise.
_BUZZ, _CORNER_HZ, _HISS = 0.16, 500.0, 0.005
_NYQUIST = 8000.0


@dataclass(frozen=True)
class IstftSettings:
    """Sizes of the inverse-STFT generator.

    Attributes:
        channels: of a frame inside the network.
        hidden: channels between the two layers of a block.
        blocks: how many.
        kernel: frames that a block's convolution sees, odd.
        fft: length of the Fourier transform and of its Hann window, a multiple of 160 from 320.
        phase: whether the harmonic source's phases are changed too.

    Raises:
        UsageError: a size that is out of range.
    """

    channels: int = 320
    hidden: int = 800
    blocks: int = 6
    kernel: int = 7
    fft: int = 640
    phase: bool = True

    def __post_init__(self) -> None:
        if min(self.channels, self.hidden, self.blocks) < 1:
            raise UsageError("channels, hidden and blocks start at 1")
        if self.kernel < 1 or self.kernel % 2 == 0:
            raise UsageError(f"a kernel of {self.kernel} frames has no middle; expected odd")


class VoicedNorm(nn.Module):
    """Layer normalisation of each frame, scaled and shifted by what the speaker vector says.

    Args:
        channels: of a frame.
        speaker: length of the speaker vector; 0 for one scale and shift.

    Shapes:
        (batch, frames, channels) to the same.
    """

    def __init__(self, channels: int, speaker: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels, eps=1e-6, elementwise_affine=not speaker)
        self.voice = nn.Linear(speaker, 2 * channels) if speaker else None
        if self.voice is not None:
            nn.init.normal_(self.voice.weight, 0.0, 0.1 / math.sqrt(speaker))
            nn.init.zeros_(self.voice.bias)

    def forward(self, frames: Tensor, speaker: Tensor | None) -> Tensor:
        """Normalise every frame on its own."""
        normed: Tensor = self.norm(frames)
        if self.voice is None:
            return normed
        assert speaker is not None
        scale, shift = self.voice(speaker).unsqueeze(1).chunk(2, dim=2)
        voiced: Tensor = normed * (1 + scale) + shift
        return voiced


class Block(nn.Module):
    """ConvNeXt block: depthwise convolution, normalisation, two layers, beside a shortcut.

    Shapes:
        (batch, frames, channels) to the same.

    Source: Z. Liu et al., "A ConvNet for the 2020s", CVPR 2022; for vocoders H. Siuzdak, "Vocos",
    ICLR 2024.
    """

    def __init__(self, settings: IstftSettings, speaker: int) -> None:
        super().__init__()
        channels, kernel = settings.channels, settings.kernel
        self.conv = nn.Conv1d(channels, channels, kernel, padding=kernel // 2, groups=channels)
        self.norm = VoicedNorm(channels, speaker)
        self.wide = nn.Linear(channels, settings.hidden)
        self.narrow = nn.Linear(settings.hidden, channels)
        self.scale = nn.Parameter(torch.full((channels,), 1 / settings.blocks))

    def forward(self, frames: Tensor, speaker: Tensor | None) -> Tensor:
        """Apply the block."""
        inner = self.conv(frames.transpose(1, 2)).transpose(1, 2)
        inner = self.narrow(gelu(self.wide(self.norm(inner, speaker))))
        out: Tensor = frames + self.scale * inner
        return out


class IstftGenerator(Generator):
    """A harmonic and a noise source, filtered by what a network says at every frame.

    The network (ConvNeXt blocks, scaled and shifted by the direction of the speaker vector) gives
    for each frame the log gain of each source in every bin and, with `phase`, the angle by which
    the harmonic source is turned there. The sources' spectra are multiplied with it, added, and
    brought back to samples by weighted overlap-add. No value depends on the length of the
    recording. Fresh weights give a buzz where the source is voiced, with weak noise.

    Args:
        conditions: what it is made from.
        settings: see `IstftSettings`.

    Raises:
        UsageError: sizes that are out of range.

    Shapes:
        see `Generator`.

    Example:
        >>> small = IstftGenerator(Conditions(8, speaker=4), IstftSettings(16, 32, 2))
        >>> source = torch.zeros(1, 1600)
        >>> small(torch.zeros(1, 5, 8), torch.zeros(1, 10), torch.ones(1, 4), source, source).shape
        torch.Size([1, 1600])
    """

    def __init__(self, conditions: Conditions, settings: IstftSettings) -> None:
        super().__init__(conditions, settings)
        self.inputs = (*conditions.inputs, "harmonic", "noise")
        channels, bins = settings.channels, settings.fft // 2 + 1
        self.transform = FrameTransform(settings.fft)
        self.content = nn.Linear(conditions.channels, channels)
        self.pitch = nn.Linear(conditions.pitch_width, channels) if conditions.pitch_width else None
        self.blocks = nn.ModuleList(
            Block(settings, conditions.speaker) for _ in range(settings.blocks)
        )
        self.norm = VoicedNorm(channels, conditions.speaker)
        self.head = nn.Linear(channels, (3 if settings.phase else 2) * bins)
        nn.init.normal_(self.head.weight, 0.0, 0.1 / math.sqrt(channels))
        with torch.no_grad():
            self.head.bias.copy_(_first_filters(bins, phase=settings.phase))
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
        """Waveforms of a batch."""
        assert harmonic is not None
        assert noise is not None
        hum, hiss, *turn = self.filters(content, f0, speaker)
        spectra = self.transform.spectrum(torch.cat([harmonic, noise]))
        (real, noise_real), (imaginary, noise_imaginary) = (part.chunk(2) for part in spectra)
        if turn:
            cosine, sine = hum * torch.cos(turn[0]), hum * torch.sin(turn[0])
            real, imaginary = real * cosine - imaginary * sine, real * sine + imaginary * cosine
        else:
            real, imaginary = real * hum, imaginary * hum
        return self.transform.wave(real + noise_real * hiss, imaginary + noise_imaginary * hiss)

    def filters(
        self, content: Tensor, f0: Tensor | None, speaker: Tensor | None
    ) -> tuple[Tensor, ...]:
        """Gains of the harmonic and of the noise source and, with `phase`, angles in radians.

        Args:
            content: as in `forward`; so are the others.

        Returns:
            Two or three of shape (batch, frames, fft // 2 + 1).
        """
        conditions = self.conditions
        if "content" in conditions.normalise:
            content = normalised(content)
        if speaker is not None:
            if "speaker" in conditions.normalise:
                speaker = normalised(speaker)
            # Only the direction counts: means of several vectors are shorter than each.
            speaker = normalize(speaker) * math.sqrt(conditions.speaker)
        # At the lower rate first: half the work.
        frames = at_frame_rate(self.content(content), conditions.hop)
        if self.pitch is not None:
            assert f0 is not None
            frames = frames + self.pitch(pitch_channels(f0, conditions.pitch))
        for block in self.blocks:
            frames = block(frames, speaker)
        hum, hiss, *turn = self.head(self.norm(frames, speaker)).chunk(
            3 if self.settings.phase else 2, dim=2
        )
        return (
            torch.exp(hum.clamp(_LOWEST, _HIGHEST)),
            torch.exp(hiss.clamp(_LOWEST, _HIGHEST)),
            *turn,
        )


def context_of(settings: IstftSettings) -> int:
    """How many frames on each side the samples of a frame depend on.

    Filters reach samples as far as half a Fourier frame; sources do so twice.

    Example:
        >>> context_of(IstftSettings())
        20
    """
    half = settings.fft // (2 * HOP)
    return max(settings.blocks * (settings.kernel // 2) + half, 2 * half)


def _first_filters(bins: int, *, phase: bool) -> Tensor:
    """What the head says before training: log gains of both sources, and no turn."""
    frequencies = torch.linspace(0, _NYQUIST, bins)
    hum = math.log(_BUZZ) - 0.5 * torch.log1p((frequencies / _CORNER_HZ).square())
    hiss = torch.full((bins,), math.log(_HISS))
    return torch.cat([hum, hiss, *([torch.zeros(bins)] if phase else [])])
