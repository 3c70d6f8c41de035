"""Encoder, noise and decoder together with what they make small."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from sordino.training.concealer.adversaries import Adversaries, Seen
from sordino.training.concealer.losses import dependence, scores_loss
from sordino.training.concealer.recipe import ConcealerRecipe, NoiseSettings
from sordino.training.losses import AamSoftmax, distillation_loss
from sordino.training.networks.concealer import AutoEncoder, Gated
from sordino.training.networks.latent_noise import LatentNoise, build_noise


class Batch(NamedTuple):
    """What a step learns from.

    Attributes:
        vectors: what the encoder gets, shape (batch, dimension).
        originals: as they were, shape (batch, dimension); the same where nothing is erased.
        labels: numbers of values, -1 where nobody knows, shape (batch, attributes).
        speakers: numbers of the training speakers, shape (batch,).
    """

    vectors: Tensor
    originals: Tensor
    labels: Tensor
    speakers: Tensor


class Losses(NamedTuple):
    """Losses of a batch, without dimensions; those without a weight are 0.

    Attributes:
        total: what is made small.
        reconstruction: one less the cosine to the original (equation 3).
        adversary: what adversaries guess (equation 2, or the confusion).
        scores: squared change of cosines between vectors.
        speakers: AAM-softmax.
        dependence: distance correlation with the attributes.
    """

    total: Tensor
    reconstruction: Tensor
    adversary: Tensor
    scores: Tensor
    speakers: Tensor
    dependence: Tensor


class ConcealerNetwork(nn.Module):
    """Encoder, noise and decoder, and in training a classifier of speakers.

    Args:
        recipe: says which.
        networks: encoder and decoder.
        dimension: numbers in a vector.
        speakers: how many training has.
    """

    def __init__(
        self,
        recipe: ConcealerRecipe,
        networks: AutoEncoder | Gated,
        dimension: int,
        speakers: int,
    ) -> None:
        super().__init__()
        wanted = recipe.optimisation
        self.encoder = networks.encoder
        self.decoder = networks.decoder
        self.noise = noise_of(recipe.noise, recipe.network.get("latent", 64))
        self.head = (
            AamSoftmax(dimension, speakers, wanted.margin, wanted.scale)
            if wanted.speakers
            else None
        )
        self._start = [value.detach().clone() for value in self._learned()]

    def forward(self, vectors: Tensor) -> Seen:
        """Released latents and protected vectors."""
        latents = self.noise(self.encoder(vectors))
        return Seen(latents, self.decoder(latents))

    def way(self) -> Tensor:
        """Squared distance of encoder and decoder from where they started."""
        return torch.stack(
            [
                (value - start.to(value)).square().sum()
                for value, start in zip(self._learned(), self._start, strict=True)
            ]
        ).sum()

    def _learned(self) -> list[nn.Parameter]:
        return [*self.encoder.parameters(), *self.decoder.parameters()]


def losses_of(
    recipe: ConcealerRecipe,
    network: ConcealerNetwork,
    adversaries: Adversaries,
    seen: Seen,
    batch: Batch,
) -> Losses:
    """What encoder and decoder have to make small (equation 4, and what the recipe adds).

    Args:
        recipe: says what counts how much.
        network: that made `seen`.
        adversaries: who guess from it.
        seen: released latents and protected vectors of the batch.
        batch: what went in.
    """
    wanted = recipe.optimisation
    nothing = seen.vector.sum() * 0
    reconstruction = (
        distillation_loss(seen.vector, batch.originals) if wanted.reconstruction else nothing
    )
    scores = scores_loss(seen.vector, batch.originals) if wanted.scores else nothing
    speakers = nothing if network.head is None else network.head(seen.vector, batch.speakers)
    told = nothing
    if wanted.dependence:
        told = torch.stack([dependence(seen.vector, column) for column in batch.labels.T]).mean()
    adversary = adversaries.fooled(seen, batch.labels)
    total = (
        wanted.reconstruction * reconstruction
        + recipe.adversary.weight * adversary
        + wanted.scores * scores
        + wanted.speakers * speakers
        + wanted.dependence * told
    )
    if wanted.still:
        total = total + wanted.still * network.way()
    return Losses(total, reconstruction, adversary, scores, speakers, told)


def noise_of(settings: NoiseSettings, latent: int) -> LatentNoise:
    """The layer that a recipe asks for.

    Example:
        >>> noise_of(NoiseSettings(in_training=False), 64).epsilon
        inf
    """
    epsilon = settings.epsilon if settings.in_training else math.inf
    return build_noise(
        settings.mechanism, latent, epsilon, delta=settings.delta, length=settings.length
    )
