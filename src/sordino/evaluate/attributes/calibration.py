"""Making an attacker's scores log-likelihoods of an attribute's values that can be relied on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.evaluate.metrics.checks import finite_numbers

Float64Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Penalty on the square of the scale, for scores of deviation 1: also scores that separate the
# values perfectly get finite likelihoods.
_RIDGE = 1e-3
# The order of scores is never turned round, and never lost.
_LEAST_SCALE = 1e-3


@dataclass(frozen=True, eq=False)
class LikelihoodCalibration:
    """The map of scores to `scale * scores + offsets`.

    Attributes:
        scale: above 0.
        offsets: in nats, shape (values,).
    """

    scale: float
    offsets: Float64Array

    def __call__(self, scores: npt.ArrayLike) -> Float64Array:
        """Log-likelihoods, in nats, such that those of each row are shares of 1.

        The difference of two columns is the log-likelihood ratio of two values.

        Args:
            scores: shape (n, values).

        Example:
            >>> calibrate = LikelihoodCalibration(2.0, np.zeros(2))
            >>> np.diff(calibrate([[0.0, 1.0]])).tolist()
            [[2.0]]
        """
        raised = self.scale * np.asarray(scores, np.float64) + self.offsets
        return _log_shares(raised)


def fit_likelihoods(scores: npt.ArrayLike, labels: IntArray) -> LikelihoodCalibration:
    """Calibrate by multinomial logistic regression, all values of the attribute weighing the same.

    For two values it is the affine calibration of `sordino.speaker.scoring.calibration`.

    Args:
        scores: logarithms of probabilities or of likelihoods, of vectors that the attacker was
            not trained on, shape (n, values).
        labels: their true values, numbers of columns, each of which occurs, shape (n,).

    Raises:
        UsageError: a score is NaN or infinite, or there are none.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> labels = np.arange(20_000) % 2
        >>> scores = np.zeros((20_000, 2))
        >>> scores[:, 1] = rng.normal(labels, 1)  # the ratio of these is the score - 1/2
        >>> calibrate = fit_likelihoods(scores, labels)
        >>> round(calibrate.scale, 1), np.diff(calibrate.offsets).round(1).tolist()
        (1.0, [-0.5])

    Source: N. Brümmer, "Measuring, refining and calibrating speaker and language information
    extracted from speech", 2010, chapter 8.
    """
    from scipy.optimize import minimize

    table = finite_numbers(scores, "scores", 2).astype(np.float64)
    centred = table - table.mean(axis=1, keepdims=True)
    spread = float(np.sqrt(np.mean(centred**2))) or 1.0
    standard = centred / spread
    counts = np.bincount(labels, minlength=table.shape[1])
    weights = 1.0 / (table.shape[1] * counts[labels])
    truth = np.eye(table.shape[1])[labels]

    def objective(point: Float64Array) -> tuple[float, Float64Array]:
        logs = _log_shares(point[0] * standard + point[1:])
        wrong = weights[:, None] * (np.exp(logs) - truth)
        value = -weights @ np.sum(logs * truth, axis=1) + 0.5 * _RIDGE * point[0] ** 2
        slope = np.sum(wrong * standard) + _RIDGE * point[0]
        return float(value), np.concatenate([[slope], wrong.sum(axis=0)])

    start = np.zeros(table.shape[1] + 1)
    start[0] = 1.0
    bounds = [(_LEAST_SCALE, None)] + [(None, None)] * table.shape[1]
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 1000, "ftol": 1e-12, "gtol": 1e-9},
    ).x
    return LikelihoodCalibration(float(found[0] / spread), np.asarray(found[1:], np.float64))


def _log_shares(raised: Float64Array) -> Float64Array:
    total = np.logaddexp.reduce(raised, axis=1, keepdims=True)
    return np.asarray(raised - total, np.float64)
