"""Ridge regression whose penalty is chosen by leaving out one observation at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

# Penalties that are tried, as multiples of the mean square of the singular values.
PENALTIES = tuple(float(10.0**power) for power in np.arange(-4, 4.25, 0.25))


@dataclass(frozen=True, eq=False)
class Ridge:
    """A linear prediction.

    Attributes:
        weights: shape (S,).
        offset: added to the product with the weights.
        penalty: the one chosen, on the squares of the weights.
        error: root mean square error where each observation is predicted from all the others.
    """

    weights: FloatArray
    offset: float
    penalty: float
    error: float

    def predict(self, vector: FloatArray) -> float:
        """The prediction for a vector, shape (S,)."""
        return float(vector @ self.weights) + self.offset


def fit_ridge(vectors: FloatArray, target: FloatArray) -> Ridge:
    """Predict a number from a vector.

    Args:
        vectors: shape (n, S), n at least 2.
        target: shape (n,).

    Returns:
        The prediction whose penalty has the smallest error when observations are left out one
        at a time; that error is had in closed form from the diagonal of the hat matrix.

    Example:
        >>> fit_ridge(np.array([[0.0], [1], [2], [3]]), np.array([1.0, 3, 5, 7])).weights.round(3)
        array([2.])

    Source: G. Golub, M. Heath, G. Wahba, "Generalized cross-validation as a method for choosing
    a good ridge parameter", 1979, equation 1.4.
    """
    mean, level = vectors.mean(axis=0), float(target.mean())
    left, sizes, right = np.linalg.svd(vectors - mean, full_matrices=False)
    along = left.T @ (target - level)
    power = sizes**2
    scale = float(power.mean()) or 1.0

    def error(penalty: float) -> float:
        kept = power / (power + penalty)
        residual = target - level - left @ (kept * along)
        free = 1.0 - 1.0 / len(target) - (left**2) @ kept
        return float(np.sqrt(np.mean((residual / free) ** 2)))

    errors = {scale * step: error(scale * step) for step in PENALTIES}
    penalty = min(errors, key=lambda value: errors[value])
    weights = right.T @ (sizes / (power + penalty) * along)
    return Ridge(weights, level - float(mean @ weights), penalty, errors[penalty])
