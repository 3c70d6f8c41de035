"""A listener who knows speech: how far what it hears of the one is from what it hears of the other.

Spectra that are near each other can be heard as other words. What the encoder of a recogniser makes
of speech is about the words, and has a gradient.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sordino.training.networks.content_whisper import Whisper

_LEAST_DEVIATION = 1e-3


class Listener(nn.Module):
    """Distance of speech to speech in the ears of Whisper's encoder.

    Args:
        whisper: with its weights, which stay as they are.

    Shapes:
        waveforms (batch, samples), generated and natural, to a number without dimensions: the mean
        absolute difference of frames after half of the layers and after all, in standard deviations
        of each channel over the natural ones. No gradient reaches the natural ones.

    Example:
        >>> listener = Listener(Whisper(64, 2, 20))
        >>> wave = torch.randn(1, 3200, generator=torch.Generator().manual_seed(0))
        >>> listener(wave, wave).item()
        0.0

    Source: J. Johnson et al., "Perceptual losses for real-time style transfer and
    super-resolution", ECCV 2016, section 3.2; here a recogniser has the image classifier's place.
    """

    def __init__(self, whisper: Whisper) -> None:
        super().__init__()
        self.whisper = whisper.requires_grad_(False)
        layers = len(whisper.layers)
        self._depths = sorted({(layers + 1) // 2, layers})

    def forward(self, generated: Tensor, natural: Tensor) -> Tensor:
        """The distance, mean over a batch."""
        with torch.no_grad():
            wanted = self._heard(natural)
        distances = [
            ((found - right) / (right.std(dim=(0, 1)) + _LEAST_DEVIATION)).abs().mean()
            for found, right in zip(self._heard(generated), wanted, strict=True)
        ]
        return torch.stack(distances).mean()

    def _heard(self, wave: Tensor) -> list[Tensor]:
        depths = self.whisper(self.whisper.bands(wave))
        return [depths[depth] for depth in self._depths]
