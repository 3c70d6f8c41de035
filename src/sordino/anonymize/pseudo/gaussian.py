"""A normal distribution of voices, fitted in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.speaker.scoring.scatter import best_shrinkage, shrink

FloatArray = npt.NDArray[np.float64]

FEWEST = 3


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A normal distribution.

    Attributes:
        mean: shape (S,).
        covariance: shape (S, S), positive definite.

    Example:
        >>> Gaussian(np.zeros(2), np.diag([4.0, 9.0])).place(np.array([[1.0, -1.0]])).tolist()
        [[2.0, -3.0]]
    """

    mean: FloatArray
    covariance: FloatArray

    def place(self, standard: FloatArray, spread: float = 1.0) -> FloatArray:
        """Standard normal rows as rows of this distribution.

        Args:
            standard: shape (n, S).
            spread: multiplies standard deviations.

        Returns:
            Shape (n, S).
        """
        rows: FloatArray = self.mean + spread * (standard @ self._roots[0])
        return rows

    def whiten(self, rows: FloatArray) -> FloatArray:
        """Rows of this distribution, shape (n, S), as standard normal ones: undoes `place`."""
        standard: FloatArray = (rows - self.mean) @ self._roots[1]
        return standard

    @cached_property
    def _roots(self) -> tuple[FloatArray, FloatArray]:
        # Symmetric roots: unlike eigenvectors they do not depend on the routine's signs and order.
        variances, axes = np.linalg.eigh(self.covariance)
        deviations = np.sqrt(variances)
        return (axes * deviations) @ axes.T, (axes / deviations) @ axes.T


def fit_gaussian(vectors: FloatArray) -> Gaussian:
    """The normal distribution of some voices.

    The covariance is drawn to a multiple of the identity, as far as Ledoit and Wolf's formula
    finds best and by at least 1/n, since there are often fewer voices than dimensions.

    Args:
        vectors: shape (n, S), at least 3.

    Raises:
        UsageError: there are fewer, or they are all the same.

    Example:
        >>> fit_gaussian(np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]])).covariance.tolist()
        [[0.5, 0.0], [0.0, 0.5]]

    Source: O. Ledoit, M. Wolf, "A well-conditioned estimator for large-dimensional covariance
    matrices", 2004.
    """
    count = len(vectors)
    if count < FEWEST:
        raise UsageError(f"{count} voices are too few to fit a density; it needs {FEWEST}")
    mean = vectors.mean(axis=0)
    residuals = vectors - mean
    if not residuals.any():
        raise UsageError(f"all {count} voices are the same; a density needs different ones")
    share = max(best_shrinkage(residuals), 1.0 / count)
    return Gaussian(mean, shrink(residuals, share))
