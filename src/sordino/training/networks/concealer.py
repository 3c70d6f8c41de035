"""Networks that conceal an attribute in speaker vectors, and those that guess it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax, logsigmoid, normalize

from sordino.errors import UsageError
from sordino.training.networks.gated import GatedEncoder

ARCHITECTURES = ("autoencoder", "gated")


class AutoEncoder(nn.Module):
    """The paper's encoder and decoder.

    A layer to the latent, ReLU and batch normalisation; a layer back and tanh.

    Args:
        dimension: numbers in a vector.
        latent: numbers in a latent.

    Attributes:
        encoder: maps (batch, dimension) to (batch, latent).
        decoder: and back.

    Example:
        >>> networks = AutoEncoder(192, 64).eval()
        >>> networks.decoder(networks.encoder(torch.zeros(2, 192))).shape
        torch.Size([2, 192])

    Source: O. Chouchane et al., "Differentially private adversarial auto-encoder to protect
    gender in voice biometrics", 2023, section 4.
    """

    def __init__(self, dimension: int, latent: int = 64) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(dimension, latent), nn.ReLU(), nn.BatchNorm1d(latent)
        )
        self.decoder = nn.Sequential(nn.Linear(latent, dimension), nn.Tanh())


class Gated(nn.Module):
    """An encoder of several affine maps, one for each class of voices, and a linear decoder.

    Protected vectors have length 1: how long a vector is tells scorers nothing, but attackers.

    Args:
        dimension: numbers in a vector.
        latent: numbers in a latent.
        maps: how many affine maps the encoder has; see `GatedEncoder`.

    Attributes:
        encoder: maps (batch, dimension) to (batch, latent).
        decoder: and back.

    Example:
        >>> networks = Gated(192, 16)
        >>> networks.decoder(networks.encoder(torch.ones(2, 192))).norm(dim=1).round().tolist()
        [1.0, 1.0]
    """

    def __init__(self, dimension: int, latent: int = 64, maps: int = 2) -> None:
        super().__init__()
        self.encoder = GatedEncoder(dimension, latent, maps)
        self.decoder = Directions(latent, dimension)


class Directions(nn.Linear):
    """A linear map whose results are scaled to length 1.

    Args:
        inputs: numbers in a latent.
        outputs: numbers in a vector.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)

    def forward(self, latents: Tensor) -> Tensor:
        """Directions, shape (batch, outputs)."""
        return normalize(super().forward(latents))


class Classifier(nn.Module):
    """Two layers that guess a class: ReLU between them, a sigmoid or softmax at the end.

    The paper's discriminator has 64 inputs and 32 hidden units, its external classifier, with
    which an attacker guesses from vectors, 192 and 100.

    Args:
        inputs: numbers that it sees.
        hidden: units of the hidden layer.
        classes: how many there are, at least 2; for two there is one output, as in the paper.

    Shapes:
        (batch, inputs) to logarithms of probabilities (batch, classes).

    Example:
        >>> Classifier(192, 100)(torch.zeros(3, 192)).exp().sum(dim=1).round(decimals=4).tolist()
        [1.0, 1.0, 1.0]
    """

    def __init__(self, inputs: int, hidden: int = 32, classes: int = 2) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(inputs, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1 if classes == 2 else classes),
        )

    def forward(self, seen: Tensor) -> Tensor:
        """Logarithms of the probabilities of the classes."""
        scores: Tensor = self.layers(seen)
        if scores.shape[1] == 1:
            return torch.cat([logsigmoid(-scores), logsigmoid(scores)], dim=1)
        return log_softmax(scores, dim=1)

    def forget(self) -> None:
        """Fresh weights."""
        for layer in self.layers:
            if isinstance(layer, nn.Linear):
                layer.reset_parameters()


def build_concealer(
    network: Mapping[str, Any], dimension: int, maps: int = 2
) -> AutoEncoder | Gated:
    """Encoder and decoder that a recipe describes, with fresh weights.

    Args:
        network: "architecture" ("autoencoder" or "gated") and "latent" (64).
        dimension: numbers in a vector.
        maps: of "gated": how many there are, at least 1.

    Raises:
        UsageError: unknown architecture or setting, or a size out of range.

    Example:
        >>> build_concealer({"architecture": "autoencoder"}, 192).encoder[0].out_features
        64
    """
    architecture = network.get("architecture")
    if architecture not in ARCHITECTURES:
        raise UsageError(
            f"there is no architecture {architecture!r}; there are {', '.join(ARCHITECTURES)}"
        )
    unknown = sorted(set(network) - {"architecture", "latent"})
    if unknown:
        raise UsageError(f"network has no {unknown[0]!r}; it has architecture, latent")
    latent = network.get("latent", 64)
    if type(latent) is not int or latent < 2:
        raise UsageError(f"network.latent is {latent!r}; expected a whole number from 2")
    if architecture == "gated":
        return Gated(dimension, latent, maps)
    return AutoEncoder(dimension, latent)
