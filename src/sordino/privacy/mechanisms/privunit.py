"""Directions, released by drawing from a cap around them more often than from the rest."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction

import numpy as np

from sordino.errors import UsageError
from sordino.privacy.exact import bernoulli
from sordino.privacy.mechanisms.base import Directional
from sordino.privacy.mechanisms.calibration import turning_point
from sordino.privacy.mechanisms.checks import checked_dimension, checked_epsilon
from sordino.privacy.mechanisms.clip import unit_rows
from sordino.privacy.randomness import FloatArray, Randomness

# Beyond, caps are too small for floats; nothing is protected there anyway.
LARGEST_EPSILON = 300.0

_RESERVE = 1e-9
_FINEST, _COARSEST = -24, -8
_BLOCK = 2**17
_WORDS = 2**64


class _Cap(Directional):
    """What both forms share: which draws are made how often, and the grid.

    Without knowing the direction u, draws have a height (their component along u) whose
    distribution is the same for every u. The cap is the part q of highest draws. With
    probability p a draw is made from the cap and else from the rest, within each as it would be
    without u: so likelihoods differ by a factor of at most exp(epsilon) = p (1 - q) / ((1 - p) q).
    Of the epsilon that is asked for, 1e-9 of it and 1e-9 are kept back for the rounding of p.

    A draw is rounded to the same grid for any u, where its components are about 1 (draws from a
    sphere get the length of a Gaussian vector, which knows nothing of u). Each point stands for a
    cube, and of its width errors of floats (below 2 ** -48) are so small a part that over
    all components the likelihood of a cube changes by about 4 d 2 ** -48 / width.
    """

    beyond = (
        "rounding of floating-point numbers before a result is put on the grid: what it adds to"
        " epsilon is estimated (3e-7, and 4e-6 with a million components), not proved",
    )

    def __init__(self, dimension: int | None = None, epsilon: float | None = None) -> None:
        self.dimension = checked_dimension(dimension)
        self.epsilon = checked_epsilon(epsilon, largest=LARGEST_EPSILON)
        self.grid = 2.0 ** min(_FINEST + math.ceil(math.log2(self.dimension)), _COARSEST)
        kept = self.epsilon * (1 - _RESERVE) - _RESERVE

        def too_large(log_q: float) -> bool:
            q = math.exp(log_q)
            return self._slope(q, self._shrinkage(q, float(_probability(kept, q)))) > 0

        # With smaller caps p would be below 1/8; it is above 1/2 at the best.
        self.q = math.exp(turning_point(too_large, -kept - 2, math.log(0.5)))
        self._p = _probability(kept, self.q)
        self.p = float(self._p)
        self.gamma = float(self._height(np.array(self.q)))
        self.norm = 1 / self._shrinkage(self.q, self.p)

    @abstractmethod
    def _height(self, rank: FloatArray) -> FloatArray:
        """The height that a draw exceeds with the probability `rank`."""

    @abstractmethod
    def _shrinkage(self, q: float, p: float) -> float:
        """The mean height of a draw."""

    @abstractmethod
    def _slope(self, q: float, shrinkage: float) -> float:
        """A number that is above 0 where a smaller cap would be better, and else not."""

    @abstractmethod
    def _drawn(
        self, directions: FloatArray, ranks: FloatArray, signs: FloatArray, normals: FloatArray
    ) -> FloatArray:
        """Draws whose height is `signs` times that of `ranks`; components are about 1."""

    @abstractmethod
    def _scaled(self, drawn: FloatArray, randomness: Randomness) -> FloatArray:
        """Results, of draws on the grid."""

    def _released(self, rows: FloatArray, randomness: Randomness) -> FloatArray:
        if rows.shape[1] != self.dimension:
            raise UsageError(
                f"vectors have {rows.shape[1]} components; the mechanism is for {self.dimension}"
            )
        result = np.empty_like(rows)
        size = max(1, _BLOCK // self.dimension)
        for start in range(0, len(rows), size):
            directions = _directions(rows[start : start + size], randomness)
            in_cap = bernoulli(self._p, len(directions), randomness)
            # The rest lies around the opposite direction as the cap would.
            ranks = np.where(in_cap, self.q, 1 - self.q) * randomness.uniforms(len(directions))
            signs = np.where(in_cap, 1.0, -1.0)
            drawn = self._drawn(directions, ranks, signs, randomness.normals(directions.shape))
            on_grid = np.rint(drawn / self.grid) * self.grid
            result[start : start + size] = self._scaled(on_grid, randomness)
        return result

    def _terms(self) -> dict[str, object]:
        return {
            "clip": 1.0,
            "norm": "l2, always scaled to the clip",
            "grid": self.grid,
            "dimension": self.dimension,
            "gamma": self.gamma,
            "p": self.p,
        }


class PrivUnit(_Cap):
    """Unbiased releases of directions, all of one length 1 / m; at the best cap m is gamma.

    Vectors are scaled to length 1 first; for a vector of zeros, a random direction is
    released.

    Args:
        dimension: number of components, from 2.
        epsilon: from 2 ** -13 to 300.

    Attributes:
        gamma: least height of the cap, from 0 to 1.
        p: probability of a draw from the cap.
        q: what it would be without knowing the direction.
        norm: length of every result, 1 / m.
        grid: what draws are rounded to multiples of, before they are given this length.

    Raises:
        UsageError: an argument is missing or out of range.

    Example:
        >>> mechanism = PrivUnit(dimension=64, epsilon=8)
        >>> round(mechanism.gamma, 4), round(mechanism.p, 3)
        (0.3342, 0.907)
        >>> round(mechanism.mean_squared_error, 3)
        7.952
        >>> released = mechanism.release(np.ones((2, 64)))
        >>> np.round(np.linalg.norm(released, axis=1) / mechanism.norm, 6)
        array([1., 1.])

    Source: A. Bhowmick et al., "Protection against reconstruction and its applications in private
    federated learning", 2018, with the exact epsilon for its sufficient conditions; H. Asi, V.
    Feldman and K. Talwar, "Optimal algorithms for mean estimation under local differential
    privacy", 2022, on the best cap.
    """

    name = "privunit"

    @property
    def mean_squared_error(self) -> float:
        """Expected squared Euclidean distance of a result from the direction."""
        return max(0.0, self.norm**2 - 1)

    def _low(self, rank: FloatArray) -> FloatArray:
        """(1 - height) / 2, which is beta distributed."""
        from scipy.special import betaincinv

        a = (self.dimension - 1) / 2
        low: FloatArray = betaincinv(a, a, rank)
        return low

    def _height(self, rank: FloatArray) -> FloatArray:
        return 1 - 2 * self._low(rank)

    def _shrinkage(self, q: float, p: float) -> float:
        from scipy.special import betaln

        a = (self.dimension - 1) / 2
        low = float(self._low(np.array(q)))
        size = math.exp(a * math.log(4 * low * (1 - low)) - float(betaln(0.5, a))) / (2 * a)
        return size * (p - q) / (q * (1 - q))

    def _slope(self, q: float, shrinkage: float) -> float:
        # Setting the derivative of the shrinkage to 0 gives that it equals gamma.
        return shrinkage - float(self._height(np.array(q)))

    def _drawn(
        self, directions: FloatArray, ranks: FloatArray, signs: FloatArray, normals: FloatArray
    ) -> FloatArray:
        low = self._low(ranks)
        drawn = _across(directions, normals)
        widths = np.linalg.norm(drawn, axis=1)
        drawn *= (2 * np.sqrt(low * (1 - low)) / np.where(widths > 0, widths, 1.0))[:, None]
        drawn += (signs * (1 - 2 * low))[:, None] * directions
        drawn *= np.linalg.norm(normals, axis=1)[:, None]
        return drawn

    def _scaled(self, drawn: FloatArray, randomness: Randomness) -> FloatArray:
        return _directions(drawn, randomness) * self.norm


class PrivUnitG(_Cap):
    """The same with Gaussian vectors for the sphere: lengths of results vary a little.

    Args:
        dimension: number of components, from 2.
        epsilon: from 2 ** -13 to 300.

    Attributes:
        gamma: least height of the cap, in standard deviations.
        p: probability of a draw from the cap.
        q: what it would be without knowing the direction.
        norm: what draws are multiplied by; lengths are about `norm * sqrt(dimension)`.
        grid: what draws are rounded to multiples of, before they are multiplied.

    Raises:
        UsageError: an argument is missing or out of range.

    Example:
        >>> mechanism = PrivUnitG(dimension=64, epsilon=8)
        >>> mechanism.release(np.ones((2, 64))).shape
        (2, 64)
        >>> round(mechanism.mean_squared_error, 3)
        8.503

    Source: H. Asi, V. Feldman and K. Talwar, "Optimal algorithms for mean estimation under local
    differential privacy", 2022, section 4.
    """

    name = "privunit-g"

    @property
    def mean_squared_error(self) -> float:
        """Expected squared Euclidean distance of a result from the direction."""
        return self.norm**2 * self.dimension + self.norm * self.gamma - 1

    def _height(self, rank: FloatArray) -> FloatArray:
        from scipy.special import ndtri

        height: FloatArray = -ndtri(rank)
        return height

    def _shrinkage(self, q: float, p: float) -> float:
        height = float(self._height(np.array(q)))
        density = math.exp(-(height**2) / 2) / math.sqrt(2 * math.pi)
        return density * (p - q) / (q * (1 - q))

    def _slope(self, q: float, shrinkage: float) -> float:
        # Up to a positive factor, minus the derivative of the mean squared error by the height.
        height = float(self._height(np.array(q)))
        return (shrinkage - height) * (2 * self.dimension + height * shrinkage) - shrinkage

    def _drawn(
        self, directions: FloatArray, ranks: FloatArray, signs: FloatArray, normals: FloatArray
    ) -> FloatArray:
        drawn = _across(directions, normals)
        drawn += (signs * self._height(ranks))[:, None] * directions
        return drawn

    def _scaled(self, drawn: FloatArray, randomness: Randomness) -> FloatArray:
        return drawn * self.norm


def _probability(epsilon: float, q: float) -> Fraction:
    """The largest p that epsilon allows; what is left to 1 is rounded up to a random word's."""
    left = (1 - q) / (1 - q + math.exp(epsilon + math.log(q)))
    return 1 - Fraction(math.ceil(Fraction(left) * _WORDS), _WORDS)


def _across(directions: FloatArray, normals: FloatArray) -> FloatArray:
    """Vectors without their components along directions."""
    along = np.einsum("ij,ij->i", normals, directions)
    across: FloatArray = normals - along[:, None] * directions
    return across


def _directions(rows: FloatArray, randomness: Randomness) -> FloatArray:
    """Rows scaled to length 1; a random direction for zeros."""
    zeros = ~rows.any(axis=1)
    if zeros.any():
        rows = rows.copy()
        rows[zeros] = randomness.normals((int(zeros.sum()), rows.shape[1]))
    return unit_rows(rows)
