"""Affine maps of vectors: centring, whitening, and what LDA and WCCN find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import linalg

from sordino.errors import UsageError
from sordino.speaker.scoring.checks import (
    Float64Array,
    FloatArray,
    as_rows,
    same_dimensions,
    stored,
)
from sordino.speaker.scoring.scatter import shrink


@dataclass(frozen=True)
class Projection:
    """The map x -> x matrix + offset.

    Attributes:
        matrix: float64, shape (d, k).
        offset: float64, shape (k,).

    Example:
        >>> Projection(np.array([[2.0], [0.0]]), np.array([1.0]))([[3, 7]])
        array([[7.]])
    """

    matrix: Float64Array
    offset: Float64Array

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or self.offset.shape != self.matrix.shape[1:]:
            raise UsageError(
                f"a projection's matrix {self.matrix.shape} and offset {self.offset.shape}"
                " do not fit"
            )

    @classmethod
    def centred(cls, mean: Float64Array, matrix: Float64Array) -> Projection:
        """The map x -> (x - mean) matrix.

        Args:
            mean: shape (d,).
            matrix: shape (d, k).
        """
        return cls(matrix, -mean @ matrix)

    def __call__(self, vectors: npt.ArrayLike) -> FloatArray:
        """Map vectors of shape (n, d) to (n, k), computed in float64; float32 comes back as such.

        Raises:
            UsageError: the vectors have another number of dimensions.
        """
        rows = as_rows(vectors)
        if rows.shape[1] != len(self.matrix):
            raise UsageError(
                f"vectors of {rows.shape[1]} dimensions; this scoring was made for"
                f" {len(self.matrix)}"
            )
        return (rows @ self.matrix + self.offset).astype(rows.dtype, copy=False)

    def then(self, after: Projection) -> Projection:
        """This map and another one after it, as one map.

        Raises:
            UsageError: they do not fit together.

        Example:
            >>> double = Projection(2 * np.eye(2), np.ones(2))
            >>> double.then(double)([[1, 2]])
            array([[ 7., 11.]])
        """
        same_dimensions(self.matrix, after.matrix.T, "the two projections")
        return Projection(self.matrix @ after.matrix, self.offset @ after.matrix + after.offset)

    def to_arrays(self, prefix: str = "") -> dict[str, Float64Array]:
        """Named arrays that tell everything, for instance for `numpy.savez`."""
        return {f"{prefix}matrix": self.matrix, f"{prefix}offset": self.offset}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.ArrayLike], prefix: str = "") -> Projection:
        """What `to_arrays` stored.

        Raises:
            UsageError: an array is missing or does not fit.
        """
        matrix = stored(arrays, f"{prefix}matrix", (None, None))
        return cls(matrix, stored(arrays, f"{prefix}offset", matrix.shape[1:]))


def fit_whitening(vectors: npt.ArrayLike, *, shrinkage: float | None = None) -> Projection:
    """Centring, and scaling along the principal axes so that the covariance becomes the identity.

    Args:
        vectors: shape (n, d).
        shrinkage: in [0, 1], how far the covariance is drawn to a multiple of the identity; by
            default what Ledoit and Wolf's formula finds best.

    Raises:
        UsageError: the covariance is singular; some shrinkage helps.

    Example:
        >>> x = np.random.default_rng(0).normal(5, [1, 9], (500, 2))
        >>> np.cov(fit_whitening(x, shrinkage=0)(x).T, ddof=0).round(6).tolist()
        [[1.0, ...0.0], [...0.0, 1.0]]
    """
    rows = as_rows(vectors).astype(np.float64)
    mean = rows.mean(axis=0)
    covariance = shrink(rows - mean, shrinkage)
    spread, axes = linalg.eigh(covariance)
    return Projection.centred(mean, axes / np.sqrt(spread))
