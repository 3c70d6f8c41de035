"""A content network together with what trains it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from sordino.training.content.data import NO_UNIT
from sordino.training.content.recipe import ContentRecipe, DecoderSettings
from sordino.training.networks.content import ContentNetwork, has_trained_units
from sordino.training.networks.content_heads import SoftSettings, SoftUnits


class ContentLosses(NamedTuple):
    """Losses of a batch, without dimensions, over the frames that have targets.

    Attributes:
        total: what is made small.
        unit: cross-entropy to the teacher's units, in nats; 0 where it has no weight.
        feature: mean squared difference to the teacher's features, of which guessing their mean
            would give 1; 0 where it has no weight.
        accuracy: share of frames whose unit is found; 0 where units are not learned.
    """

    total: Tensor
    unit: Tensor
    feature: Tensor
    accuracy: Tensor


class ContentTask(nn.Module):
    """A content network, and what guesses units and features from its code.

    The cross-entropy is of a softmax over cosines divided by a temperature (Miao et al., Odyssey
    2022, Eq. 1): by the network's own units where it has some, else by units that only training
    knows, after a decoder.

    Args:
        recipe: sizes and weights.
        network: what is trained.
        units: how many the teacher has.
        dimension: of the teacher's features.
    """

    def __init__(
        self, recipe: ContentRecipe, network: ContentNetwork, units: int, dimension: int
    ) -> None:
        super().__init__()
        wanted = recipe.optimisation
        self.network = network
        self._weights = (wanted.unit_weight, wanted.feature_weight)
        self._noise = recipe.decoder.noise
        self._own_units = has_trained_units(recipe.network)
        width = network.projection.out_features if _projects(network) else network.frames.width
        assert isinstance(width, int)
        guesses = wanted.feature_weight > 0 or not self._own_units
        self.decoder = _decoder(width, recipe.decoder) if guesses else None
        inside = recipe.decoder.channels if recipe.decoder.layers else width
        self.to_units = (
            SoftUnits(units, inside, SoftSettings())
            if wanted.unit_weight and not self._own_units
            else None
        )
        self.to_features = nn.Linear(inside, dimension) if wanted.feature_weight else None

    def forward(self, waves: Tensor, units: Tensor, features: Tensor) -> ContentLosses:
        """The losses of a batch (see `data.ContentBatch`)."""
        frames = self.network.projected(waves)
        code = frames if self._own_units else self.network.head(frames)
        if self.training and self._noise and not self._own_units:
            code = code + self._noise * torch.randn_like(code)
        decoded = code if self.decoder is None else self.decoder(code)
        # Angles and small differences need more than 16 bits.
        with torch.autocast(waves.device.type, enabled=False):
            return self._losses(frames.float(), decoded.float(), units, features)

    def _losses(
        self, frames: Tensor, decoded: Tensor, units: Tensor, features: Tensor
    ) -> ContentLosses:
        known = units != NO_UNIT
        count = known.sum().clamp(min=1)
        unit = feature = accuracy = frames.new_zeros(())
        of_units, of_features = self._weights
        logits = None
        if self._own_units and of_units:
            assert isinstance(self.network.head, SoftUnits)
            logits = self.network.head.logits(frames)
        elif self.to_units is not None:
            logits = self.to_units.logits(decoded)
        if logits is not None:
            each = cross_entropy(
                logits.flatten(0, 1), units.flatten(), ignore_index=NO_UNIT, reduction="sum"
            )
            unit = each / count
            accuracy = (logits.argmax(dim=2) == units).sum() / count
        if self.to_features is not None:
            wrong = (self.to_features(decoded) - features).square().mean(dim=2)
            feature = (wrong * known).sum() / count
        total = of_units * unit + of_features * feature
        return ContentLosses(total, unit, feature, accuracy)


class _Channels(nn.Module):
    """Convolutions over frames: (batch, frames, channels) to the same shape."""

    def __init__(self, layers: list[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, frames: Tensor) -> Tensor:
        result: Tensor = self.layers(frames.transpose(1, 2)).transpose(1, 2)
        return result


def _decoder(width: int, settings: DecoderSettings) -> nn.Module:
    layers: list[nn.Module] = []
    for _ in range(settings.layers):
        layers += [
            nn.Conv1d(width, settings.channels, settings.kernel, padding=settings.kernel // 2),
            nn.GELU(),
        ]
        width = settings.channels
    return _Channels(layers)


def _projects(network: ContentNetwork) -> bool:
    return isinstance(network.projection, nn.Linear)
