"""A concealer with a release at a chosen epsilon: vectors in, protected templates out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sordino.conceal.bounds import auc_at_most, eer_at_least
from sordino.conceal.release import latent_release

if TYPE_CHECKING:
    from sordino.conceal.concealer import Concealer
    from sordino.conceal.release import LatentRelease
    from sordino.privacy.randomness import Randomness

FloatArray = npt.NDArray[np.float64]

_NOT_COVERED = (
    "the people whose recordings trained the concealer",
    "that an attribute cannot be guessed, beyond what is said under forbids: that is measured",
    "names, keys and paths that go with a template",
)
# Memory does not grow with the number of vectors by more than the vectors themselves.
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Concealment:
    """A concealer at an epsilon: itself a mechanism, by post-processing. Made by `Concealer.at`.

    The latents of a vector are released; what the decoder makes of them depends on the vector
    through nothing else. So what is guaranteed of the latents is guaranteed of the template.

    Attributes:
        concealer: what encodes and decodes.
        release_of_latents: what happens in between.
    """

    concealer: Concealer
    release_of_latents: LatentRelease

    @classmethod
    def of(cls, concealer: Concealer, epsilon: float | None, mechanism: str | None) -> Concealment:
        """See `Concealer.at`."""
        networks = concealer.has_networks
        return cls(
            concealer, latent_release(concealer.description, epsilon, mechanism, networks=networks)
        )

    @property
    def name(self) -> str:
        """What it is called."""
        return f"{self.concealer.name} ({self.release_of_latents.name})"

    @property
    def epsilon(self) -> float:
        """Of one template, rounded up; infinity where nothing is guaranteed."""
        return self.release_of_latents.mechanism.epsilon

    @property
    def delta(self) -> float:
        """Of one template; 0 for pure differential privacy."""
        return self.release_of_latents.mechanism.delta

    def release(self, x: npt.ArrayLike, randomness: Randomness | None = None) -> FloatArray:
        """Protected templates.

        Args:
            x: vectors, shape (n, dimension).
            randomness: None for the operating system's generator.

        Returns:
            float64 of float32 precision, shape (n, dimension).

        Raises:
            UsageError: the vectors have another shape or are not finite, or a graph fails.
        """
        rows = np.asarray(x)
        if rows.ndim != 2 or len(rows) <= _BLOCK:
            return self._released(rows, randomness)
        blocks = [
            self._released(rows[start : start + _BLOCK], randomness)
            for start in range(0, len(rows), _BLOCK)
        ]
        return np.concatenate(blocks)

    def statement(self, randomness: Randomness | None = None) -> dict[str, Any]:
        """What is guaranteed of one protected template and what is not, ready for JSON.

        Args:
            randomness: what `release` was given.
        """
        description = self.concealer.description
        said: dict[str, Any] = self.release_of_latents.mechanism.statement(randomness)
        bounds = (self.epsilon, self.delta)
        return {
            **said,
            "clip_origin": description.clip_origin or None,
            "concealer": {"name": self.concealer.name, "digest": self.concealer.digest},
            "encoder": {"name": description.encoder, "digest": description.encoder_digest},
            "attributes": list(description.attributes),
            "epsilon_train": _number(description.epsilon_train),
            "forbids": {
                "attribute_auc_above": auc_at_most(*bounds),
                "verification_eer_below": eer_at_least(*bounds),
            },
            "not_covered": [*said["not_covered"], *_NOT_COVERED],
        }

    def _released(self, rows: npt.NDArray[np.generic], randomness: Randomness | None) -> FloatArray:
        latents = self.concealer.encode(rows)
        if not len(latents):
            return self.concealer.decode(latents).astype(np.float64)
        released = self.release_of_latents.release(latents, randomness)
        return self.concealer.decode(released).astype(np.float64)


def _number(value: float) -> float | str:
    return "inf" if math.isinf(value) else value
