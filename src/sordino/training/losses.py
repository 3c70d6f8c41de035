"""What training makes small."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class AamSoftmax(nn.Module):
    """Additive angular margin softmax (Deng et al., CVPR 2019, Eq. 3).

    The angle between a vector and its own class is made larger by the margin before the softmax
    over scaled cosines. Where the angle would pass 180 degrees, the cosine goes on falling in a
    straight line.

    Args:
        dimension: of the vectors.
        classes: number of speakers.
        margin: in radians.
        scale: factor on the cosines.

    Shapes:
        vectors (batch, dimension) and classes (batch,) to a loss without dimensions.

    Example:
        >>> AamSoftmax(2, 2)(torch.eye(2), torch.tensor([0, 1])).ndim
        0
    """

    def __init__(
        self, dimension: int, classes: int, margin: float = 0.2, scale: float = 30.0
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(classes, dimension))
        nn.init.xavier_uniform_(self.weight)
        self.margin = margin
        self.scale = scale

    def forward(self, vectors: Tensor, classes: Tensor) -> Tensor:
        """The mean loss of a batch."""
        cosines = nn.functional.linear(
            nn.functional.normalize(vectors), nn.functional.normalize(self.weight)
        )
        own = cosines.gather(1, classes.unsqueeze(1)).clamp(-1 + 1e-6, 1 - 1e-6)
        shifted = torch.cos(torch.acos(own) + self.margin)
        beyond = own - math.sin(self.margin) * self.margin
        with_margin = torch.where(own > -math.cos(self.margin), shifted, beyond)
        logits = self.scale * cosines.scatter(1, classes.unsqueeze(1), with_margin)
        return nn.functional.cross_entropy(logits, classes)


def distillation_loss(vectors: Tensor, targets: Tensor) -> Tensor:
    """One less the cosine of each vector to its teacher's, mean over the batch.

    Args:
        vectors: shape (batch, dimension).
        targets: the same shape.

    Example:
        >>> round(distillation_loss(torch.ones(1, 2), 2 * torch.ones(1, 2)).item(), 6)
        0.0
    """
    return 1 - nn.functional.cosine_similarity(vectors, targets).mean()
