"""Symmetric score normalisation against a cohort, plain (S-norm) and adaptive (AS-norm).

Some voices and channels score high with everybody. A trial's score is therefore expressed in
standard deviations above what its enrolment, and its utterance, score with a cohort of other
speakers, and the two are averaged. The adaptive form looks at the nearest of the cohort only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.speaker.scoring.checks import (
    Float64Array,
    FloatArray,
    as_indices,
    as_rows,
    as_scores,
    same_dimensions,
)
from sordino.speaker.scoring.products import product_blocks

# A spread of scores below this share of their size is rounding.
_ROUNDING = 1e-6

# Trials normalised at once.
_BLOCK = 2**20


@dataclass(frozen=True)
class CohortStatistics:
    """What each of m enrolments, or utterances, scores with a cohort.

    Attributes:
        mean: float64, shape (m,).
        deviation: float64, shape (m,), above 0.
    """

    mean: Float64Array
    deviation: Float64Array

    def standard(self, scores: FloatArray, index: npt.NDArray[np.integer]) -> FloatArray:
        """Scores in deviations from the mean, each by the statistics at its index."""
        standard: FloatArray = (scores - self.mean[index]) / self.deviation[index]
        return standard


def cohort_statistics(
    rows: npt.ArrayLike, cohort: npt.ArrayLike, *, top: int | None = None
) -> CohortStatistics:
    """Mean and standard deviation of scores with a cohort, in bounded memory.

    Rows are of a `Backend` (for the cosine, of unit vectors). Enrolments are scored with the
    cohort's utterances, trial utterances with the cohort's enrolments. Whoever is enrolled or
    tried should not be in the cohort.

    Args:
        rows: shape (m, p).
        cohort: shape (c, p), c at least 2.
        top: use only so many of the highest scores of each row, at least 2 and at most c
            (AS-norm; 200 to 400 are usual); by default all (S-norm).

    Raises:
        UsageError: the cohort is too small, or all of a row's scores are equal.

    Example:
        >>> cohort_statistics([[1.0]], [[0.0], [3.0], [5.0]], top=2)
        CohortStatistics(mean=array([4.]), deviation=array([1.]))
    """
    left, right = as_rows(rows), as_rows(cohort, "the cohort's vectors")
    same_dimensions(left, right, "the vectors and the cohort's vectors")
    used = len(right) if top is None else top
    if len(right) < 2:
        raise UsageError("the cohort has one member; normalisation needs at least 2")
    if not 2 <= used <= len(right):
        raise UsageError(
            f"the {used} highest of {len(right)} cohort scores: give from 2 to {len(right)}"
        )
    mean, deviation = np.empty(len(left)), np.empty(len(left))
    for block, scores in product_blocks(left, right):
        if used < len(right):
            highest = np.partition(scores, len(right) - used, axis=1)[:, len(right) - used :]
        else:
            highest = scores
        mean[block] = highest.mean(axis=1, dtype=np.float64)
        deviation[block] = highest.std(axis=1, dtype=np.float64)
        size = np.abs(highest).max(axis=1)
        flat = np.flatnonzero(deviation[block] <= _ROUNDING * size)
        if flat.size:
            raise UsageError(
                f"row {block.start + flat[0]} scores the same with the whole cohort; the cohort"
                " needs different speakers"
            )
    return CohortStatistics(mean, deviation)


def s_norm(
    scores: npt.ArrayLike, enrolments: CohortStatistics, utterances: CohortStatistics
) -> Float64Array:
    """Normalise a full matrix of scores.

    Args:
        scores: shape (m, n), m enrolments by n utterances.
        enrolments: of the m enrolments.
        utterances: of the n utterances.

    Returns:
        Shape (m, n).

    Raises:
        UsageError: the statistics are of another number.

    Example:
        >>> one = CohortStatistics(np.array([0.2]), np.array([0.1]))
        >>> other = CohortStatistics(np.array([0.3]), np.array([0.2]))
        >>> s_norm([[0.5]], one, other).round(3).tolist()
        [[2.0]]

    Source: P. Kenny, "Bayesian speaker verification with heavy-tailed priors", 2010; adaptive:
    P. Matějka et al., "Analysis of score normalization in multilingual speaker recognition",
    2017 (there "adaptive S-norm 1").
    """
    matrix = as_rows(scores, "scores")
    if matrix.shape != (enrolments.mean.size, utterances.mean.size):
        raise UsageError(
            f"scores have shape {matrix.shape}; the cohort statistics are of"
            f" {enrolments.mean.size} enrolments and {utterances.mean.size} utterances"
        )
    by_enrolment = (matrix - enrolments.mean[:, None]) / enrolments.deviation[:, None]
    by_utterance = (matrix - utterances.mean) / utterances.deviation
    return np.asarray(0.5 * (by_enrolment + by_utterance), np.float64)


def s_norm_trials(
    scores: npt.ArrayLike,
    enrolments: CohortStatistics,
    utterances: CohortStatistics,
    model_index: npt.ArrayLike,
    utterance_index: npt.ArrayLike,
) -> FloatArray:
    """Normalise the scores of a list of trials.

    Args:
        scores: shape (trials,).
        enrolments: of the enrolments that `model_index` counts.
        utterances: of the utterances that `utterance_index` counts.
        model_index: shape (trials,).
        utterance_index: shape (trials,).

    Returns:
        Shape (trials,); float32 where the scores are float32, else float64.

    Raises:
        UsageError: numbers of trials differ, or an index points nowhere.

    Example:
        >>> one = CohortStatistics(np.array([0.2, 0.0]), np.array([0.1, 1.0]))
        >>> other = CohortStatistics(np.array([0.3]), np.array([0.2]))
        >>> s_norm_trials([0.5, 0.5], one, other, [0, 1], [0, 0]).round(3).tolist()
        [2.0, 0.75]

    Source: as for `s_norm`.
    """
    raw = as_scores(scores)
    models = as_indices(model_index, enrolments.mean.size, "model_index")
    others = as_indices(utterance_index, utterances.mean.size, "utterance_index")
    if not raw.shape == models.shape == others.shape:
        raise UsageError(
            f"{raw.size} scores, {models.size} model indices and {others.size} utterance indices;"
            " each trial needs all three"
        )
    out = np.empty_like(raw)
    for start in range(0, raw.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        by_enrolment = enrolments.standard(raw[part], models[part])
        out[part] = 0.5 * (by_enrolment + utterances.standard(raw[part], others[part]))
    return out
