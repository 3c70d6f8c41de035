"""An encoder of several affine maps, each vector going through those that are for such voices."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import softmax


class GatedEncoder(nn.Module):
    """A mixture of affine maps; shares of a linear gate and a softmax.

    With one map for each class of an attribute, each of which brings the vectors of its class to
    where those of all lie, such an encoder needs not be told the class: the gate guesses it.

    Args:
        dimension: numbers in a vector.
        latent: numbers in a latent.
        maps: how many there are.

    Shapes:
        (batch, dimension) to (batch, latent).

    Example:
        >>> GatedEncoder(192, 64, 2)(torch.zeros(3, 192)).shape
        torch.Size([3, 64])
    """

    def __init__(self, dimension: int, latent: int, maps: int) -> None:
        super().__init__()
        self.gate = nn.Linear(dimension, maps)
        self.weight = nn.Parameter(torch.empty(maps, latent, dimension))
        self.bias = nn.Parameter(torch.zeros(maps, latent))
        for matrix in self.weight:
            nn.init.kaiming_uniform_(matrix, a=math.sqrt(5))

    def forward(self, vectors: Tensor) -> Tensor:
        """Latents of a batch of vectors."""
        shares = softmax(self.gate(vectors), dim=1)
        mapped = vectors @ self.weight.flatten(0, 1).T + self.bias.flatten()
        mapped = mapped.reshape(-1, *self.bias.shape)
        latents: Tensor = (shares.unsqueeze(2) * mapped).sum(dim=1)
        return latents
