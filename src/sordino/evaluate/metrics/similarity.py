"""Voice similarity matrices: are voices told apart as before, and from what they were?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.evaluate.metrics.checks import finite_numbers, numbered, same_length
from sordino.evaluate.metrics.ordered import Weights
from sordino.evaluate.metrics.pav import optimal_calibration

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SimilarityMatrix:
    """How alike the voices of each pair of speakers are.

    Attributes:
        speakers: sorted, shape (speakers,).
        values: from 0 (surely two voices) to 1 (surely one), shape (speakers, speakers); a row is
            a speaker of the first side, a column one of the second.
    """

    speakers: npt.NDArray[Any]
    values: FloatArray


def similarity_matrix(
    scores: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    calibrated: bool = False,
) -> SimilarityMatrix:
    """The matrix M(i, j) = sigmoid(mean log-likelihood ratio of utterances of i and j).

    The scores are first calibrated on themselves (`optimal_calibration`, smoothed). Leave out
    trials of an utterance against itself. Where both sides are the same recordings, give each pair
    of utterances in both orders.

    Args:
        scores: of pairs of utterances, shape (trials,).
        first: speaker of the first utterance of each, a name or a number, shape (trials,).
        second: speaker of the second, shape (trials,).
        calibrated: the scores are log-likelihood ratios in nats already.

    Raises:
        UsageError: the shapes differ, a score is NaN or infinite, there are fewer than two
            speakers, or two speakers have no trial.

    Example:
        >>> pairs = ["a", "a", "b", "b"], ["a", "b", "a", "b"]
        >>> similarity_matrix([3.0, -1.0, -1.0, 3.0], *pairs, calibrated=True).values.round(3)
        array([[0.953, 0.269],
               [0.269, 0.953]])

    Source: P.-G. Noé, J.-F. Bonastre, D. Matrouf, N. Tomashenko, A. Nautsch, N. Evans, "Speech
    pseudonymisation assessment using voice similarity matrices", Interspeech 2020.
    """
    from scipy.special import expit

    values = finite_numbers(scores, "scores")
    speakers, (rows, columns) = numbered("speakers", first, second)
    for side in (rows, columns):
        same_length(values, side, "scores and speakers")
    count = speakers.size
    if count < 2:
        raise UsageError("there is one speaker; a similarity matrix needs two or more")
    cells = rows * count + columns
    trials = np.bincount(cells, minlength=count * count)
    if not trials.all():
        row, column = divmod(int(trials.argmin()), count)
        raise UsageError(
            f"there is no trial of {speakers[row]} against {speakers[column]}; a similarity matrix"
            " needs all pairs of speakers, and two utterances of each"
        )
    if not calibrated:
        same = rows == columns
        values = optimal_calibration(values[same], values[~same], smoothed=True)(values)
    means = np.bincount(cells, values, count * count) / trials
    return SimilarityMatrix(speakers, expit(means).reshape(count, count))


def diagonal_dominance(
    matrix: SimilarityMatrix, weights: npt.NDArray[np.integer] | None = None
) -> float:
    """D_diag = |mean of the diagonal - mean of all else|: how well voices are told apart, 0 to 1.

    Args:
        matrix: of similarities.
        weights: how often each of its cells counts, whole numbers from 0, shape (speakers *
            speakers,), row by row; each once where there are none.

    Returns:
        The dominance; NaN where the weights leave no diagonal or nothing else.

    Example:
        >>> matrix = SimilarityMatrix(np.array(["a", "b"]), np.array([[0.9, 0.2], [0.2, 0.7]]))
        >>> round(diagonal_dominance(matrix), 3)
        0.6
        >>> round(diagonal_dominance(matrix, np.array([2, 2, 2, 1])), 3)
        0.633

    Source: as for `similarity_matrix`.
    """
    values = matrix.values
    cells = np.ones(values.shape) if weights is None else weights.reshape(values.shape)
    own, all_cells = float(np.trace(cells)), float(cells.sum())
    if own in (0, all_cells):
        return math.nan
    on = float(np.einsum("ii,ii", cells, values))
    everywhere = float(np.einsum("ij,ij", cells, values))
    return abs(on / own - (everywhere - on) / (all_cells - own))


def distinctiveness_gain(original: SimilarityMatrix, protected: SimilarityMatrix) -> float:
    """G_VD = 10 log10(D_diag(protected) / D_diag(original)): what became of the voices' variety.

    Args:
        original: original speech on both sides.
        protected: protected speech on both sides, of the same speakers.

    Returns:
        Decibels: 0 where voices differ as much as before, below 0 where they have become alike,
        minus infinity where they all are one.

    Raises:
        UsageError: the speakers differ, or the original voices are all alike.

    Example:
        >>> names = np.array(["a", "b"])
        >>> before = SimilarityMatrix(names, np.array([[0.9, 0.1], [0.1, 0.9]]))
        >>> after = SimilarityMatrix(names, np.array([[0.6, 0.2], [0.2, 0.6]]))
        >>> round(distinctiveness_gain(before, after), 2)
        -3.01

    Source: as for `similarity_matrix`.
    """
    kept = _kept(original, protected)
    return 10 * math.log10(kept) if kept > 0 else -math.inf


def deidentification(original: SimilarityMatrix, mixed: SimilarityMatrix) -> float:
    """DeID = 1 - D_diag(mixed) / D_diag(original): how far voices are from what they were.

    Args:
        original: original speech on both sides.
        mixed: original speech on one side and protected on the other, of the same speakers.

    Returns:
        1 where a protected voice is no more like its own original than like others, 0 where it is
        as much like it as the original itself, below 0 where it is more.

    Raises:
        UsageError: the speakers differ, or the original voices are all alike.

    Example:
        >>> names = np.array(["a", "b"])
        >>> original = SimilarityMatrix(names, np.array([[0.9, 0.1], [0.1, 0.9]]))
        >>> mixed = SimilarityMatrix(names, np.array([[0.4, 0.2], [0.2, 0.4]]))
        >>> round(deidentification(original, mixed), 3)
        0.75

    Source: as for `similarity_matrix`.
    """
    return 1 - _kept(original, mixed)


def weighted_distinctiveness_gain(
    original: SimilarityMatrix, protected: SimilarityMatrix, weights: Weights
) -> float:
    """G_VD with each cell counted so many times, for `bootstrap_over_speakers`.

    There a cell is a trial between the speakers of its row and of its column. The calibration
    stays as it is.

    Args:
        original: as for `distinctiveness_gain`.
        protected: the same.
        weights: whole numbers from 0, shape (speakers * speakers,), row by row.

    Returns:
        Decibels; NaN where the weights leave too little.

    Example:
        >>> from functools import partial
        >>> matrix = SimilarityMatrix(np.array(["a", "b"]), np.array([[0.9, 0.1], [0.1, 0.9]]))
        >>> partial(weighted_distinctiveness_gain, matrix, matrix)(np.array([1, 2, 2, 2]))
        0.0
    """
    before, after = (diagonal_dominance(matrix, weights) for matrix in (original, protected))
    if math.isnan(before) or before == 0:
        return math.nan
    return 10 * math.log10(after / before) if after > 0 else -math.inf


def _kept(original: SimilarityMatrix, other: SimilarityMatrix) -> float:
    if not np.array_equal(original.speakers, other.speakers):
        raise UsageError("the two similarity matrices are of different speakers")
    before = diagonal_dominance(original)
    if before == 0:
        raise UsageError(
            "the original voices are all alike to this recogniser; what became of their"
            " differences is not defined"
        )
    return diagonal_dominance(other) / before
