"""Train an attacker on some speakers, calibrate him on others of them, and let him guess."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.evaluate.attributes.calibration import LikelihoodCalibration, fit_likelihoods
from sordino.evaluate.attributes.folds import Names, require_disjoint, speaker_folds
from sordino.evaluate.attributes.learners import FittedLearner, Learner

Float64Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

CALIBRATION_FOLDS = 3
"""The training speakers are parted so often; each part calibrates what the others have taught."""

MOST_GROUPS = 4
"""The most averages of one template that an attacker is trained on."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Vectors with what is known of them.

    Attributes:
        vectors: float64, shape (n, d).
        labels: numbers of the attribute's values, shape (n,).
        speakers: who they are of, shape (n,).

    Raises:
        UsageError: the parts do not have as many rows.
    """

    vectors: Float64Array
    labels: IntArray
    speakers: Names

    def __post_init__(self) -> None:
        if not len(self.vectors) == len(self.labels) == len(self.speakers):
            raise UsageError("vectors, labels and speakers do not have as many rows")

    def rows(self, chosen: IntArray) -> Sample:
        """Some of the rows."""
        return Sample(self.vectors[chosen], self.labels[chosen], self.speakers[chosen])


@dataclass(frozen=True, eq=False)
class Guesses:
    """What an attacker says of vectors.

    Attributes:
        log_likelihoods: calibrated, of each value of the attribute, in nats, shape (n, values).
        log_posteriors: with how frequent the values were among the vectors he was trained on,
            shape (n, values).
    """

    log_likelihoods: Float64Array
    log_posteriors: Float64Array


@dataclass(frozen=True, eq=False)
class TrainedAttacker:
    """An attacker who is ready.

    Attributes:
        model: the classifier.
        calibration: of its scores.
        shares: how frequent the values were in training, shape (values,).
        speakers: whom he was trained on.
    """

    model: FittedLearner
    calibration: LikelihoodCalibration
    shares: Float64Array
    speakers: frozenset[str]

    def guess(self, vectors: Float64Array, speakers: Names) -> Guesses:
        """What he says of vectors of people whom he was not trained on.

        Args:
            vectors: shape (n, d).
            speakers: whose they are, shape (n,).

        Raises:
            UsageError: he was trained on one of these speakers.
        """
        require_disjoint(self.speakers, np.unique(speakers))
        likelihoods = self.calibration(self.model.scores(vectors))
        posteriors = likelihoods + np.log(self.shares)
        posteriors -= np.logaddexp.reduce(posteriors, axis=1, keepdims=True)
        return Guesses(likelihoods, posteriors)


def train(learner: Learner, sample: Sample, values: int, *, seed: int = 0) -> TrainedAttacker:
    """Train an attacker on all speakers of a sample, and calibrate him on speakers held out.

    The calibration is from scores of each third of the speakers, by the same learner trained on
    the other two.

    Args:
        learner: what kind of attacker.
        sample: of the training speakers.
        values: how many values the attribute has, at least 2.
        seed: of the parts and of the training.

    Raises:
        UsageError: a value has too few speakers, or scikit-learn is not installed.

    Example:
        >>> from sordino.evaluate.attributes.learners import LEARNERS
        >>> rng = np.random.default_rng(0)
        >>> labels = np.arange(60) % 2
        >>> vectors = rng.normal(0, 1, (60, 2)) + 4 * labels[:, None]
        >>> people = np.array([f"speaker {number}" for number in range(60)])
        >>> attacker = train(LEARNERS["mlp"], Sample(vectors, labels, people), 2)
        >>> guesses = attacker.guess(np.array([[0.0, 0.0], [4.0, 4.0]]), np.array(["x", "y"]))
        >>> guesses.log_likelihoods.argmax(axis=1).tolist()
        [0, 1]
    """
    scores = np.empty((len(sample.labels), values))
    for fold in speaker_folds(sample.speakers, sample.labels, CALIBRATION_FOLDS, seed):
        known = sample.rows(fold.train)
        part = learner.fit(known.vectors, known.labels, values, seed)
        scores[fold.test] = part.scores(sample.vectors[fold.test])
    model = learner.fit(sample.vectors, sample.labels, values, seed)
    counts = np.bincount(sample.labels, minlength=values)
    return TrainedAttacker(
        model,
        fit_likelihoods(scores, sample.labels),
        counts / counts.sum(),
        frozenset(map(str, np.unique(sample.speakers))),
    )


def averaged(releases: npt.ArrayLike, count: int) -> Float64Array:
    """Means of as many releases of each template, each release in one mean only.

    Args:
        releases: shape (releases, templates, d).
        count: how many are averaged, from 1 to the number of releases.

    Returns:
        Up to four such means of each template, shape (means, templates, d).

    Raises:
        UsageError: there are not so many releases.

    Example:
        >>> averaged(np.array([[[1.0]], [[3.0]], [[5.0]]]), 2).tolist()
        [[[2.0]]]
    """
    array = np.asarray(releases)
    if not 1 <= count <= len(array):
        raise UsageError(f"{count} releases cannot be averaged; there are {len(array)}")
    groups = min(len(array) // count, MOST_GROUPS)
    shape = (groups, count, *array.shape[1:])
    return np.asarray(array[: groups * count].reshape(shape).mean(axis=1, dtype=np.float64))


def matched(vectors: Float64Array, originals: Float64Array) -> Float64Array:
    """Vectors brought to the mean square length of others.

    An attacker who knows original vectors only can do so much without knowing any label.

    Args:
        vectors: shape (n, d).
        originals: shape (m, d).

    Raises:
        UsageError: all vectors are 0.

    Example:
        >>> matched(np.array([[0.0, 20.0]]), np.array([[3.0, 4.0]])).tolist()
        [[0.0, 5.0]]
    """
    power = float(np.mean(vectors**2, dtype=np.float64)) * vectors.shape[1]
    if power == 0:
        raise UsageError("all vectors are 0; there is nothing to guess from")
    wanted = float(np.mean(originals**2, dtype=np.float64)) * originals.shape[1]
    return np.asarray(vectors * np.sqrt(wanted / power), np.float64)
