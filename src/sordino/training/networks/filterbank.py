"""Mel filterbanks as a network layer, so that they travel inside the exported graph."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

FloatArray = npt.NDArray[np.float64]

_KNEE = 0.8


@dataclass(frozen=True)
class FilterbankSettings:
    """How a waveform becomes filterbank frames.

    Attributes:
        bands: number of mel bands.
        sample_rate: in Hz.
        window: length of a frame in samples; also the length of the Fourier transform.
        hop: samples from frame to frame.
        taper: "hamming" or "hann", both periodic.
        scale: "htk" (2595 log10(1 + f/700), triangles of height 1, as SpeechBrain has them) or
            "slaney" (linear below 1 kHz, triangles of area 1, as librosa has them).
        compression: "decibel" (with `dynamic_range`), "log" or "none", on the power.
        dynamic_range: with "decibel": values lie at most this far below the utterance's maximum.
    """

    bands: int = 80
    sample_rate: int = 16000
    window: int = 400
    hop: int = 160
    taper: Literal["hamming", "hann"] = "hamming"
    scale: Literal["htk", "slaney"] = "htk"
    compression: Literal["decibel", "log", "none"] = "decibel"
    dynamic_range: float = 80.0

    def as_dict(self) -> dict[str, object]:
        """The settings as they are stored in a bundle."""
        return asdict(self)


class Filterbank(nn.Module):
    """Waveform to mel filterbank frames.

    The first frame is centred on the first sample; the waveform is taken to be zero outside.

    Args:
        settings: see `FilterbankSettings`.

    Shapes:
        (batch, samples), full scale 1, to (batch, bands, 1 + samples // hop).

    Example:
        >>> Filterbank(FilterbankSettings())(torch.zeros(2, 16000)).shape
        torch.Size([2, 80, 101])
    """

    basis: Tensor
    mel: Tensor

    def __init__(self, settings: FilterbankSettings) -> None:
        super().__init__()
        self.settings = settings
        self.register_buffer("basis", _fourier_basis(settings), persistent=False)
        self.register_buffer(
            "mel", torch.from_numpy(mel_weights(settings)).float(), persistent=False
        )

    def forward(self, wave: Tensor, weights: Tensor | None = None) -> Tensor:
        """Filterbank frames of a batch of waveforms, in 32 bits whatever the precision around.

        Args:
            wave: shape (batch, samples).
            weights: of the bins, in the place of the mel bands': shape (bands, bins), or (batch,
                bands, bins) for others in each item; see `stretched_weights`.
        """
        with torch.autocast(wave.device.type, enabled=False):
            return self._frames(wave.float(), self.mel if weights is None else weights)

    def _frames(self, wave: Tensor, weights: Tensor) -> Tensor:
        half = self.settings.window // 2
        padded = nn.functional.pad(wave.unsqueeze(1), (half, half))
        spectrum = nn.functional.conv1d(padded, self.basis, stride=self.settings.hop)
        real, imaginary = spectrum.chunk(2, dim=1)
        energies = torch.matmul(weights, real.square() + imaginary.square())
        if self.settings.compression == "none":
            return energies
        if self.settings.compression == "log":
            return energies.clamp(min=1e-6).log()
        decibel = 10 * energies.clamp(min=1e-10).log10()
        loudest = decibel.amax(dim=(1, 2), keepdim=True)
        return torch.maximum(decibel, loudest - self.settings.dynamic_range)


def mel_weights(settings: FilterbankSettings) -> FloatArray:
    """Triangular weights over the bins of the Fourier transform.

    Returns:
        Shape (bands, window // 2 + 1).

    Example:
        >>> mel_weights(FilterbankSettings(bands=40)).shape
        (40, 201)
    """
    nyquist = settings.sample_rate / 2
    bins = np.linspace(0, nyquist, settings.window // 2 + 1)
    if settings.scale == "htk":
        top = 2595 * np.log10(1 + nyquist / 700)
        edges = 700 * (10 ** (np.linspace(0, top, settings.bands + 2) / 2595) - 1)
        below = above = (edges[1:] - edges[:-1])[:-1]
        height = np.ones(settings.bands)
    else:
        edges = _slaney_edges(nyquist, settings.bands + 2)
        below, above = edges[1:-1] - edges[:-2], edges[2:] - edges[1:-1]
        height = 2 / (edges[2:] - edges[:-2])
    distance = bins - edges[1:-1, None]
    triangles = np.minimum(1 + distance / below[:, None], 1 - distance / above[:, None])
    return np.asarray(np.maximum(triangles, 0) * height[:, None])


def stretched_weights(settings: FilterbankSettings, factor: float) -> FloatArray:
    """Weights by which a bank hears a spectrum as if it were stretched over frequency.

    What lies at f is heard at f * factor. Above a knee, whose higher side is at four fifths of half
    the sample rate, the rest is fitted in, so that no band stays empty; powers between bins are
    interpolated.

    Args:
        settings: of the bank.
        factor: above 1 as of a shorter vocal tract, below 1 as of a longer one.

    Returns:
        Shape (bands, window // 2 + 1), as of `mel_weights`.

    Example:
        >>> settings = FilterbankSettings(bands=40)
        >>> np.allclose(stretched_weights(settings, 1.0), mel_weights(settings))
        True

    Source: piecewise linear warping as in L. Lee and R. C. Rose, "Speaker normalization using
    efficient frequency warping procedures", ICASSP 1996.
    """
    nyquist = settings.sample_rate / 2
    bins = np.linspace(0, nyquist, settings.window // 2 + 1)
    knee = _KNEE * nyquist * min(1.0, 1 / factor)
    places = np.interp(bins, [0, knee * factor, nyquist], [0, knee, nyquist]) / bins[1]
    below = np.minimum(places.astype(int), bins.size - 2)
    share = places - below
    read = np.zeros((bins.size, bins.size))
    rows = np.arange(bins.size)
    read[rows, below] = 1 - share
    read[rows, below + 1] = share
    return np.asarray(mel_weights(settings) @ read)


def _slaney_edges(nyquist: float, count: int) -> FloatArray:
    break_hz, break_mel, step = 1000.0, 15.0, np.log(6.4) / 27.0
    top = break_mel + np.log(nyquist / break_hz) / step
    mels = np.linspace(0, top, count)
    linear = mels * break_hz / break_mel
    return np.asarray(
        np.where(mels < break_mel, linear, break_hz * np.exp(step * (mels - break_mel)))
    )


def _fourier_basis(settings: FilterbankSettings) -> Tensor:
    """Cosines, then sines, under the taper: shape (2 * (window // 2 + 1), 1, window)."""
    size = settings.window
    time = np.arange(size)
    offset = 0.54 if settings.taper == "hamming" else 0.5
    taper = offset - (1 - offset) * np.cos(2 * np.pi * time / size)
    # The product is reduced before it is scaled, so that large angles lose no accuracy.
    angle = 2 * np.pi * (np.outer(np.arange(size // 2 + 1), time) % size) / size
    rows = np.concatenate([np.cos(angle), np.sin(angle)]) * taper
    return torch.from_numpy(rows).float().unsqueeze(1)
