"""Whole vectors: a direction by PrivUnit, and the length in one of two ways."""

from __future__ import annotations

import numpy as np

from sordino.errors import UsageError
from sordino.privacy.mechanisms.base import Mechanism
from sordino.privacy.mechanisms.checks import checked_clip, checked_dimension, checked_epsilon
from sordino.privacy.mechanisms.clip import clip_l2
from sordino.privacy.mechanisms.privunit import PrivUnit
from sordino.privacy.mechanisms.scalar import ScalarDP, SignFlip
from sordino.privacy.randomness import FloatArray, Randomness

_SHARES = 50


class PrivVector(Mechanism):
    """Unbiased releases of vectors whose Euclidean norm is at most C.

    Args:
        dimension: number of components, from 2.
        epsilon: in all, from 2 ** -13.
        clip: C, above 0; longer vectors are shortened.
        length_epsilon: the part that `ScalarDP` spends on the length; with 0, `SignFlip` tells it
            at no cost.

    Attributes:
        direction: the mechanism for directions, with what is left of epsilon.

    Raises:
        UsageError: an argument is missing or out of range.

    Example:
        >>> mechanism = PrivVector.best(dimension=64, epsilon=15, clip=2.0, norm=0.4)
        >>> round(mechanism.length_epsilon, 1)
        4.8
        >>> mechanism.release(np.ones((3, 64))).shape
        (3, 64)

    Source: A. Bhowmick et al., "Protection against reconstruction and its applications in private
    federated learning", 2018, section 4.
    """

    name = "privunit with length"
    beyond = PrivUnit.beyond

    def __init__(
        self,
        dimension: int | None = None,
        epsilon: float | None = None,
        clip: float | None = None,
        length_epsilon: float = 0.0,
    ) -> None:
        self.dimension = checked_dimension(dimension)
        self.epsilon = checked_epsilon(epsilon)
        self.clip = checked_clip(clip)
        if not 0 <= length_epsilon < self.epsilon:
            raise UsageError(f"length_epsilon {length_epsilon} is not from 0 to below epsilon")
        self.length_epsilon = length_epsilon
        self.direction = PrivUnit(self.dimension, self.epsilon - length_epsilon)
        self._flip = SignFlip(self.clip)
        self._scalar = ScalarDP(1.0, length_epsilon) if length_epsilon else None

    @classmethod
    def best(cls, dimension: int, epsilon: float, clip: float, norm: float) -> PrivVector:
        """The one with the least error for vectors of a norm, which should be no secret.

        Args:
            dimension: number of components.
            epsilon: in all.
            clip: C.
            norm: from 0 to C.
        """
        parts = [0.0, *(epsilon * share / _SHARES for share in range(1, _SHARES))]
        return min(
            (cls(dimension, epsilon, clip, part) for part in parts),
            key=lambda mechanism: mechanism.mean_squared_error(norm),
        )

    def mean_squared_error(self, norm: float) -> float:
        """Expected squared Euclidean distance of a release from a vector of a norm from 0 to C."""
        square = self.clip**2
        if self._scalar is not None:
            part = min(norm / self.clip, 1.0)
            square *= part**2 + self._scalar.mean_squared_error(part)
        return square * self.direction.norm**2 - norm**2

    def _released(self, rows: FloatArray, randomness: Randomness) -> FloatArray:
        if self._scalar is None:
            directions = self._flip.directions(rows, randomness)
            return self.direction.release(directions, randomness) * self.clip
        parts = np.linalg.norm(clip_l2(rows, self.clip) / self.clip, axis=1)
        lengths = self._scalar.release(np.minimum(parts, 1.0), randomness) * self.clip
        return self.direction.release(rows, randomness) * lengths[:, None]

    def _terms(self) -> dict[str, object]:
        return {
            **self.direction._terms(),
            "clip": self.clip,
            "norm": "l2",
            "length_epsilon": self.length_epsilon,
        }
