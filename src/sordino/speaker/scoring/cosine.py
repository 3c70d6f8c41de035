"""Cosine scores: between vectors, against a mean, as a mean, and for long lists of trials."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.speaker.scoring.checks import FloatArray, as_indices, as_rows, same_dimensions
from sordino.speaker.scoring.products import trial_products


def unit(vectors: npt.ArrayLike) -> FloatArray:
    """Vectors scaled to length 1.

    Args:
        vectors: shape (n, d).

    Returns:
        Shape (n, d); float32 where the input is float32, else float64.

    Raises:
        UsageError: a vector has length 0, or the input is not such an array.

    Example:
        >>> unit([[3, 4], [0, -2]]).tolist()
        [[0.6, 0.8], [0.0, -1.0]]
    """
    rows = as_rows(vectors)
    # The largest entry first, so that squares neither overflow nor vanish.
    largest = np.abs(rows).max(axis=1, keepdims=True)
    empty = np.flatnonzero(largest == 0)
    if empty.size:
        raise UsageError(f"vector {empty[0]} has length 0; it has no direction to compare")
    scaled: FloatArray = rows / largest
    scaled /= np.linalg.norm(scaled, axis=1, keepdims=True)
    return scaled


def cosine(enrolments: npt.ArrayLike, trials: npt.ArrayLike) -> FloatArray:
    """Cosine of the angle between each enrolment vector and each trial vector.

    Args:
        enrolments: shape (m, d).
        trials: shape (n, d).

    Returns:
        Shape (m, n), within [-1, 1].

    Raises:
        UsageError: the vectors cannot be compared.

    Example:
        >>> cosine([[1, 0], [1, 1]], [[0, 2], [3, 0]]).round(3).tolist()
        [[0.0, 1.0], [0.707, 0.707]]
    """
    left, right = unit(enrolments), unit(trials)
    same_dimensions(left, right, "enrolments and trials")
    return _bounded(left @ right.T)


def cosine_to_mean(enrolments: npt.ArrayLike, trials: npt.ArrayLike) -> FloatArray:
    """Cosine between the mean of one speaker's enrolment vectors and each trial vector.

    Each enrolment vector is brought to length 1 before the mean, so that all count alike.

    Args:
        enrolments: shape (k, d), the utterances that one speaker enrolled with.
        trials: shape (n, d).

    Returns:
        Shape (n,), within [-1, 1].

    Raises:
        UsageError: the vectors cannot be compared, or the enrolment vectors cancel out.

    Example:
        >>> cosine_to_mean([[1, 0], [0, 5]], [[1, 1], [2, 0]]).round(3).tolist()
        [1.0, 0.707]
    """
    mean = _mean_of_units(as_rows(enrolments, "enrolments"))
    scores: FloatArray = cosine(mean[None], trials)[0]
    return scores


def mean_cosine(enrolments: npt.ArrayLike, trials: npt.ArrayLike) -> FloatArray:
    """Mean over one speaker's enrolment vectors of the cosine with each trial vector.

    It is `cosine_to_mean` times the length of the mean of the unit vectors: within one speaker
    both rank trials alike, between speakers this one scores lower where the enrolment
    utterances agree less.

    Args:
        enrolments: shape (k, d), the utterances that one speaker enrolled with.
        trials: shape (n, d).

    Returns:
        Shape (n,), within [-1, 1].

    Raises:
        UsageError: the vectors cannot be compared.

    Example:
        >>> mean_cosine([[1, 0], [0, 5]], [[1, 1], [2, 0]]).round(3).tolist()
        [0.707, 0.5]

    Source: F. Granqvist et al., "Improving on-device speaker verification using federated
    learning with privacy", 2020, equation 1.
    """
    left, right = _mean_of_units(as_rows(enrolments, "enrolments")), unit(trials)
    same_dimensions(left, right, "enrolments and trials")
    return _bounded(right @ left)


def mean_models(
    vectors: npt.ArrayLike, sets: Iterable[npt.ArrayLike], *, unit_length: bool = True
) -> FloatArray:
    """One vector for each enrolled speaker: the mean of its utterances' unit vectors.

    Args:
        vectors: shape (n, d).
        sets: for each speaker, the rows of `vectors` that it enrolled with; sets may overlap.
        unit_length: scale the means to length 1; their products with unit vectors are then
            `cosine_to_mean`, else `mean_cosine`.

    Returns:
        Shape (speakers, d).

    Raises:
        UsageError: a set is empty or points nowhere, or its vectors cancel out.

    Example:
        >>> mean_models([[1, 0], [0, 5], [2, 0]], [[0, 1], [2]], unit_length=False).tolist()
        [[0.5, 0.5], [1.0, 0.0]]
    """
    units = unit(vectors)
    means = []
    for number, members in enumerate(sets):
        chosen = as_indices(members, len(units), f"enrolment set {number}")
        if chosen.size == 0:
            raise UsageError(f"enrolment set {number} is empty; a speaker needs an utterance")
        means.append(units[chosen].mean(axis=0))
    models = as_rows(np.array(means), "enrolment sets")
    return unit(models) if unit_length else models


def score_trials(
    models: npt.ArrayLike,
    vectors: npt.ArrayLike,
    model_index: npt.ArrayLike,
    utterance_index: npt.ArrayLike,
) -> npt.NDArray[np.float32]:
    """Cosine score of each trial of a list, computed in float32 and in bounded memory.

    For the score of equation 1 (`mean_cosine`) give `trial_products` the models of
    `mean_models(..., unit_length=False)` and unit vectors.

    Args:
        models: shape (m, d), one vector for each enrolled speaker.
        vectors: shape (n, d), one vector for each utterance.
        model_index: shape (trials,), the row of `models` of each trial.
        utterance_index: shape (trials,), the row of `vectors` of each trial.

    Returns:
        Shape (trials,), within [-1, 1].

    Raises:
        UsageError: shapes do not fit, a vector has length 0, or an index points nowhere.

    Example:
        >>> score_trials([[1, 0], [0, 1]], [[3, 4]], [0, 1, 1], [0, 0, 0]).round(3).tolist()
        [0.6..., 0.8..., 0.8...]
    """
    left = unit(np.asarray(models)).astype(np.float32, copy=False)
    right = unit(np.asarray(vectors)).astype(np.float32, copy=False)
    scores = trial_products(left, right, model_index, utterance_index)
    return np.asarray(_bounded(scores), np.float32)


def _mean_of_units(enrolments: FloatArray) -> FloatArray:
    mean: FloatArray = unit(enrolments).mean(axis=0)
    return mean


def _bounded(scores: FloatArray) -> FloatArray:
    # Rounding can carry a cosine beyond 1.
    return np.clip(scores, -1.0, 1.0, out=scores)
