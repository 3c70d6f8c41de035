"""How vectors scatter around their speakers, and covariances from few samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.speaker.scoring.checks import Float64Array, as_rows

Labels = Sequence[Any] | npt.NDArray[Any]

# A covariance whose smallest spread is below this share of its largest counts as singular.
_SINGULAR = 1e-12


@dataclass(frozen=True)
class Grouped:
    """Vectors sorted out by speaker.

    Attributes:
        vectors: float64, shape (n, d).
        speaker: shape (n,), the number of each vector's speaker.
        counts: shape (speakers,), vectors of each speaker, each at least 1.
        means: float64, shape (speakers, d).

    Example:
        >>> Grouped.by([[1, 0], [3, 0], [5, 5]], ["a", "a", "b"]).means.tolist()
        [[2.0, 0.0], [5.0, 5.0]]
    """

    vectors: Float64Array
    speaker: npt.NDArray[np.intp]
    counts: npt.NDArray[np.intp]
    means: Float64Array

    @classmethod
    def by(cls, vectors: npt.ArrayLike, labels: Labels) -> Grouped:
        """Sort vectors of shape (n, d) out by their speakers' names.

        Raises:
            UsageError: labels and vectors differ in number.
        """
        rows = as_rows(vectors).astype(np.float64)
        names = np.asarray(labels)
        if names.shape != (len(rows),):
            raise UsageError(
                f"{names.size} speaker labels for {len(rows)} vectors; each vector needs one"
            )
        _, speaker, counts = np.unique(names, return_inverse=True, return_counts=True)
        sums = np.zeros((len(counts), rows.shape[1]))
        np.add.at(sums, speaker, rows)
        return cls(rows, speaker, counts, sums / counts[:, None])

    @classmethod
    def to_learn(cls, vectors: npt.ArrayLike, labels: Labels) -> Grouped:
        """As `by`, for vectors that tell how speakers differ and how each of them varies.

        Raises:
            UsageError: also where there is one speaker only, or none has two vectors.
        """
        groups = cls.by(vectors, labels)
        if len(groups.counts) < 2:
            raise UsageError("all vectors are of one speaker; at least two speakers are needed")
        if groups.counts.max() < 2:
            raise UsageError(
                "no speaker has two vectors; how one speaker's vectors vary cannot be learnt"
            )
        return groups

    @property
    def residuals(self) -> Float64Array:
        """Each vector less its speaker's mean, shape (n, d)."""
        difference: Float64Array = self.vectors - self.means[self.speaker]
        return difference

    @property
    def between(self) -> Float64Array:
        """Covariance of the speakers' means, each counted as often as it has vectors, (d, d)."""
        offset = self.means - self.vectors.mean(axis=0)
        covariance: Float64Array = (offset.T * self.counts) @ offset / len(self.vectors)
        return covariance


def shrink(residuals: Float64Array, shrinkage: float | None = None) -> Float64Array:
    """Covariance of centred vectors, drawn to a multiple of the identity with the same trace.

    Args:
        residuals: shape (n, d), with mean 0.
        shrinkage: in [0, 1], the identity's share; by default `best_shrinkage`.

    Returns:
        Shape (d, d), positive definite.

    Raises:
        UsageError: the share is outside [0, 1], or the result is singular.

    Example:
        >>> shrink(np.array([[2.0, 0], [-2, 0], [0, 1], [0, -1]]), 0.5).tolist()
        [[1.625, 0.0], [0.0, 0.875]]
    """
    count, dimension = residuals.shape
    share = best_shrinkage(residuals) if shrinkage is None else shrinkage
    if not 0.0 <= share <= 1.0:
        raise UsageError(f"shrinkage {share:g} is outside 0 to 1")
    covariance = residuals.T @ residuals / count
    level = np.trace(covariance) / dimension
    shrunk: Float64Array = (1.0 - share) * covariance
    shrunk.flat[:: dimension + 1] += share * level
    spread = np.linalg.eigvalsh(shrunk)
    if not spread[0] > _SINGULAR * spread[-1]:
        raise UsageError(
            f"the covariance of {count} vectors in {dimension} dimensions is singular;"
            " use more vectors, fewer dimensions, or shrinkage above 0"
        )
    return shrunk


def best_shrinkage(residuals: Float64Array) -> float:
    """The identity's share that brings a covariance nearest to the true one, by estimate.

    Args:
        residuals: shape (n, d), with mean 0.

    Returns:
        A share in [0, 1]: near 0 for many vectors, near 1 for few in many dimensions.

    Example:
        >>> best_shrinkage(np.random.default_rng(0).normal(size=(5, 50))) > 0.5
        True

    Source: O. Ledoit, M. Wolf, "A well-conditioned estimator for large-dimensional covariance
    matrices", 2004, lemmas 3.2 to 3.4.
    """
    count, dimension = residuals.shape
    covariance = residuals.T @ residuals / count
    power = float(np.sum(covariance**2))
    away = power - np.trace(covariance) ** 2 / dimension
    if away <= 0.0:
        return 1.0
    fourth = np.einsum("nd,nd->n", residuals, residuals) ** 2
    noise = (float(np.sum(fourth)) / count - power) / count
    return float(min(max(noise / away, 0.0), 1.0))
