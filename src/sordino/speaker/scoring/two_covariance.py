"""The two-covariance model of speaker vectors, fitted by expectation maximisation.

A vector is x = mean + loading z + e: z, of a standard normal distribution, stays the same for all
of a speaker's utterances; e, with the covariance `within`, is new in each. The covariance between
speakers is loading loading^T; with fewer columns than dimensions it is the simplified form of
PLDA, with as many the two-covariance model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import linalg

from sordino.errors import UsageError
from sordino.speaker.scoring.checks import Float64Array
from sordino.speaker.scoring.scatter import Grouped, Labels

# The least ratio of variances, between to within speakers, that a direction starts with: from
# none at all it could not grow.
_LEAST_RATIO = 1e-2


@dataclass(frozen=True)
class TwoCovariance:
    """A fitted model.

    Attributes:
        mean: float64, shape (d,).
        loading: float64, shape (d, r).
        within: float64, shape (d, d), positive definite.

    Example:
        >>> model = TwoCovariance(np.zeros(1), np.array([[2.0]]), np.eye(1))
        >>> round(model.log_likelihood([[0.0], [0.0]], ["a", "a"]), 3)
        -2.936
    """

    mean: Float64Array
    loading: Float64Array
    within: Float64Array

    def log_likelihood(self, vectors: npt.ArrayLike, labels: Labels) -> float:
        """Logarithm of the density of vectors, all of each speaker's jointly, in nats.

        Args:
            vectors: shape (n, d).
            labels: n speakers' names.

        Raises:
            UsageError: the labels do not fit the vectors.
        """
        return _Step(self, _Sums.of(Grouped.by(vectors, labels))).log_likelihood()


def fit_two_covariance(
    vectors: npt.ArrayLike,
    labels: Labels,
    *,
    rank: int | None = None,
    prior: float = 0.0,
    iterations: int = 100,
    tolerance: float = 1e-6,
    progress: Callable[[int, float], None] | None = None,
) -> TwoCovariance:
    """Fit by expectation maximisation; speakers' numbers of vectors may differ.

    Args:
        vectors: shape (n, d).
        labels: n speakers' names.
        rank: columns of the loading, 1 to d; by default d.
        prior: for how many vectors a prior counts that the covariance within speakers is a
            multiple of the identity (an inverse Wishart density); 0 for maximum likelihood.
        iterations: at most, at least 1.
        tolerance: stop when an iteration raises the objective by less, in nats for each vector.
        progress: told after each iteration its number, from 1, and the objective that it started
            from: the log-likelihood, and the prior's logarithm up to a constant, for each vector.
            It never falls but for rounding.

    Raises:
        UsageError: a setting is out of range, or the vectors do not suffice.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> speakers = np.repeat(np.arange(500), 4)
        >>> x = rng.normal(0, 3, (500, 1))[speakers] + rng.normal(0, 1, (2000, 1))
        >>> model = fit_two_covariance(x, speakers)
        >>> abs(model.loading).round().tolist(), model.within.round().tolist()
        ([[3.0]], [[1.0]])

    Source: N. Brümmer, E. de Villiers, "The speaker partitioning problem", 2010; the rescaling
    that speeds it up: C. Liu, D. Rubin, Y. Wu, "Parameter expansion to accelerate EM", 1998.
    """
    groups = Grouped.to_learn(vectors, labels)
    dimension = groups.vectors.shape[1]
    columns = dimension if rank is None else rank
    if not 1 <= columns <= dimension:
        raise UsageError(f"rank {columns} is outside 1 to {dimension}, the vectors' dimensions")
    if iterations < 1 or prior < 0.0:
        raise UsageError("at least one iteration and a prior of at least 0 are needed")
    freedom = len(groups.vectors) - len(groups.counts)
    if freedom + prior < dimension:
        raise UsageError(
            f"{len(groups.vectors)} vectors of {len(groups.counts)} speakers are too few for"
            f" {dimension} dimensions; use more, fewer dimensions (LDA), or a larger prior"
        )
    sums = _Sums.of(groups)
    target = _isotropic(groups)
    model = _start(groups, columns, prior, target)
    last = -np.inf
    for iteration in range(1, iterations + 1):
        step = _Step(model, sums)
        reached = (step.log_likelihood() + step.log_prior(prior, target)) / sums.total
        if progress is not None:
            progress(iteration, reached)
        if reached - last < tolerance:
            break
        last = reached
        model = step.maximised(prior, target)
    return model


@dataclass(frozen=True)
class _Sums:
    """All that the fit needs to know of the vectors, taken about `origin`."""

    origin: Float64Array
    counts: npt.NDArray[np.intp]
    sums: Float64Array  # (speakers, d)
    square: Float64Array  # (d, d), the sum of x x^T

    @classmethod
    def of(cls, groups: Grouped) -> _Sums:
        origin = groups.vectors.mean(axis=0)
        centred = groups.vectors - origin
        sums = (groups.means - origin) * groups.counts[:, None]
        return cls(origin, groups.counts, sums, centred.T @ centred)

    @property
    def total(self) -> int:
        return int(self.counts.sum())


class _Step:
    """The speakers' posterior under a model, and what follows from it.

    The model is turned so that the posterior covariance of each speaker is diagonal, whatever
    its number of vectors: 1 / (1 + number * gain).
    """

    def __init__(self, model: TwoCovariance, sums: _Sums) -> None:
        self._sums = sums
        self._mean = model.mean - sums.origin
        self._factor = _cholesky(model.within)
        white = linalg.solve_triangular(self._factor, model.loading, lower=True)
        gain, turn = linalg.eigh(white.T @ white)
        self._gain = np.maximum(gain, 0.0)
        self._loading = model.loading @ turn
        reduced = linalg.solve_triangular(self._factor, white @ turn, lower=True, trans="T")
        around = sums.sums - sums.counts[:, None] * self._mean
        self._evidence = around @ reduced
        self._spread = 1.0 / (1.0 + sums.counts[:, None] * self._gain)
        self._latent = self._evidence * self._spread

    def log_likelihood(self) -> float:
        sums = self._sums
        first = sums.sums.sum(axis=0)
        cross = np.outer(self._mean, first)
        square = sums.square - cross - cross.T + sums.total * np.outer(self._mean, self._mean)
        distance = np.trace(linalg.cho_solve((self._factor, True), square))
        constant = len(self._mean) * np.log(2.0 * np.pi) + self._log_determinant()
        speakers = np.sum(np.log(self._spread)) + np.sum(self._evidence * self._latent)
        return float(0.5 * (speakers - distance - sums.total * constant))

    def log_prior(self, prior: float, target: Float64Array) -> float:
        distance = np.trace(linalg.cho_solve((self._factor, True), target))
        return float(-0.5 * prior * (self._log_determinant() + distance))

    def maximised(self, prior: float, target: Float64Array) -> TwoCovariance:
        sums, latent, spread = self._sums, self._latent, self._spread
        counts = sums.counts.astype(np.float64)
        # Regression of the vectors on (z, 1).
        size = latent.shape[1]
        moments = np.empty((size + 1, size + 1))
        moments[:size, :size] = (latent.T * counts) @ latent + np.diag(counts @ spread)
        moments[:size, size] = moments[size, :size] = counts @ latent
        moments[size, size] = sums.total
        cross = np.column_stack([sums.sums.T @ latent, sums.sums.sum(axis=0)])
        weights = linalg.solve(moments, cross.T, assume_a="pos").T
        within = (sums.square - weights @ cross.T + prior * target) / (sums.total + prior)
        # The speakers' z need not have mean 0 and covariance 1: that goes into the parameters.
        offset = latent.mean(axis=0)
        covariance = latent.T @ latent / len(latent) + np.diag(spread.mean(axis=0))
        covariance -= np.outer(offset, offset)
        loading = weights[:, :size]
        mean = weights[:, size] + loading @ offset
        return TwoCovariance(
            mean + sums.origin, loading @ _cholesky(covariance), 0.5 * (within + within.T)
        )

    def _log_determinant(self) -> float:
        return float(2.0 * np.sum(np.log(np.diag(self._factor))))


def _isotropic(groups: Grouped) -> Float64Array:
    count, dimension = groups.vectors.shape
    freedom = count - len(groups.counts)
    level = float(np.sum(groups.residuals**2)) / (freedom * dimension)
    target: Float64Array = level * np.eye(dimension)
    return target


def _start(groups: Grouped, rank: int, prior: float, target: Float64Array) -> TwoCovariance:
    count = len(groups.vectors)
    freedom = count - len(groups.counts)
    residuals = groups.residuals
    within = (residuals.T @ residuals + prior * target) / (freedom + prior)
    factor = _cholesky(within)
    # Speakers' means vary by what is between speakers and by the rest of what is within.
    spread, axes = linalg.eigh(groups.between, within)
    ratio = np.maximum(spread - len(groups.counts) / count, _LEAST_RATIO)
    kept = np.argsort(ratio)[::-1][:rank]
    white = factor.T @ axes[:, kept]
    return TwoCovariance(
        groups.vectors.mean(axis=0), factor @ (white * np.sqrt(ratio[kept])), within
    )


def _cholesky(covariance: Float64Array) -> Float64Array:
    try:
        factor: Float64Array = linalg.cholesky(covariance, lower=True)
    except linalg.LinAlgError as error:
        raise UsageError(
            "a covariance became singular: the vectors do not vary in all of their dimensions;"
            " use fewer (LDA), or a prior above 0"
        ) from error
    return factor
