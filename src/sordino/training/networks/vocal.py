"""Network that tells a class from a vector: what federated training learns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from sordino.errors import UsageError

ACTIVATIONS = {"sigmoid": nn.Sigmoid, "relu": nn.ReLU}


class VocalClassifier(nn.Module):
    """Linear layers with a bend between them.

    There is no batch normalisation: its running means would be updates too, which no clip bounds.

    Args:
        inputs: components of a vector.
        hidden: widths of the layers between; none for logistic regression.
        classes: how many there are, from 2.
        activation: "sigmoid" or "relu".
        layer_norm: normalise what comes out of each layer between, vector by vector.

    Raises:
        UsageError: there is no such activation, or a size is too small.

    Shapes:
        (batch, inputs) to (batch, classes), which are logits.

    Example:
        >>> import torch
        >>> VocalClassifier(8, (4,), 2)(torch.zeros(3, 8)).shape
        torch.Size([3, 2])

    Source: F. Granqvist et al., "Improving on-device speaker verification using federated learning
    with privacy", 2020, section 4.
    """

    def __init__(
        self,
        inputs: int,
        hidden: Sequence[int],
        classes: int,
        *,
        activation: str = "sigmoid",
        layer_norm: bool = False,
    ) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise UsageError(f"activation {activation!r} is not one of: {', '.join(ACTIVATIONS)}")
        if min((inputs, *hidden)) < 1 or classes < 2:
            raise UsageError("layers need a width of at least 1, and at least 2 classes")
        sizes = (inputs, *hidden)
        layers: list[nn.Module] = []
        for before, after in pairwise(sizes):
            layers.append(nn.Linear(before, after))
            if layer_norm:
                layers.append(nn.LayerNorm(after))
            layers.append(ACTIVATIONS[activation]())
        layers.append(nn.Linear(sizes[-1], classes))
        self.layers = nn.Sequential(*layers)

    def forward(self, vectors: Tensor) -> Tensor:
        """Logits of the classes."""
        logits: Tensor = self.layers(vectors)
        return logits
