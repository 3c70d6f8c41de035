"""Magnitude and log mel spectra, as losses compare them and acoustic models predict them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from sordino.errors import UsageError
from sordino.training.networks.filterbank import FilterbankSettings, mel_weights

_FLOOR = 1e-5
# The square root has no slope at zero.
_LEAST_POWER = 1e-9


@dataclass(frozen=True)
class MelSettings:
    """How a waveform becomes a log mel spectrogram; the defaults are those of HiFi-GAN's loss.

    Frame j is centred on sample (j + 1/2) * hop; the waveform is mirrored at its ends. With a hop
    of 160 there is a frame for each frame of F0.

    Attributes:
        bands: from 0 Hz to half the sample rate, on Slaney's scale, with triangles of area 1.
        fft: length of the Fourier transform.
        window: length of the Hann window, at most `fft`.
        hop: samples from frame to frame; `fft - hop` is even.
        sample_rate: in Hz.

    Raises:
        UsageError: a window or a hop that is out of range.
    """

    bands: int = 80
    fft: int = 1024
    window: int = 1024
    hop: int = 256
    sample_rate: int = 16000

    def __post_init__(self) -> None:
        if not 1 <= self.window <= self.fft or not 1 <= self.hop <= self.fft:
            raise UsageError(
                f"a window of {self.window} and a hop of {self.hop} samples; expected at most the"
                f" FFT's {self.fft}"
            )
        if (self.fft - self.hop) % 2:
            raise UsageError(
                f"an FFT of {self.fft} and a hop of {self.hop} differ by an odd number"
            )


class LogMel(nn.Module):
    """Waveform to the natural logarithm of mel magnitudes, at least ln(0.00001).

    Args:
        settings: see `MelSettings`.

    Shapes:
        (batch, samples) to (batch, bands, samples // hop).

    Example:
        >>> LogMel(MelSettings())(torch.zeros(2, 2560)).shape
        torch.Size([2, 80, 10])

    Source: J. Kong, J. Kim and J. Bae, "HiFi-GAN", NeurIPS 2020, and its public configuration.
    """

    mel: Tensor
    taper: Tensor

    def __init__(self, settings: MelSettings) -> None:
        super().__init__()
        self.settings = settings
        bank = FilterbankSettings(
            bands=settings.bands,
            sample_rate=settings.sample_rate,
            window=settings.fft,
            scale="slaney",
        )
        self.register_buffer("mel", torch.from_numpy(mel_weights(bank)).float(), persistent=False)
        self.register_buffer("taper", torch.hann_window(settings.window), persistent=False)

    def forward(self, wave: Tensor) -> Tensor:
        """Log mel frames, in 32 bits whatever the precision around."""
        margin = (self.settings.fft - self.settings.hop) // 2
        with torch.autocast(wave.device.type, enabled=False):
            padded = pad(wave.float().unsqueeze(1), (margin, margin), "reflect").squeeze(1)
            spectrum = magnitudes(padded, self.settings.fft, self.settings.hop, self.taper)
            return torch.matmul(self.mel, spectrum).clamp(min=_FLOOR).log()


def magnitudes(wave: Tensor, fft: int, hop: int, taper: Tensor) -> Tensor:
    """Magnitudes of a short-time Fourier transform, without padding.

    Args:
        wave: shape (batch, samples), at least `fft` samples.
        fft: length of the Fourier transform.
        hop: samples from frame to frame.
        taper: the window, of at most `fft` samples; it lies in the middle of a frame.

    Returns:
        Shape (batch, fft // 2 + 1, 1 + (samples - fft) // hop), at least about 0.00003.

    Example:
        >>> magnitudes(torch.zeros(1, 2048), 1024, 256, torch.hann_window(600)).shape
        torch.Size([1, 513, 5])
    """
    spectrum = torch.stft(wave, fft, hop, taper.shape[0], taper, center=False, return_complex=True)
    power = spectrum.real.square() + spectrum.imag.square()
    return (power + _LEAST_POWER).sqrt()
