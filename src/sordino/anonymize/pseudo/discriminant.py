"""Telling women's and men's voices apart by linear discriminant analysis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sordino.anonymize.pseudo.gaussian import Gaussian

FloatArray = npt.NDArray[np.float64]


class SexGuess(NamedTuple):
    """A guess at a speaker's sex.

    Attributes:
        sex: "F" or "M".
        margin: natural logarithm of how many times likelier it is than the other, at least 0.
    """

    sex: str
    margin: float


@dataclass(frozen=True, eq=False)
class Discriminant:
    """A linear function of vectors: above 0 for women, below 0 for men.

    Attributes:
        weights: shape (S,).
        offset: added to the product with the weights.
    """

    weights: FloatArray
    offset: float

    @classmethod
    def between(cls, women: Gaussian, men: Gaussian) -> Discriminant:
        """The logarithm of the ratio of two normal densities that share their mean covariance.

        Both sexes are held to be equally likely beforehand.

        Example:
            >>> spread = np.eye(2)
            >>> women, men = Gaussian(np.array([1.0, 0]), spread), Gaussian(np.zeros(2), spread)
            >>> Discriminant.between(women, men)
            Discriminant(weights=array([1., 0.]), offset=-0.5)

        Source: T. Hastie, R. Tibshirani, J. Friedman, "The elements of statistical learning",
        2009, equation 4.9.
        """
        common = (women.covariance + men.covariance) / 2
        weights = np.linalg.solve(common, women.mean - men.mean).astype(np.float64)
        return cls(weights, float(-weights @ (women.mean + men.mean) / 2))

    def guess(self, vector: FloatArray) -> SexGuess:
        """The likelier sex of the speaker of a vector, shape (S,)."""
        ratio = float(vector @ self.weights) + self.offset
        return SexGuess("F" if ratio > 0 else "M", abs(ratio))
