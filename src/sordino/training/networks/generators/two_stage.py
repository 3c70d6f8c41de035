"""Two stages: an acoustic model from content to a mel spectrogram, then HiFi-GAN."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import torch
from torch import Tensor, nn

from sordino.errors import UsageError
from sordino.training.networks.generators.base import HOP, Conditions, Generator
from sordino.training.networks.generators.hifigan import HifiGan, HifiGanSettings, joined


@dataclass(frozen=True)
class TwoStageSettings:
    """Sizes of the two-stage generator.

    Attributes:
        bands: of the log mel spectrogram in between.
        layers: layers of the acoustic model.
        channels: of such a layer, for each direction of time.
        recurrent: whether the layers are bidirectional LSTMs, which see the whole recording, or
            convolutions.
        kernel: frames that a convolution sees, odd.
        postnet: convolutions that correct the spectrogram.
        postnet_channels: between them.
        vocoder: sizes of the HiFi-GAN; in a description a dictionary.

    Raises:
        UsageError: a size that is out of range.
    """

    bands: int = 80
    layers: int = 3
    channels: int = 256
    recurrent: bool = True
    kernel: int = 5
    postnet: int = 5
    postnet_channels: int = 256
    vocoder: HifiGanSettings = field(default_factory=HifiGanSettings)

    def __post_init__(self) -> None:
        if min(self.bands, self.layers, self.channels, self.postnet_channels) < 1:
            raise UsageError("bands, layers and channels start at 1")
        if self.postnet < 0 or self.kernel < 1 or self.kernel % 2 == 0:
            raise UsageError(
                f"a postnet of {self.postnet} layers with a kernel of {self.kernel} frames;"
                " expected 0 or more, and odd"
            )


class TwoStage(Generator):
    """An acoustic model that predicts a log mel spectrogram, and a HiFi-GAN that makes it sound.

    Both stages are given F0 and the speaker vector. Training can teach each on its own with
    natural spectrograms: `acoustic` and `vocode`.

    Args:
        conditions: what it is made from.
        settings: see `TwoStageSettings`.

    Shapes:
        see `Generator`.

    Example:
        >>> sizes = TwoStageSettings(
        ...     layers=1, channels=8, postnet=1, vocoder=HifiGanSettings(channels=32)
        ... )
        >>> small = TwoStage(Conditions(8, speaker=4), sizes)
        >>> content, f0, speaker = torch.zeros(1, 5, 8), torch.zeros(1, 10), torch.zeros(1, 4)
        >>> small.acoustic(content, f0, speaker).shape
        torch.Size([1, 10, 80])
        >>> small(content, f0, speaker).shape
        torch.Size([1, 1600])

    Source: after baseline B1 of N. Tomashenko et al., "The VoicePrivacy 2020 Challenge", Computer
    Speech & Language 74, 2022: an acoustic model before a neural vocoder.
    """

    def __init__(self, conditions: Conditions, settings: TwoStageSettings) -> None:
        super().__init__(conditions, settings)
        self.acoustic_model = AcousticModel(conditions.width, settings)
        normalise = tuple(name for name in conditions.normalise if name == "speaker")
        mel = replace(conditions, channels=settings.bands, hop=HOP, normalise=normalise)
        self.vocoder = HifiGan(mel, settings.vocoder)
        reach = self.acoustic_model.context_frames
        after = self.vocoder.context_frames
        unbounded = reach is None or after is None or "content" in conditions.normalise
        self.context_frames = None if unbounded else (reach or 0) + (after or 0)

    def forward(
        self,
        content: Tensor,
        f0: Tensor | None = None,
        speaker: Tensor | None = None,
        harmonic: Tensor | None = None,
        noise: Tensor | None = None,
    ) -> Tensor:
        """Waveforms of a batch, through both stages; the sources are not used."""
        return self.vocode(self.acoustic(content, f0, speaker), f0, speaker)

    def acoustic(self, content: Tensor, f0: Tensor | None, speaker: Tensor | None) -> Tensor:
        """Log mel spectrograms.

        Args:
            content: as in `forward`; so are the others.

        Returns:
            Natural logarithms of magnitudes, shape (batch, frames, bands); see
            `sordino.training.networks.spectra.MelSettings`.
        """
        mel: Tensor = self.acoustic_model(joined(self.conditions, content, f0, speaker))
        return mel

    def vocode(self, mel: Tensor, f0: Tensor | None, speaker: Tensor | None) -> Tensor:
        """Waveforms of log mel spectrograms.

        Args:
            mel: shape (batch, frames, bands).
            f0: as in `forward`.
            speaker: as in `forward`.

        Returns:
            Shape (batch, 160 * frames).
        """
        wave: Tensor = self.vocoder(mel, f0, speaker)
        return wave

    def normed_layers(self) -> Iterable[nn.Module]:
        """The vocoder's convolutions."""
        return self.vocoder.normed_layers()


class AcousticModel(nn.Module):
    """Frames of all conditions to a log mel spectrogram.

    Args:
        inputs: channels of a frame.
        settings: see `TwoStageSettings`.

    Attributes:
        context_frames: frames on each side that a frame depends on; None for all.

    Shapes:
        (batch, inputs, frames) to (batch, frames, bands).
    """

    def __init__(self, inputs: int, settings: TwoStageSettings) -> None:
        super().__init__()
        width, kernel = 2 * settings.channels, settings.kernel
        self.pre = nn.Conv1d(inputs, width, kernel, padding=kernel // 2)
        self.recurrent = (
            nn.LSTM(width, settings.channels, settings.layers, bidirectional=True, batch_first=True)
            if settings.recurrent
            else None
        )
        self.convs = nn.ModuleList(
            nn.Conv1d(width, width, kernel, padding=kernel // 2)
            for _ in range(0 if settings.recurrent else settings.layers)
        )
        self.mel = nn.Linear(width, settings.bands)
        middle = [settings.postnet_channels] * max(0, settings.postnet - 1)
        widths = [settings.bands, *middle, settings.bands]
        self.postnet = nn.ModuleList(
            nn.Conv1d(before, after, kernel, padding=kernel // 2)
            for before, after in pairwise(widths)
            if settings.postnet
        )
        layers = 1 + len(self.convs) + settings.postnet
        self.context_frames = None if settings.recurrent else layers * (kernel // 2)

    def forward(self, frames: Tensor) -> Tensor:
        """The spectrogram, corrected by the postnet."""
        hidden = torch.relu(self.pre(frames))
        for conv in self.convs:
            hidden = hidden + torch.relu(conv(hidden))
        hidden = hidden.transpose(1, 2)
        if self.recurrent is not None:
            hidden, _ = self.recurrent(hidden)
        mel: Tensor = self.mel(hidden)
        correction = mel.transpose(1, 2)
        for place, conv in enumerate(self.postnet):
            correction = conv(correction if place == 0 else torch.tanh(correction))
        return mel + correction.transpose(1, 2) if len(self.postnet) else mel
