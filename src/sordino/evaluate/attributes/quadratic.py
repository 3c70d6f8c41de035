"""A normal distribution for each value of an attribute: for where all means are the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Float64Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Part of a value's covariance that is replaced by that of standardised, unrelated dimensions.
_SHRINKAGE = 0.3


class QuadraticDiscriminant:
    """Normal distributions with a covariance of their own for each value.

    Erasing all that is linear leaves vectors that differ in how they spread; here is who sees it.
    Dimensions are standardised, and covariances shrunk, so that there may be fewer vectors than
    dimensions. It has the two methods that attackers need of a classifier of scikit-learn.

    Args:
        shrinkage: above 0 to 1.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> labels = np.arange(400) % 2
        >>> vectors = rng.normal(0, 1 + 3 * labels[:, None], (400, 2))  # means are the same
        >>> model = QuadraticDiscriminant().fit(vectors, labels)
        >>> model.decision_function(np.array([[0.1, 0.0], [5.0, -5.0]])).argmax(axis=1).tolist()
        [0, 1]

    Source: J. H. Friedman, "Regularized discriminant analysis", 1989, without its pooling.
    """

    def __init__(self, shrinkage: float = _SHRINKAGE) -> None:
        self._shrinkage = shrinkage
        self._values: list[_Normal] = []
        self._mean, self._deviation = np.zeros(0), np.zeros(0)

    def fit(self, vectors: Float64Array, labels: IntArray) -> QuadraticDiscriminant:
        """Learn the distributions.

        Args:
            vectors: shape (n, d).
            labels: numbers from 0, each of which occurs, shape (n,).
        """
        self._mean, deviation = vectors.mean(axis=0), vectors.std(axis=0)
        self._deviation = np.where(deviation > 0, deviation, 1.0)
        standard = (vectors - self._mean) / self._deviation
        self._values = [
            _Normal.of(standard[labels == label], self._shrinkage)
            for label in range(int(labels.max()) + 1)
        ]
        return self

    def decision_function(self, vectors: Float64Array) -> Float64Array:
        """Log-likelihoods of the values, up to a constant that is the same for all.

        Args:
            vectors: shape (n, d).

        Returns:
            Shape (n, values).
        """
        standard = (vectors - self._mean) / self._deviation
        return np.stack([value.log_density(standard) for value in self._values], axis=1)


@dataclass(frozen=True, eq=False)
class _Normal:
    mean: Float64Array
    whitening: Float64Array
    log_volume: float

    @classmethod
    def of(cls, rows: Float64Array, shrinkage: float) -> _Normal:
        centred = rows - rows.mean(axis=0)
        covariance = (1 - shrinkage) * (centred.T @ centred) / len(rows)
        covariance[np.diag_indices_from(covariance)] += shrinkage
        variances, axes = np.linalg.eigh(covariance)
        return cls(rows.mean(axis=0), axes / np.sqrt(variances), float(np.log(variances).sum()))

    def log_density(self, rows: Float64Array) -> Float64Array:
        """Up to a constant that is the same for all values."""
        white = (rows - self.mean) @ self.whitening
        return np.asarray(-0.5 * ((white**2).sum(axis=1) + self.log_volume), np.float64)
