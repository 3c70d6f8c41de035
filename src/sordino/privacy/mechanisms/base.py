"""What every mechanism is."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sordino.privacy.mechanisms.checks import finite_rows
from sordino.privacy.randomness import FloatArray, Randomness, SystemRandomness

_NOT_COVERED = (
    "further templates of the same person: what each spends adds up",
    "that a template was released at all, by whom and when",
    "the people whose recordings trained the encoder, or gave the clip",
)


class Mechanism(ABC):
    """Makes a protected vector of any vector, so that nobody can be sure what it was.

    For any two vectors x and y and any set S of results,
    P[release(x) in S] <= exp(epsilon) P[release(y) in S] + delta.

    Attributes:
        name: what it is called in statements.
        epsilon: of one release; never less than what holds.
        delta: the same; 0 for a pure guarantee.
        beyond: further sentences on what the guarantee does not cover.
    """

    name: ClassVar[str]
    beyond: ClassVar[tuple[str, ...]] = ()
    epsilon: float
    delta: float = 0.0

    def release(self, x: npt.ArrayLike, randomness: Randomness | None = None) -> FloatArray:
        """Make protected vectors; every vector spends epsilon and delta of its own.

        Args:
            x: shape (n, d), or (d,) for one; not changed.
            randomness: where random bits come from; the operating system by default. Anything
                else is a simulation, and protects nobody.

        Returns:
            float64, same shape.

        Raises:
            UsageError: a component is NaN or infinite, or the shape is wrong.
        """
        given = np.asarray(x)
        source = SystemRandomness() if randomness is None else randomness
        return self._released(finite_rows(given), source).reshape(given.shape)

    def statement(self, randomness: Randomness | None = None) -> dict[str, object]:
        """What is guaranteed and what is not, ready for JSON.

        Args:
            randomness: what `release` was given.
        """
        why_not = self._why_no_guarantee(randomness)
        return {
            "mechanism": self.name,
            "unit": "one template",
            "relation": "any pair (replace)",
            "trust_model": "local",
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else "inf",
            "delta": self.delta,
            **self._terms(),
            "guarantee": why_not is None,
            "why_not": why_not,
            "not_covered": [*_NOT_COVERED, *self.beyond],
        }

    def _why_no_guarantee(self, randomness: Randomness | None) -> str | None:
        if randomness is not None and not randomness.guarantee:
            return "simulation, no guarantee: a seed decides the noise"
        return None

    @abstractmethod
    def _released(self, rows: FloatArray, randomness: Randomness) -> FloatArray:
        """Protected rows, shape (n, d); may write to the given."""

    @abstractmethod
    def _terms(self) -> dict[str, object]:
        """The entries `clip`, `norm` and `grid` of the statement, and the mechanism's own."""


class Additive(Mechanism):
    """Adds the same noise to every vector whose norm is at most a bound."""

    @abstractmethod
    def mean_squared_error(self, dimension: int) -> float:
        """Expected squared Euclidean distance of one release from its clipped vector.

        Args:
            dimension: number of components.
        """


class Directional(Mechanism):
    """Releases vectors of one dimension.

    Attributes:
        dimension: number of components.
    """

    dimension: int

    @property
    @abstractmethod
    def mean_squared_error(self) -> float:
        """Expected squared Euclidean distance of one release from its vector on the sphere."""
