"""What happens to latents in training: bounded as at release, and with its noise."""

from __future__ import annotations

import math
from abc import abstractmethod

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

WINDOW = 1280
"""Norms of so many of the newest latents decide the clip, until it is frozen."""


class LatentNoise(nn.Module):
    """Latents as a release makes them; noise comes in training mode only.

    Floating-point noise, which teaches a network and protects nobody: what is released goes through
    `sordino.privacy`.

    Shapes:
        (batch, latent) to the same.
    """

    def forward(self, latents: Tensor) -> Tensor:
        """Bounded latents, with noise in training mode."""
        bounded = self.bounded(latents)
        return self.noisy(bounded) if self.training else bounded

    @abstractmethod
    def bounded(self, latents: Tensor) -> Tensor:
        """Latents whose norm is what the mechanism asks for."""

    @abstractmethod
    def noisy(self, bounded: Tensor) -> Tensor:
        """Bounded latents with noise."""

    def freeze(self) -> None:
        """Keep the clip, if there is one, as it is from now on."""


class NoNoise(LatentNoise):
    """Latents as they are."""

    def bounded(self, latents: Tensor) -> Tensor:
        """The same."""
        return latents

    def noisy(self, bounded: Tensor) -> Tensor:
        """The same."""
        return bounded


class ClippedNoise(LatentNoise):
    """Scales latents down whose norm is above C, the median norm of the newest training latents.

    What C is does not depend on the weights' gradient. It is frozen by `freeze`.
    """

    clip: Tensor
    norms: Tensor
    seen: Tensor
    frozen: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("clip", torch.tensor(math.nan))
        self.register_buffer("norms", torch.zeros(WINDOW))
        self.register_buffer("seen", torch.tensor(0))
        self.register_buffer("frozen", torch.tensor(False))

    def bounded(self, latents: Tensor) -> Tensor:
        """z / max(1, |z| / C)."""
        norms = self.norm(latents)
        if self.training and not self.frozen:
            self._observe(norms.detach())
        return latents / torch.clamp(norms / self.clip, min=1.0)[:, None]

    def freeze(self) -> None:
        """Keep the clip as it is from now on."""
        self.frozen.fill_(True)

    def settle(self, latents: Tensor) -> None:
        """Make the clip the median norm of these latents, and keep it."""
        self.clip.copy_(_median(self.norm(latents)))
        self.freeze()

    @abstractmethod
    def norm(self, latents: Tensor) -> Tensor:
        """The norm of each latent, shape (batch,)."""

    def _observe(self, norms: Tensor) -> None:
        seen = int(self.seen)
        places = torch.arange(seen, seen + len(norms), device=norms.device) % WINDOW
        self.norms[places] = norms.to(self.norms.dtype)
        self.seen += len(norms)
        self.clip.copy_(_median(self.norms[: min(seen + len(norms), WINDOW)]))


class LaplaceNoise(ClippedNoise):
    """Clips the L1 norm to C and adds noise of scale 2 C / epsilon to every component.

    Args:
        epsilon: above 0; infinity clips only.

    Example:
        >>> layer = LaplaceNoise(15.0)
        >>> layer(torch.ones(4, 64)).shape, layer.clip.item()
        (torch.Size([4, 64]), 64.0)

    Source: O. Chouchane et al., "Differentially private adversarial auto-encoder to protect
    gender in voice biometrics", 2023, equation 9.
    """

    def __init__(self, epsilon: float) -> None:
        super().__init__()
        self.epsilon = epsilon

    def norm(self, latents: Tensor) -> Tensor:
        """The sum of absolute components."""
        return latents.abs().sum(dim=1)

    def noisy(self, bounded: Tensor) -> Tensor:
        """With Laplace noise."""
        exponential = torch.empty_like(bounded).exponential_()
        signs = torch.randint_like(bounded, 2) * 2 - 1
        return bounded + 2 * self.clip / self.epsilon * signs * exponential


class GaussianNoise(ClippedNoise):
    """Clips the Euclidean norm to C and adds Gaussian noise for a sensitivity of 2 C.

    Args:
        epsilon: above 0; infinity clips only.
        delta: between 0 and 1.
    """

    def __init__(self, epsilon: float, delta: float) -> None:
        super().__init__()
        from sordino.privacy.mechanisms.calibration import gaussian_noise_multiplier

        infinite = math.isinf(epsilon)
        self._multiplier = 0.0 if infinite else gaussian_noise_multiplier(epsilon, delta)

    def norm(self, latents: Tensor) -> Tensor:
        """The Euclidean norm."""
        found: Tensor = latents.norm(dim=1)
        return found

    def noisy(self, bounded: Tensor) -> Tensor:
        """With Gaussian noise."""
        return bounded + 2 * self.clip * self._multiplier * torch.randn_like(bounded)


class DirectionNoise(LatentNoise):
    """Latents scaled to length 1, and in training drawn from a cap around them, or from the rest.

    Args:
        latent: numbers in a latent, at least 2.
        epsilon: above 0 and at most 300; infinity for directions without noise.
        length: of directions, for the decoder; noisy ones are longer, 1 / m times.

    Example:
        >>> layer = DirectionNoise(64, 15.0, length=8.0)
        >>> layer.eval()(torch.ones(1, 64)).norm().item()
        8.0

    Source: see `sordino.privacy.PrivUnit`.
    """

    def __init__(self, latent: int, epsilon: float, length: float = 1.0) -> None:
        super().__init__()
        from sordino.privacy.mechanisms.privunit import PrivUnit

        self.length = length
        self._mechanism = (
            None if math.isinf(epsilon) else PrivUnit(dimension=latent, epsilon=epsilon)
        )

    def bounded(self, latents: Tensor) -> Tensor:
        """Directions."""
        return self.length * normalize(latents)

    def noisy(self, bounded: Tensor) -> Tensor:
        """Draws around them."""
        mechanism = self._mechanism
        if mechanism is None:
            return bounded
        directions = bounded / self.length
        heights = self._heights(len(bounded), bounded)
        normals = torch.randn_like(bounded)
        across = normals - (normals * directions).sum(dim=1, keepdim=True) * directions
        drawn = heights * directions + torch.sqrt(1 - heights**2) * normalize(across)
        return self.length * mechanism.norm * drawn

    def _heights(self, count: int, like: Tensor) -> Tensor:
        """Components of draws along their direction, shape (count, 1)."""
        from scipy.special import betaincinv

        mechanism = self._mechanism
        assert mechanism is not None
        in_cap = torch.rand(count) < mechanism.p
        share = torch.where(in_cap, mechanism.q, 1 - mechanism.q) * torch.rand(count)
        a = (mechanism.dimension - 1) / 2
        low = torch.from_numpy(betaincinv(a, a, share.double().numpy()))
        heights = torch.where(in_cap, 1 - 2 * low, 2 * low - 1)
        return heights.to(like)[:, None]


def build_noise(
    mechanism: str, latent: int, epsilon: float, *, delta: float, length: float
) -> LatentNoise:
    """The layer between encoder and decoder.

    Args:
        mechanism: "laplace", "gaussian", "privunit" or "none".
        latent: numbers in a latent.
        epsilon: of the noise in training; infinity for none.
        delta: for "gaussian".
        length: for "privunit".

    Raises:
        UsageError: epsilon, delta or latent is out of the mechanism's range.

    Example:
        >>> build_noise("laplace", 64, 15.0, delta=1e-6, length=1.0).epsilon
        15.0
    """
    if mechanism == "laplace":
        return LaplaceNoise(epsilon)
    if mechanism == "gaussian":
        return GaussianNoise(epsilon, delta)
    if mechanism == "privunit":
        return DirectionNoise(latent, epsilon, length)
    return NoNoise()


def _median(numbers: Tensor) -> Tensor:
    # Of an even number, torch gives the lower one of the two in the middle.
    return numbers.quantile(0.5)
