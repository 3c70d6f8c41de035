"""Directions released by drawing from a cap of the sphere more often than from the rest."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sordino.errors import UsageError
from sordino.privacy.exact import bernoulli
from sordino.privacy.mechanisms.base import Directional
from sordino.privacy.mechanisms.checks import checked_epsilon
from sordino.privacy.mechanisms.clip import unit_rows
from sordino.privacy.randomness import FloatArray, Randomness

# Beyond, the cap is too small for floats; nothing is protected there anyway.
LARGEST_EPSILON = 500.0

# Kept back from epsilon: what rounding of p, q and the results may add, see `_Cap`.
_RESERVE = 1e-9
_GRID = 2.0**-12
_BLOCK = 2**17
_WORDS = 2**64


class _Cap(Directional):
    """What both forms share.

    Of a vector's direction u, "a draw lies in the cap" means that its component along u, here the
    height, is at least gamma. A draw from the cap has the probability p, by symmetry it would
    have q. Within and outside the cap draws are as likely as without u, so that likelihoods
    differ by at most exp(epsilon) = p (1 - q) / ((1 - p) q).

    Floating point: a draw from the sphere is multiplied by the length of a Gaussian vector, which
    knows nothing of u, and rounded to multiples of 2 ** -12. So results for all u lie on one
    grid, and each of its points stands for a cube with many floats in it, far wider than their errors.
    """

    beyond = (
        "rounding of floating-point numbers before a result is put on a grid 2 ** -12 wide: what it"
        " adds to epsilon was estimated to be below 1e-6 for 1,000 components, not proved",
        "how long the vector was: only its direction is released",
    )

    def __init__(self, dimension: int | None = None, epsilon: float | None = None) -> None:
        if dimension is None or dimension != int(dimension) or dimension < 2:
            raise UsageError(f"dimension {dimension} is not a whole number from 2")
        self.dimension = int(dimension)
        self.epsilon = checked_epsilon(epsilon, largest=LARGEST_EPSILON)
        kept = self.epsilon * (1 - _RESERVE) - _RESERVE
        self.gamma = self._best_gamma(kept)
        self.q = self._cap_probability(self.gamma)
        self._p = _inside(kept, self.q)
        self.p = float(self._p)

    @property
    @abstractmethod
    def norm(self) -> float:
        """What a draw of length 1 or of independent normal numbers is multiplied by."""

    @abstractmethod
    def _best_gamma(self, epsilon: float) -> float:
        """The height of the cap that gives the least error."""

    @abstractmethod
    def _cap_probability(self, gamma: float) -> float:
        """The probability that the height is at least gamma, by symmetry."""

    @abstractmethod
    def _drawn(self, directions: FloatArray, ranks: FloatArray, normals: FloatArray) -> FloatArray:
        """Draws of a given rank of the height from above, as Gaussian vectors' size."""

    @abstractmethod
    def _scaled(self, drawn: FloatArray, randomness: Randomness) -> FloatArray:
        """Results of draws on the grid."""

    def _released(self, rows: FloatArray, randomness: Randomness) -> FloatArray:
        if rows.shape[1] != self.dimension:
            raise UsageError(
                f"vectors have {rows.shape[1]} components; the mechanism is for {self.dimension}"
            )
        result = np.empty_like(rows)
        size = max(1, _BLOCK // self.dimension)
        for start in range(0, len(rows), size):
            block = rows[start : start + size]
            inside = bernoulli(self._p, len(block), randomness)
            ranks = randomness.uniforms(len(block))
            ranks = np.where(inside, self.q * ranks, self.q + (1 - self.q) * ranks)
            drawn = self._drawn(
                _directions(block, randomness), ranks, randomness.normals(block.shape)
            )
            on_grid = np.rint(drawn / _GRID) * _GRID
            result[start : start + size] = self._scaled(on_grid, randomness)
        return result

    def _terms(self) -> dict[str, object]:
        return {
            "clip": 1.0,
            "norm": "l2, scaled to 1",
            "grid": _GRID,
            "dimension": self.dimension,
            "gamma": self.gamma,
            "p": self.p,
        }


class PrivUnit(_Cap):
    """Unbiased releases of directions: results have length 1 / m, with m = gamma at the best cap.

    Vectors are scaled to length 1 first; of a vector that is zero, a random direction is
    released.

    Args:
        dimension: number of components, from 2.
        epsilon: from 2 ** -13 to 500.

    Attributes:
        gamma: height of the cap, from 0 to below 1.
        p: probability of a draw from the cap.
        q: what it is by symmetry.
        norm: length of every result.

    Raises:
        UsageError: an argument is missing or out of range.

    Example:
        >>> mechanism = PrivUnit(dimension=64, epsilon=8)
        >>> round(mechanism.gamma, 4), round(mechanism.p, 3)
        (0.3342, 0.907)
        >>> round(mechanism.mean_squared_error, 3)
        7.952
        >>> released = mechanism.release(np.ones((5, 64)))
        >>> np.round(np.linalg.norm(released, axis=1) * mechanism.gamma, 6)
        array([1., 1., 1., 1., 1.])

    Source: A. Bhowmick et al., "Protection against reconstruction and its applications in private
    federated learning", 2018, with the exact epsilon instead of sufficient conditions; H. Asi, V.
    Feldman and K. Talwar, "Optimal algorithms for mean estimation under local differential
    privacy", 2022, on the best cap.
    """

    name = "privunit"

    @property
    def norm(self) -> float:
        """Length of every result, 1 / m."""
        return 1 / self._shrinkage(self.gamma, self.q, float(self._p))

    @property
    def mean_squared_error(self) -> float:
        """Expected squared Euclidean distance of a result from the direction."""
        return self.norm**2 - 1

    def _shrinkage(self, gamma: float, q: float, p: float) -> float:
        """m: the expected height of a draw."""
        from scipy.special import betaln

        a = (self.dimension - 1) / 2
        density = math.exp(a * math.log((1 - gamma) * (1 + gamma)) - betaln(0.5, a)) / (2 * a)
        return density * (p - q) / (q * (1 - q))

    def _cap_probability(self, gamma: float) -> float:
        from scipy.special import betainc

        a = (self.dimension - 1) / 2
        return float(betainc(a, a, (1 - gamma) / 2))

    def _best_gamma(self, epsilon: float) -> float:
        def excess(gamma: float) -> float:
            q = self._cap_probability(gamma)
            return self._shrinkage(gamma, q, float(_inside(epsilon, q))) - gamma

        # Where m, as a function of gamma, is largest, it equals gamma.
        return _root(excess, 0.0, 1.0)

    def _drawn(self, directions: FloatArray, ranks: FloatArray, normals: FloatArray) -> FloatArray:
        from scipy.special import betaincinv

        a = (self.dimension - 1) / 2
        low = betaincinv(a, a, ranks)  # (1 - height) / 2
        lengths = np.linalg.norm(normals, axis=1)
        across = _across(directions, normals)
        across *= (2 * np.sqrt(low * (1 - low)) / np.linalg.norm(across, axis=1))[:, None]
        across += (1 - 2 * low)[:, None] * directions
        across *= lengths[:, None]
        return across

    def _scaled(self, drawn: FloatArray, randomness: Randomness) -> FloatArray:
        return _directions(drawn, randomness) * self.norm


class PrivUnitG(_Cap):
    """The same with Gaussian vectors in the place of the sphere; lengths of results vary a little.

    Args:
        dimension: number of components, from 2.
        epsilon: from 2 ** -13 to 500.

    Attributes:
        gamma: how far along the direction the cap begins, in standard deviations.
        p: probability of a draw from the cap.
        q: what it is by symmetry.

    Raises:
        UsageError: an argument is missing or out of range.

    Example:
        >>> mechanism = PrivUnitG(dimension=64, epsilon=8)
        >>> mechanism.release(np.ones((5, 64))).shape
        (5, 64)
        >>> round(mechanism.mean_squared_error, 2)
        8.19

    Source: H. Asi, V. Feldman and K. Talwar, "Optimal algorithms for mean estimation under local
    differential privacy", 2022, section 4.
    """

    name = "privunit-g"

    @property
    def norm(self) -> float:
        """What Gaussian vectors are multiplied by; lengths are about this times sqrt(d)."""
        return 1 / _gaussian_shrinkage(self.gamma, self.q, float(self._p))

    @property
    def mean_squared_error(self) -> float:
        """Expected squared Euclidean distance of a result from the direction."""
        return self.norm**2 * self.dimension + self.norm * self.gamma - 1

    def _cap_probability(self, gamma: float) -> float:
        from scipy.special import ndtr

        return float(ndtr(-gamma))

    def _best_gamma(self, epsilon: float) -> float:
        def slope(gamma: float) -> float:
            q = self._cap_probability(gamma)
            shrinkage = _gaussian_shrinkage(gamma, q, float(_inside(epsilon, q)))
            return (shrinkage - gamma) * (2 * self.dimension + gamma * shrinkage) - shrinkage

        # Up to a positive factor this is minus the derivative of the error.
        return _root(slope, 0.0, math.sqrt(2 * epsilon) + 1)

    def _drawn(self, directions: FloatArray, ranks: FloatArray, normals: FloatArray) -> FloatArray:
        from scipy.special import ndtri

        across = _across(directions, normals)
        across -= ndtri(ranks)[:, None] * directions
        return across

    def _scaled(self, drawn: FloatArray, randomness: Randomness) -> FloatArray:
        return drawn * self.norm


def _inside(epsilon: float, q: float) -> Fraction:
    """The largest p that epsilon allows, rounded down to what a random word can decide."""
    odds = math.exp(min(0.0, epsilon + math.log(q) - math.log1p(-q)))
    ...


def _gaussian_shrinkage(gamma: float, q: float, p: float) -> float:
    """The expected component of a draw along the direction."""
    density = math.exp(-(gamma**2) / 2) / math.sqrt(2 * math.pi)
    return density * (p - q) / (q * (1 - q))


def _across(directions: FloatArray, normals: FloatArray) -> FloatArray:
    """Normal vectors without their components along directions."""
    along = np.einsum("ij,ij->i", normals, directions)
    return normals - along[:, None] * directions


def _directions(rows: FloatArray, randomness: Randomness) -> FloatArray:
    """Rows scaled to length 1; in the place of zero a random direction."""
    zero = ~rows.any(axis=1)
    if zero.any():
        rows = rows.copy()
        rows[zero] = randomness.normals((int(zero.sum()), rows.shape[1]))
    return unit_rows(rows)
