"""A small content network of bounded reach: filterbank and ConvNeXt blocks over time."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool1d

from sordino.errors import UsageError
from sordino.training.networks.convnext import TimeBlock
from sordino.training.networks.filterbank import Filterbank, FilterbankSettings

_MEL_HOP = 160
_MEL_WINDOW = 400
# Energies this far below the average around them, and below this in themselves, are silence.
_FLOOR, _SILENCE = 1e-6, 1e-6


@dataclass(frozen=True)
class ConvSizes:
    """Sizes of the small content network.

    Attributes:
        channels: of a frame inside the network.
        early: blocks at 100 frames a second, before the frames are joined.
        blocks: blocks at the rate of the content.
        kernel: frames that a block sees, odd.
        widening: how many times as many channels a block has inside.
        bands: of the filterbank.
        level: energies are taken in relation to their average over so many frames of 10 ms on each
            side, so that the level leaves no trace; 0 leaves them as they are.
        hop: samples from frame to frame, 320 or 160.

    Raises:
        UsageError: a size out of its range.
    """

    channels: int = 256
    early: int = 2
    blocks: int = 8
    kernel: int = 7
    widening: int = 3
    bands: int = 64
    level: int = 40
    hop: int = 320

    def __post_init__(self) -> None:
        if min(self.channels, self.kernel, self.widening, self.bands) < 1:
            raise UsageError("channels, kernel, widening and bands start at 1")
        if min(self.early, self.blocks, self.level) < 0:
            raise UsageError("early, blocks and level start at 0")
        if self.kernel % 2 == 0:
            raise UsageError(f"a kernel of {self.kernel} frames has no middle; expected odd")
        if self.hop not in {_MEL_HOP, 2 * _MEL_HOP}:
            raise UsageError(f"a content hop of {self.hop} samples is neither 320 nor 160")


class ConvFrames(nn.Module):
    """Waveform to frames that depend on a bounded stretch of it.

    Nothing in it runs over the whole utterance: a long recording can be cut into pieces, each with
    `context` samples more on both sides, and gives the same frames.

    Args:
        sizes: see `ConvSizes`.

    Attributes:
        hop: samples from frame to frame.
        width: values of a frame.
        context: see `content.ContentNetwork`.

    Shapes:
        (batch, samples) to (batch, samples // hop, channels).

    Example:
        >>> ConvFrames(ConvSizes(channels=8, early=0, blocks=1))(torch.zeros(1, 640)).shape
        torch.Size([1, 2, 8])
    """

    def __init__(self, sizes: ConvSizes) -> None:
        super().__init__()
        self.hop = sizes.hop
        self.width = sizes.channels
        side = sizes.kernel // 2
        self.context: int | None = (
            _MEL_WINDOW // 2
            + _MEL_HOP * (sizes.level + sizes.early * side)
            + sizes.hop * sizes.blocks * side
        )
        self._level = sizes.level
        self.filterbank = Filterbank(
            FilterbankSettings(
                bands=sizes.bands, window=_MEL_WINDOW, hop=_MEL_HOP, compression="none"
            )
        )
        self.first = nn.Linear(sizes.bands, sizes.channels)
        self.first_norm = nn.LayerNorm(sizes.channels)
        self.early = nn.Sequential(*(_block(sizes) for _ in range(sizes.early)))
        # The filterbank's frames are centred on the edges of those of the content.
        joined = 1 + sizes.hop // _MEL_HOP
        self.join = nn.Conv1d(sizes.channels, sizes.channels, joined, sizes.hop // _MEL_HOP)
        self.blocks = nn.Sequential(*(_block(sizes) for _ in range(sizes.blocks)))
        self.last_norm = nn.LayerNorm(sizes.channels)

    def forward(
        self, wave: Tensor, weights: Tensor | None = None, gains: Tensor | None = None
    ) -> Tensor:
        """Frames of a batch of waveforms of one length.

        Args:
            wave: shape (batch, samples).
            weights: of the filterbank, in training on changed voices; see `Filterbank.forward`.
            gains: factors on the bands' energies, shape (batch, bands); the same.
        """
        with torch.autocast(wave.device.type, enabled=False):
            energies = self.filterbank(wave, weights)
            if gains is not None:
                energies = energies * gains.unsqueeze(2)
            bands = _logarithm(energies, self._level)
        frames = self.early(self.first_norm(self.first(bands.transpose(1, 2))))
        joined = self.join(frames.transpose(1, 2)).transpose(1, 2)
        content: Tensor = self.last_norm(self.blocks(joined))
        return content


def _block(sizes: ConvSizes) -> TimeBlock:
    return TimeBlock(sizes.channels, kernel=sizes.kernel, widening=sizes.widening)


def _logarithm(energies: Tensor, level: int) -> Tensor:
    """Logarithms of energies in relation to what is around them: (batch, bands, frames)."""
    if level == 0:
        return (energies + _SILENCE).log()
    average = avg_pool1d(
        energies.mean(dim=1, keepdim=True), 2 * level + 1, 1, level, count_include_pad=False
    )
    return (energies / (average + _SILENCE) + _FLOOR).log()
