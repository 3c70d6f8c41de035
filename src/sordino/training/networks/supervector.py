"""The speaker network on fixed vectors, such as supervectors of a trigger phrase."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sordino.errors import UsageError

LAYERS = 4


class SpeakerNetwork(nn.Module):
    """Four layers of batch normalisation and sigmoid, then a linear embedding, normalised too.

    The paper's widths are lost; its embedding has 100 numbers.

    Args:
        inputs: numbers in a vector: 520 in the paper.
        width: of the four layers.
        embedding: numbers in an embedding.
        middle: further numbers that are known of each vector and come in between the second and
            the third layer; 0 for none. It is how the paper's second rejected alternative uses a
            classifier's output.

    Raises:
        UsageError: a size is out of range.

    Shapes:
        (batch, inputs), and (batch, middle) where there is a middle, to (batch, embedding).

    Example:
        >>> SpeakerNetwork(520).eval()(torch.zeros(2, 520)).shape
        torch.Size([2, 100])

    Source: F. Granqvist et al., "Improving on-device speaker verification using federated learning
    with privacy", 2020, section 3.
    """

    def __init__(
        self, inputs: int, width: int = 256, embedding: int = 100, middle: int = 0
    ) -> None:
        super().__init__()
        if min(inputs, width, embedding) < 1 or middle < 0:
            raise UsageError("layers need a width of at least 1, and a middle of at least 0")
        self.inputs, self.width, self.embedding, self.middle = inputs, width, embedding, middle
        self.lower = nn.Sequential(*_bent(inputs, width), *_bent(width, width))
        self.upper = nn.Sequential(
            *_bent(width + middle, width),
            *_bent(width, width),
            nn.Linear(width, embedding),
            nn.BatchNorm1d(embedding),
        )

    def forward(self, vectors: Tensor, known: Tensor | None = None) -> Tensor:
        """Embeddings; `known` is what goes into the middle."""
        inside = self.lower(vectors)
        if self.middle:
            if known is None:
                raise UsageError("this network needs what goes into its middle layer")
            inside = torch.cat([inside, known], dim=1)
        embeddings: Tensor = self.upper(inside)
        return embeddings


def _bent(before: int, after: int) -> list[nn.Module]:
    return [nn.Linear(before, after), nn.BatchNorm1d(after), nn.Sigmoid()]
