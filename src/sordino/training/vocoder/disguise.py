"""Voices that a content network hears while it learns: those of the speech, changed at random."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sordino.training.networks.filterbank import FilterbankSettings, stretched_weights
from sordino.training.vocoder.recipe import AlongSettings

_FACTORS = 25
_WAVES = 4


class Disguised(NamedTuple):
    """Speech as it is heard; see `networks.content_conv.ConvFrames.forward`.

    Attributes:
        wave: shape (batch, samples).
        weights: of the filterbank, shape (batch, bands, bins).
        gains: on the bands' energies, shape (batch, bands).
    """

    wave: Tensor
    weights: Tensor
    gains: Tensor


class Disguise(nn.Module):
    """Another vocal tract, another microphone, another level and some hiss, drawn for each item.

    What stays the same through all of them is what is said, and what a network can learn from.

    Args:
        settings: how strong the changes are.
        bank: of the network that hears.

    Shapes:
        (batch, samples) to what is `Disguised`.

    Example:
        >>> settings = AlongSettings(warp=0.0, equaliser_db=0.0, level_db=0.0)
        >>> heard = Disguise(settings, FilterbankSettings(bands=40))(torch.zeros(2, 16000))
        >>> heard.weights.shape, heard.gains.unique()
        (torch.Size([2, 40, 201]), tensor([1.]))
    """

    banks: Tensor
    curves: Tensor

    def __init__(self, settings: AlongSettings, bank: FilterbankSettings) -> None:
        super().__init__()
        self._settings = settings
        factors = np.exp(np.linspace(-settings.warp, settings.warp, _FACTORS))
        banks = np.stack([stretched_weights(bank, float(factor)) for factor in factors])
        self.register_buffer("banks", torch.from_numpy(banks).float(), persistent=False)
        curves = equaliser_curves(bank.bands)
        self.register_buffer("curves", curves, persistent=False)

    def forward(self, wave: Tensor) -> Disguised:
        """Speech of a batch, changed."""
        chosen, items = self._settings, wave.shape[0]
        low, high = chosen.hiss_db
        loudness = low + (high - low) * torch.rand(items, 1, device=wave.device)
        hiss = 10 ** (loudness / 20) * torch.randn_like(wave)
        which = torch.randint(len(self.banks), (items,), device=wave.device)
        weights_of_curves = torch.randn(items, _WAVES, device=wave.device)
        level = torch.randn(items, 1, device=wave.device)
        gains_db = chosen.equaliser_db * weights_of_curves @ self.curves + chosen.level_db * level
        return Disguised(wave + hiss, self.banks[which], 10 ** (gains_db / 10))


def equaliser_curves(bands: int) -> Tensor:
    """Cosines over the bands, each wider than the next and stronger.

    Their sum with normal weights has a variance of 1, mean over the bands.

    Returns:
        Shape (4, bands).

    Example:
        >>> equaliser_curves(64).square().sum(dim=0).mean().item()
        1.0
    """
    numbers = torch.arange(1, _WAVES + 1).unsqueeze(1)
    places = (torch.arange(bands) + 0.5) / bands
    curves = torch.cos(math.pi * numbers * places) / numbers
    return curves / curves.square().sum(dim=0).mean().sqrt()
