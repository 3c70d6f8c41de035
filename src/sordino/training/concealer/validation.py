"""What a concealer does to speakers that training does not see."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sordino.evaluate.metrics.attributes import area_either_way
from sordino.training.concealer.data import Labelled
from sordino.training.concealer.losses import UNKNOWN
from sordino.training.speaker.validation import trial_error

FloatArray = npt.NDArray[np.float64]

MEASURES = ("eer", "auc")

_MOST = 2000
_RIDGE = 1.0


def measure(
    training: FloatArray, heard: Labelled, validation: FloatArray, held: Labelled
) -> dict[str, float]:
    """Equal error rate, and how well an attacker guesses who has learnt from protected vectors.

    He is kernel ridge regression with a Gaussian kernel, quick and not linear; he has learnt from
    the training speakers, as the concealer has, and so knows less than one who has met others:
    see `sordino evaluate` for attackers that count.

    Args:
        training: protected vectors of the training speakers, shape (n, dimension).
        heard: who they are.
        validation: protected vectors of the others, shape (m, dimension).
        held: who they are.

    Returns:
        "eer", 0 to 0.5, of all pairs inside each collection; "auc", 0.5 to 1, the mean over
        attributes and their values. Either is missing where there is nothing to measure.
    """
    found = {}
    error = trial_error(validation.astype(np.float32), held.utterances)
    if error is not None:
        found["eer"] = error
    areas = [
        area
        for column in range(len(heard.attributes))
        for area in _areas(
            training, heard.labels[:, column], validation, held.labels[:, column], heard.by_speaker
        )
    ]
    if areas:
        found["auc"] = float(np.mean(areas))
    return found


def _areas(
    training: FloatArray,
    labels: npt.NDArray[np.int64],
    validation: FloatArray,
    truth: npt.NDArray[np.int64],
    weights: FloatArray,
) -> list[float]:
    """The area for each value, or for the second of two."""
    rows = np.flatnonzero(labels != UNKNOWN)
    rows = rows[:: -(-rows.size // _MOST)]
    known = truth != UNKNOWN
    values = range(int(labels.max()) + 1)
    values = values[1:] if len(values) == 2 else values
    centre, spread = training[rows].mean(axis=0), training[rows].std(axis=0) + 1e-9
    first, second = ((x - centre) / spread for x in (training[rows], validation[known]))
    kernel = _kernel(first, first)
    kernel[np.diag_indices(len(rows))] += _RIDGE / weights[rows]
    areas = []
    for value in values:
        own = truth[known] == value
        if own.any() and not own.all():
            target = np.where(labels[rows] == value, 1.0, -1.0)
            guesses = _kernel(second, first) @ np.linalg.solve(kernel, target - target.mean())
            areas.append(area_either_way(guesses[own], guesses[~own]))
    return areas


def _kernel(first: FloatArray, second: FloatArray) -> FloatArray:
    squares = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1) - 2 * first @ second.T
    return np.asarray(np.exp(-np.maximum(squares, 0.0) / first.shape[1]))
