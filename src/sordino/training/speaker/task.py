"""The encoder together with what trains it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from sordino.training.distil.losses import side_loss
from sordino.training.losses import AamSoftmax, distillation_loss
from sordino.training.networks.encoder import build_encoder, dimension_of
from sordino.training.speaker.recipe import SpeakerRecipe


class Losses(NamedTuple):
    """Losses of a batch, without dimensions.

    Attributes:
        total: what is made small.
        classification: AAM-softmax.
        distillation: one less the cosine to the teacher's vectors; zero without a teacher.
        side: of the side head; zero without one.
    """

    total: Tensor
    classification: Tensor
    distillation: Tensor
    side: Tensor


class SpeakerTask(nn.Module):
    """Encoder and AAM-softmax; with a teacher also the distillation loss.

    Args:
        recipe: sizes and weights.
        classes: number of training speakers.
        target_dimension: of the teacher's vectors; 0 without a teacher. Where it differs from the
            encoder's a linear layer comes between.
        side: what a classifier says of each class of speakers, logits, shape (classes, side
            classes), NaN where it says nothing; None for no side head. The head is dropped with
            the rest of the task when the encoder is kept.

    Example:
        >>> recipe = SpeakerRecipe("x", {"architecture": "xvector"})
        >>> SpeakerTask(recipe, 5, 0).head.weight.shape
        torch.Size([5, 512])
    """

    def __init__(
        self,
        recipe: SpeakerRecipe,
        classes: int,
        target_dimension: int,
        side: Tensor | None = None,
    ) -> None:
        super().__init__()
        wanted = recipe.optimisation
        self.encoder = build_encoder(recipe.network)
        dimension = dimension_of(self.encoder)
        self.head = (
            AamSoftmax(dimension, classes, wanted.margin, wanted.scale)
            if wanted.classification_weight
            else None
        )
        self.to_teacher = (
            nn.Linear(dimension, target_dimension)
            if target_dimension not in {0, dimension}
            else nn.Identity()
        )
        # Drawn last: without it everything begins as it would.
        self.side_head = None if side is None else nn.Linear(dimension, side.shape[1])
        self.said: Tensor | None
        self.register_buffer("said", side, persistent=False)
        self._side = recipe.side
        self._weights = (wanted.classification_weight, recipe.teacher.weight)

    def forward(self, waves: Tensor, speakers: Tensor, targets: Tensor) -> Losses:
        """The losses of a batch (see `data.Batch`)."""
        vectors = self.encoder(waves)
        # Angles need more than 16 bits, whatever the products before them do with.
        with torch.autocast(vectors.device.type, enabled=False):
            return self._losses(vectors.float(), speakers, targets)

    def _losses(self, vectors: Tensor, speakers: Tensor, targets: Tensor) -> Losses:
        nothing = vectors.new_zeros(())
        classification = nothing if self.head is None else self.head(vectors, speakers)
        distillation = (
            distillation_loss(self.to_teacher(vectors), targets) if targets.shape[1] else nothing
        )
        of_class, of_teacher = self._weights
        aside = self._of_side(vectors, speakers)
        total = of_class * classification + of_teacher * distillation + self._side.weight * aside
        return Losses(total, classification, distillation, aside)

    def _of_side(self, vectors: Tensor, speakers: Tensor) -> Tensor:
        nothing = vectors.new_zeros(())
        if self.side_head is None or self.said is None:
            return nothing
        said = self.said[speakers]
        known = said.isfinite().all(dim=1)
        if not known.any():
            # The head belongs to every step, for processes that share gradients.
            idle: Tensor = 0 * self.side_head(vectors).sum()
            return idle
        return side_loss(self.side_head(vectors)[known], said[known], self._side.temperature)
