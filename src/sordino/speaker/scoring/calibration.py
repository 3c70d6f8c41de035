"""Calibration: turning scores into log-likelihood ratios that can be taken at their word.

A calibrated score is the natural logarithm of how much likelier it is under "same speaker" than
under "another speaker". The accept decision of least cost is then `bayes_threshold`, whatever
the costs and the prior.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from sordino.errors import UsageError
from sordino.speaker.scoring.checks import Float64Array, FloatArray, as_scores, stored

# Scores worked on at once.
_BLOCK = 2**18

_STEPS = 100


@dataclass(frozen=True)
class AffineCalibration:
    """The map score -> slope score + offset.

    Attributes:
        slope: above 0 where targets score higher.
        offset: in nats.

    Example:
        >>> AffineCalibration(10.0, -4.0)([0.5]).tolist()
        [1.0]
    """

    slope: float
    offset: float

    def __call__(self, scores: npt.ArrayLike) -> FloatArray:
        """Log-likelihood ratios, in nats, of scores of any shape."""
        values = np.asarray(scores)
        kind = np.float32 if values.dtype == np.float32 else np.float64
        return np.asarray(values * kind(self.slope) + kind(self.offset), kind)

    def to_arrays(self) -> dict[str, Float64Array]:
        """Named arrays that tell everything, for instance for `numpy.savez`."""
        return {"affine.slope": np.array(self.slope), "affine.offset": np.array(self.offset)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.ArrayLike]) -> AffineCalibration:
        """What `to_arrays` stored.

        Raises:
            UsageError: an array is missing or does not fit.
        """
        slope, offset = (stored(arrays, f"affine.{name}", ()) for name in ("slope", "offset"))
        return cls(float(slope), float(offset))


@dataclass(frozen=True)
class MonotoneCalibration:
    """A rising map given by points, straight between them and flat beyond them.

    Attributes:
        scores: float64, shape (points,), rising.
        ratios: float64, shape (points,), log-likelihood ratios in nats, not falling.

    Example:
        >>> MonotoneCalibration(np.array([0.0, 1.0]), np.array([-2.0, 2.0]))([0.75, 3.0]).tolist()
        [1.0, 2.0]
    """

    scores: Float64Array
    ratios: Float64Array

    def __post_init__(self) -> None:
        rising = np.all(np.diff(self.scores) > 0) and np.all(np.diff(self.ratios) >= 0)
        if self.scores.shape != self.ratios.shape or not rising:
            raise UsageError("a monotone calibration needs rising scores and ratios that match")

    def __call__(self, scores: npt.ArrayLike) -> Float64Array:
        """Log-likelihood ratios, in nats, of scores of any shape."""
        return np.asarray(np.interp(np.asarray(scores), self.scores, self.ratios), np.float64)

    def to_arrays(self) -> dict[str, Float64Array]:
        """Named arrays that tell everything, for instance for `numpy.savez`."""
        return {"monotone.scores": self.scores, "monotone.ratios": self.ratios}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.ArrayLike]) -> MonotoneCalibration:
        """What `to_arrays` stored.

        Raises:
            UsageError: an array is missing or does not fit.
        """
        scores = stored(arrays, "monotone.scores", (None,))
        return cls(scores, stored(arrays, "monotone.ratios", scores.shape))


def fit_affine(
    targets: npt.ArrayLike,
    nontargets: npt.ArrayLike,
    *,
    prior: float = 0.5,
    ridge: float = 0.0,
) -> AffineCalibration:
    """Calibrate by logistic regression, weighted for an effective prior.

    Targets together weigh as much as the prior, non-targets as its complement, however many
    there are of each.

    Args:
        targets: scores of trials of the enrolled speaker.
        nontargets: scores of trials of other speakers.
        prior: effective prior of a target, in (0, 1): where the ratios are to be most exact. See
            `effective_prior`.
        ridge: penalty on the slope's square, for scores scaled to deviation 1. Above 0, for
            instance 1e-3, also scores that do not overlap give a finite calibration.

    Raises:
        UsageError: there are no scores of a kind, all are equal, a setting is out of range, or
            without a ridge the scores do not overlap.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> calibrate = fit_affine(rng.normal(1, 1, 90_000), rng.normal(-1, 1, 90_000))
        >>> round(calibrate.slope, 1), abs(round(calibrate.offset, 1))
        (2.0, 0.0)

    Source: N. Brümmer, J. du Preez, "Application-independent evaluation of speaker detection",
    2006.
    """
    same, other = as_scores(targets, "target scores"), as_scores(nontargets, "non-target scores")
    if not 0.0 < prior < 1.0:
        raise UsageError(f"the prior {prior:g} is outside 0 to 1")
    if ridge < 0.0:
        raise UsageError(f"the ridge {ridge:g} is below 0")
    if ridge == 0.0 and (same.min() >= other.max() or same.max() <= other.min()):
        raise UsageError(
            "target and non-target scores do not overlap, so that their calibration has no limit;"
            " use more trials or a ridge above 0"
        )
    centre = prior * same.mean(dtype=np.float64) + (1 - prior) * other.mean(dtype=np.float64)
    scale = float(np.sqrt(0.5 * (_power(same, centre) + _power(other, centre))))
    if scale == 0.0:
        raise UsageError("all scores are equal; nothing tells targets from non-targets")
    objective = _Objective(same, other, float(centre), scale, prior, ridge)
    slope, offset = _minimise(objective) / [scale, 1.0]
    return AffineCalibration(float(slope), float(offset - slope * centre))


def fit_monotone(targets: npt.ArrayLike, nontargets: npt.ArrayLike) -> MonotoneCalibration:
    """Calibrate by the rising steps that fit best (pool adjacent violators).

    One target below all scores and one non-target above all are added in thought, so that no
    ratio is infinite. Between two steps the map is straight.

    Args:
        targets: scores of trials of the enrolled speaker.
        nontargets: scores of trials of other speakers.

    Raises:
        UsageError: there are no scores of a kind.

    Example:
        >>> fit_monotone([1.0, 2.0, 3.0], [0.0, 0.5, 1.5])([0.0, 1.2, 3.0]).round(3).tolist()
        [-0.693, 0.0, 0.693]

    Source: N. Brümmer, J. du Preez, as for `fit_affine`; B. Zadrozny, C. Elkan, "Transforming
    classifier scores into accurate multiclass probability estimates", 2002.
    """
    from scipy.optimize import isotonic_regression

    same, other = as_scores(targets, "target scores"), as_scores(nontargets, "non-target scores")
    values, place = np.unique(np.concatenate([same, other]), return_inverse=True)
    hits = np.bincount(place[: same.size], minlength=values.size)
    trials = np.bincount(place, minlength=values.size)
    share = np.concatenate([[1.0], hits / trials, [0.0]])
    fitted = isotonic_regression(share, weights=np.concatenate([[1.0], trials, [1.0]])).x[1:-1]
    ratios = np.log(fitted / (1.0 - fitted)) - np.log((same.size + 1) / (other.size + 1))
    # Only the ends of each step.
    change = np.diff(ratios) > 0
    ends = np.concatenate([[True], change]) | np.concatenate([change, [True]])
    return MonotoneCalibration(values[ends].astype(np.float64), ratios[ends])


def _power(scores: FloatArray, centre: float) -> float:
    return float(np.mean(np.square(scores - centre), dtype=np.float64))


class _Objective:
    """Weighted cross-entropy of (slope, offset) on standardised scores, in blocks."""

    def __init__(
        self,
        same: FloatArray,
        other: FloatArray,
        centre: float,
        scale: float,
        prior: float,
        ridge: float,
    ) -> None:
        self._sides = ((same, 1.0, prior / same.size), (other, -1.0, (1.0 - prior) / other.size))
        self._centre = centre
        self._scale = scale
        self._logit = np.log(prior / (1.0 - prior))
        self._ridge = ridge

    def value(self, point: Float64Array) -> float:
        total = 0.5 * self._ridge * point[0] ** 2
        for _, margin, _, weight in self._blocks(point):
            total += weight * float(np.sum(np.logaddexp(0.0, -margin)))
        return float(total)

    def derivatives(self, point: Float64Array) -> tuple[Float64Array, Float64Array]:
        gradient = np.array([self._ridge * point[0], 0.0])
        curvature = np.diag([self._ridge, 0.0])
        for standard, margin, sign, weight in self._blocks(point):
            wrong = expit(-margin)
            slope = -sign * weight * wrong
            bend = weight * wrong * (1.0 - wrong)
            gradient += [slope @ standard, slope.sum()]
            cross = bend @ standard
            curvature += [[bend @ standard**2, cross], [cross, bend.sum()]]
        return gradient, curvature

    def _blocks(
        self, point: Float64Array
    ) -> Iterator[tuple[Float64Array, Float64Array, float, float]]:
        for scores, sign, weight in self._sides:
            for start in range(0, scores.size, _BLOCK):
                block = scores[start : start + _BLOCK].astype(np.float64)
                standard = (block - self._centre) / self._scale
                yield standard, sign * (point[0] * standard + point[1] + self._logit), sign, weight


def _minimise(objective: _Objective) -> Float64Array:
    """Newton's method; where a full step would not descend enough, a shorter one."""
    point = np.zeros(2)
    value = objective.value(point)
    for _ in range(_STEPS):
        gradient, curvature = objective.derivatives(point)
        step = np.linalg.solve(curvature, -gradient)
        decrease = float(-gradient @ step)
        if decrease <= 1e-15 * max(value, 1.0):
            break
        size = 1.0
        while (reached := objective.value(point + size * step)) > value - 0.25 * size * decrease:
            size *= 0.5
            if size < 1e-9:
                return point
        point, value = point + size * step, reached
    return point
