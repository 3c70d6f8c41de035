"""Probabilistic linear discriminant analysis: log-likelihood ratios from a model of speakers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import linalg

from sordino.errors import UsageError
from sordino.speaker.scoring.backend import Backend
from sordino.speaker.scoring.checks import Float64Array, as_rows, stored, stored_yes_no
from sordino.speaker.scoring.cosine import unit
from sordino.speaker.scoring.projection import Projection, fit_whitening
from sordino.speaker.scoring.scatter import Labels
from sordino.speaker.scoring.two_covariance import TwoCovariance, fit_two_covariance

Multiple = Literal["joint", "average"]
"""How several enrolment vectors count: each as an observation, or their average as one."""


@dataclass(frozen=True)
class Plda(Backend):
    """PLDA scoring; scores are log-likelihood ratios in nats under the model.

    The ratio compares "one speaker said the enrolment utterances and the trial" with "the trial
    is by another one". Real data fit the model roughly, so that scores need calibration.

    Attributes:
        projection: applied to the vectors as they come.
        model: of the projected vectors, after length normalisation if there is one.
        length_normalise: scale projected vectors to length sqrt(k), for k dimensions.
        multiple: "joint" takes several enrolment vectors as so many observations of the speaker,
            by the book; "average" takes the mean of the normalised vectors, normalised again, as
            one. The latter suits utterances of one session, which vary less than the model says.

    Example:
        >>> model = TwoCovariance(np.zeros(1), np.array([[2.0]]), np.eye(1))
        >>> plda = Plda(Projection(np.eye(1), np.zeros(1)), model, length_normalise=False)
        >>> plda.score([[2.0], [2.2]], [[2.1], [-2.1]]).round(2).tolist()
        [1.04, -4.38]

    Source: S. Prince, J. Elder, "Probabilistic linear discriminant analysis for inferences about
    identity", 2007; several enrolments: P. Rajan et al., "From single to multiple enrollment
    i-vectors", 2014; length normalisation: D. Garcia-Romero, C. Espy-Wilson, "Analysis of
    i-vector length normalization in speaker recognition systems", 2011.
    """

    projection: Projection
    model: TwoCovariance
    length_normalise: bool = True
    multiple: Multiple = "joint"
    _axes: Float64Array = field(init=False, repr=False, compare=False)
    _ratio: Float64Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        dimension = len(self.model.mean)
        if self.projection.matrix.shape[1] != dimension:
            raise UsageError(
                f"the projection gives {self.projection.matrix.shape[1]} dimensions and the model"
                f" has {dimension}"
            )
        if self.multiple not in ("joint", "average"):
            raise UsageError(f"multiple is {self.multiple!r}; expected 'joint' or 'average'")
        # In these axes the covariance within speakers is the identity and the one between
        # speakers is diagonal: `_ratio`. Directions without speakers' variance drop out.
        factor = linalg.cholesky(self.model.within, lower=True)
        white = linalg.solve_triangular(factor, self.model.loading, lower=True)
        turn, ratio, _ = linalg.svd(white, full_matrices=False)
        axes = linalg.solve_triangular(factor, turn, lower=True, trans="T")
        object.__setattr__(self, "_axes", axes)
        object.__setattr__(self, "_ratio", ratio**2)

    def enrol(self, vectors: npt.ArrayLike) -> Float64Array:
        """The row of a speaker who enrolled with vectors of shape (k, d): shape (2 r + 1,)."""
        normal = self._normal(vectors)
        count = len(normal)
        if self.multiple == "average" and count > 1:
            normal, count = self._scaled(normal.mean(axis=0, keepdims=True)), 1
        latent = self._latent(normal).mean(axis=0)
        # A trial of this speaker is normal with this mean and variance, of any speaker with
        # mean 0 and variance 1 + ratio; the difference of the logarithms is quadratic in the trial.
        posterior = self._ratio / (1.0 + count * self._ratio)
        mean, variance, anybody = count * posterior * latent, 1.0 + posterior, 1.0 + self._ratio
        constant = -0.5 * np.sum(np.log(variance / anybody) + mean**2 / variance)
        return np.concatenate(
            [mean / variance, 0.5 * (1.0 / anybody - 1.0 / variance), [constant]], dtype=np.float64
        )

    def prepare(self, vectors: npt.ArrayLike) -> Float64Array:
        """The rows of utterances with vectors of shape (n, d): shape (n, 2 r + 1)."""
        latent = self._latent(self._normal(vectors))
        return np.column_stack([latent, latent**2, np.ones(len(latent))])

    def to_arrays(self) -> dict[str, Float64Array]:
        """Named arrays that tell everything, for instance for `numpy.savez`."""
        return {
            **self.projection.to_arrays("plda.projection."),
            "plda.mean": self.model.mean,
            "plda.loading": self.model.loading,
            "plda.within": self.model.within,
            "plda.length_normalise": np.array(float(self.length_normalise)),
            "plda.average": np.array(float(self.multiple == "average")),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.ArrayLike]) -> Plda:
        """What `to_arrays` stored.

        Raises:
            UsageError: an array is missing or does not fit, or the covariance is not one.
        """
        mean = stored(arrays, "plda.mean", (None,))
        within = stored(arrays, "plda.within", (len(mean), len(mean)))
        if not np.allclose(within, within.T) or np.linalg.eigvalsh(within)[0] <= 0.0:
            raise UsageError("stored scoring: 'plda.within' is not a covariance matrix")
        return cls(
            Projection.from_arrays(arrays, "plda.projection."),
            TwoCovariance(mean, stored(arrays, "plda.loading", (len(mean), None)), within),
            stored_yes_no(arrays, "plda.length_normalise"),
            "average" if stored_yes_no(arrays, "plda.average") else "joint",
        )

    def _normal(self, vectors: npt.ArrayLike) -> Float64Array:
        return self._scaled(self.projection(as_rows(vectors).astype(np.float64)))

    def _scaled(self, projected: npt.ArrayLike) -> Float64Array:
        return _scaled(projected) if self.length_normalise else np.asarray(projected, np.float64)

    def _latent(self, normal: Float64Array) -> Float64Array:
        latent: Float64Array = (normal - self.model.mean) @ self._axes
        return latent


def fit_plda(
    vectors: npt.ArrayLike,
    labels: Labels,
    *,
    projection: Projection | None = None,
    rank: int | None = None,
    length_normalise: bool = True,
    multiple: Multiple = "joint",
    prior: float | None = None,
    iterations: int = 100,
    progress: Callable[[int, float], None] | None = None,
) -> Plda:
    """Centre, whiten, normalise the length, and fit the model of speakers.

    Args:
        vectors: shape (n, d).
        labels: n speakers' names; speakers' numbers of vectors may differ.
        projection: applied first, for instance of `fit_lda`.
        rank: dimensions of what differs between speakers; by default all.
        length_normalise: see `Plda`.
        multiple: see `Plda`.
        prior: see `fit_two_covariance`; by default as many vectors as there are dimensions.
        iterations: see `fit_two_covariance`.
        progress: see `fit_two_covariance`.

    Raises:
        UsageError: a setting is out of range, or the vectors do not suffice.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> speakers = np.repeat(np.arange(50), 4)
        >>> x = rng.normal(0, 2, (50, 3))[speakers] + rng.normal(0, 1, (200, 3))
        >>> plda = fit_plda(x, speakers)
        >>> same, other = plda.score(x[:2], x[[2, 8]])
        >>> bool(same > other)
        True
    """
    rows = as_rows(vectors).astype(np.float64)
    first = rows if projection is None else projection(rows)
    whitening = fit_whitening(first)
    normal = whitening(first)
    model = fit_two_covariance(
        _scaled(normal) if length_normalise else normal,
        labels,
        rank=rank,
        prior=float(normal.shape[1]) if prior is None else prior,
        iterations=iterations,
        progress=progress,
    )
    whole = whitening if projection is None else projection.then(whitening)
    return Plda(whole, model, length_normalise, multiple)


def _scaled(vectors: npt.ArrayLike) -> Float64Array:
    directions = unit(vectors)
    return np.asarray(directions * np.sqrt(directions.shape[1]), np.float64)
