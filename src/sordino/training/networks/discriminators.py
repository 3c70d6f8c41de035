"""Discriminators that tell natural from generated speech: by periods, scales and spectrograms."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool1d, leaky_relu, pad
from torch.nn.utils import parametrizations

from sordino.errors import UsageError
from sordino.training.networks.spectra import magnitudes

_SLOPE = 0.1
# Channels, kernel, stride and groups of the layers of a discriminator by scale.
_SCALE_LAYERS = (
    (128, 15, 1, 1),
    (128, 41, 2, 4),
    (256, 41, 2, 16),
    (512, 41, 4, 16),
    (1024, 41, 4, 16),
    (1024, 41, 1, 16),
    (1024, 5, 1, 1),
)
# Channels and stride of the layers of a discriminator by period.
_PERIOD_LAYERS = ((32, 3), (128, 3), (512, 3), (1024, 3), (1024, 1))
_SPECTRUM_CHANNELS = 32


@dataclass(frozen=True)
class DiscriminatorSettings:
    """Which discriminators there are; the defaults are HiFi-GAN's.

    Attributes:
        periods: each of these has a discriminator that sees the waveform in rows of so many
            samples.
        scales: number of discriminators that see the waveform; each at half the rate of the one
            before.
        resolutions: FFT length, hop and window length of discriminators that see a magnitude
            spectrogram.
        width: factor on all channels; less than 1 for small machines.

    Raises:
        UsageError: a value out of range, or no discriminator at all.
    """

    periods: tuple[int, ...] = (2, 3, 5, 7, 11)
    scales: int = 3
    resolutions: tuple[tuple[int, int, int], ...] = ()
    width: float = 1.0

    def __post_init__(self) -> None:
        if self.scales < 0 or any(period < 1 for period in self.periods) or not self.width > 0:
            raise UsageError(
                f"periods {self.periods}, {self.scales} scales and width {self.width}: expected"
                " periods from 1, scales from 0 and a width above 0"
            )
        if not (self.periods or self.scales or self.resolutions):
            raise UsageError("no discriminator: name periods, scales or resolutions")


class Judgement(NamedTuple):
    """What discriminators say of a batch of waveforms.

    Attributes:
        scores: one tensor of each discriminator, with a score for every place; near 1 for natural.
        features: of each discriminator what its layers gave, the scores last.
    """

    scores: list[Tensor]
    features: list[list[Tensor]]


class Discriminators(nn.Module):
    """All discriminators that the settings name.

    Args:
        settings: see `DiscriminatorSettings`.

    Shapes:
        waveforms (batch, samples) to a `Judgement`.

    Example:
        >>> judges = Discriminators(DiscriminatorSettings(periods=(2, 3), scales=1, width=0.1))
        >>> [score.shape for score in judges(torch.zeros(2, 3200)).scores]
        [torch.Size([2, 40]), torch.Size([2, 42]), torch.Size([2, 50])]

    Source: J. Kong, J. Kim and J. Bae, "HiFi-GAN", NeurIPS 2020, section 2.3; the one on
    spectrograms after W. Jang et al., "UnivNet", Interspeech 2021.
    """

    def __init__(self, settings: DiscriminatorSettings) -> None:
        super().__init__()
        self.settings = settings
        self.periods = nn.ModuleList(
            PeriodDiscriminator(period, settings.width) for period in settings.periods
        )
        self.scales = nn.ModuleList(
            ScaleDiscriminator(settings.width, spectral=number == 0)
            for number in range(settings.scales)
        )
        self.resolutions = nn.ModuleList(
            SpectrumDiscriminator(*resolution, settings.width)
            for resolution in settings.resolutions
        )

    def forward(self, wave: Tensor) -> Judgement:
        """Judge a batch of waveforms."""
        features = [judge(wave) for judge in self.periods]
        slower = wave
        for number, judge in enumerate(self.scales):
            if number:
                slower = avg_pool1d(slower.unsqueeze(1), 4, 2, padding=2).squeeze(1)
            features.append(judge(slower))
        features += [judge(wave) for judge in self.resolutions]
        return Judgement([layers[-1].flatten(1) for layers in features], features)


class PeriodDiscriminator(nn.Module):
    """Sees every n-th sample: two-dimensional layers that are one sample wide.

    Args:
        period: n.
        width: factor on channels.

    Shapes:
        (batch, samples) to what each layer gives.
    """

    def __init__(self, period: int, width: float) -> None:
        super().__init__()
        self.period = period
        channels = [1, *(scaled(count, width, 4) for count, _ in _PERIOD_LAYERS)]
        self.convs = nn.ModuleList(
            parametrizations.weight_norm(
                nn.Conv2d(before, after, (5, 1), (stride, 1), padding=(2, 0))
            )
            for (before, after), (_, stride) in zip(pairwise(channels), _PERIOD_LAYERS, strict=True)
        )
        self.conv_post = parametrizations.weight_norm(
            nn.Conv2d(channels[-1], 1, (3, 1), padding=(1, 0))
        )

    def forward(self, wave: Tensor) -> list[Tensor]:
        """What each layer gives, the scores last."""
        missing = -wave.shape[1] % self.period
        wave = pad(wave.unsqueeze(1), (0, missing), "reflect")
        return layered(wave.reshape(wave.shape[0], 1, -1, self.period), self.convs, self.conv_post)


class ScaleDiscriminator(nn.Module):
    """Sees the waveform through long, strided, grouped convolutions.

    Args:
        width: factor on channels.
        spectral: whether weights are divided by their largest singular value, in place of weight
            normalisation.

    Shapes:
        (batch, samples) to what each layer gives.
    """

    def __init__(self, width: float, *, spectral: bool) -> None:
        super().__init__()
        norm: Callable[[nn.Module], nn.Module] = (
            parametrizations.spectral_norm if spectral else parametrizations.weight_norm
        )
        channels = [1, *(scaled(layer[0], width, 16) for layer in _SCALE_LAYERS)]
        self.convs = nn.ModuleList(
            norm(nn.Conv1d(before, after, kernel, stride, padding=kernel // 2, groups=groups))
            for (before, after), (_, kernel, stride, groups) in zip(
                pairwise(channels), _SCALE_LAYERS, strict=True
            )
        )
        self.conv_post = norm(nn.Conv1d(channels[-1], 1, 3, padding=1))

    def forward(self, wave: Tensor) -> list[Tensor]:
        """What each layer gives, the scores last."""
        return layered(wave.unsqueeze(1), self.convs, self.conv_post)


class SpectrumDiscriminator(nn.Module):
    """Sees a magnitude spectrogram as an image.

    Args:
        fft: length of the Fourier transform.
        hop: samples from frame to frame.
        window: length of the Hann window.
        width: factor on channels.

    Shapes:
        (batch, samples) to what each layer gives.
    """

    taper: Tensor

    def __init__(self, fft: int, hop: int, window: int, width: float) -> None:
        super().__init__()
        self.fft, self.hop = fft, hop
        self.register_buffer("taper", torch.hann_window(window), persistent=False)
        channels = scaled(_SPECTRUM_CHANNELS, width, 4)
        self.convs = nn.ModuleList(
            parametrizations.weight_norm(nn.Conv2d(before, channels, kernel, stride, padding))
            for before, kernel, stride, padding in (
                (1, (9, 3), (1, 1), (4, 1)),
                (channels, (9, 3), (2, 1), (4, 1)),
                (channels, (9, 3), (2, 1), (4, 1)),
                (channels, (9, 3), (2, 1), (4, 1)),
                (channels, (3, 3), (1, 1), (1, 1)),
            )
        )
        self.conv_post = parametrizations.weight_norm(nn.Conv2d(channels, 1, 3, padding=1))

    def forward(self, wave: Tensor) -> list[Tensor]:
        """What each layer gives, the scores last."""
        margin = (self.fft - self.hop) // 2
        with torch.autocast(wave.device.type, enabled=False):
            padded = pad(wave.float().unsqueeze(1), (margin, margin), "reflect").squeeze(1)
            spectrum = magnitudes(padded, self.fft, self.hop, self.taper)
        return layered(spectrum.unsqueeze(1), self.convs, self.conv_post)


def layered(signal: Tensor, convs: Iterable[nn.Module], last: nn.Module) -> list[Tensor]:
    """What each layer gives: after its leaky ReLU, and the last as it is."""
    features = []
    for conv in convs:
        signal = leaky_relu(conv(signal), _SLOPE)
        features.append(signal)
    return [*features, last(signal)]


def scaled(channels: int, width: float, multiple: int) -> int:
    """A number of channels times a factor, rounded to a multiple that groups divide.

    Example:
        >>> [scaled(128, width, 16) for width in (1.0, 0.3, 0.001)]
        [128, 32, 16]
    """
    return max(1, round(channels * width / multiple)) * multiple
