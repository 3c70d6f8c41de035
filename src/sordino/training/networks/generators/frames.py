"""Short-time Fourier transform and its inverse as two matrix products, for exported graphs."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from sordino.errors import UsageError
from sordino.training.networks.generators.base import HOP


class FrameTransform(nn.Module):
    """Waveforms to spectra at 100 frames a second, and back without loss.

    Frame j is centred on sample 160 j + 80, so that n frames stand for 160 n samples exactly; the
    waveform is taken to be zero outside. Both ways a Hann window weighs the frames, and the sum of
    its squares is divided by, at the ends too.

    Args:
        size: of a frame, a multiple of 160 and at least 320.

    Raises:
        UsageError: another size.

    Example:
        >>> transform = FrameTransform(640)
        >>> wave = torch.randn(2, 800)
        >>> spectrum = transform.spectrum(wave)
        >>> [part.shape for part in spectrum]
        [torch.Size([2, 5, 321]), torch.Size([2, 5, 321])]
        >>> torch.allclose(transform.wave(*spectrum), wave, atol=1e-5)
        True
    """

    table: Tensor
    weights: Tensor
    power: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        if size < 2 * HOP or size % HOP:
            raise UsageError(f"frames of {size} samples: expected a multiple of {HOP} from 320")
        self._overlap = size // HOP
        time, bins = np.arange(size), np.arange(size // 2 + 1)
        window = 0.5 - 0.5 * np.cos(2 * np.pi * (time + 0.5) / size)
        angle = 2 * np.pi * (np.outer(time, bins) % size) / size
        table = np.concatenate([np.cos(angle), -np.sin(angle)], axis=1) * window[:, None]
        # All bins but the first and the last stand for two of the whole transform.
        weights = np.where((bins == 0) | (bins == size / 2), 1.0, 2.0) / size
        # Kept with the weights: the exporter stores other tables once for each use.
        self.register_buffer("table", torch.from_numpy(table).float())
        for name, values in (("weights", np.tile(weights, 2)), ("power", window**2)):
            self.register_buffer(name, torch.from_numpy(values).float(), persistent=False)

    def spectrum(self, wave: Tensor) -> tuple[Tensor, Tensor]:
        """Real and imaginary parts.

        Args:
            wave: shape (batch, 160 * frames).

        Returns:
            Two of shape (batch, frames, size // 2 + 1).
        """
        margin = (self._overlap - 1) * HOP // 2
        blocks = pad(wave, (margin, margin)).reshape(wave.shape[0], -1, HOP)
        frames = blocks.shape[1] - self._overlap + 1
        framed = torch.cat(
            [blocks[:, place : place + frames] for place in range(self._overlap)], dim=2
        )
        real, imaginary = torch.matmul(framed, self.table).chunk(2, dim=2)
        return real, imaginary

    def wave(self, real: Tensor, imaginary: Tensor) -> Tensor:
        """The waveform of a spectrum.

        Args:
            real: shape (batch, frames, size // 2 + 1).
            imaginary: the same.

        Returns:
            Shape (batch, 160 * frames).
        """
        framed = torch.matmul(torch.cat([real, imaginary], dim=2) * self.weights, self.table.T)
        power = self.power.expand(1, real.shape[1], -1)
        return self._added(framed) / self._added(power)

    def _added(self, framed: Tensor) -> Tensor:
        """Frames added where they overlap, without what lies before and after the waveform."""
        last = self._overlap - 1
        parts = framed.chunk(self._overlap, dim=2)
        first, *others = [
            pad(part, (0, 0, place, last - place)) for place, part in enumerate(parts)
        ]
        whole = sum(others, start=first).reshape(framed.shape[0], -1)
        margin = last * HOP // 2
        return whole[:, margin : whole.shape[1] - margin]
