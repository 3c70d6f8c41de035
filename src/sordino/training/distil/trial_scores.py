"""Trials on fixed vectors: the mean cosine of Eq. 1, and the rule that refuses by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.corpus.trials import Trials
from sordino.speaker.scoring.cosine import unit

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Tried:
    """Trials whose utterances are rows of a table of vectors.

    Attributes:
        trials: which utterance is compared with which enrolment.
        enrolled: for each enrolment its rows, as many for all, shape (enrolments, N).
        tested: the row of each utterance that is tried, shape (utterances,).
    """

    trials: Trials
    enrolled: npt.NDArray[np.int64]
    tested: npt.NDArray[np.int64]

    @classmethod
    def of(cls, trials: Trials, keys: Sequence[str]) -> Tried:
        """Trials whose utterances are named as the keys of a table are.

        Args:
            trials: all enrolments with as many utterances.
            keys: of the rows.
        """
        row = {key: number for number, key in enumerate(keys)}
        enrolled = [[row[key] for key in one.utterances] for one in trials.enrolments]
        return cls(
            trials,
            np.array(enrolled, dtype=np.int64),
            np.array([row[key] for key in trials.utterances], dtype=np.int64),
        )

    def scores(self, embeddings: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The mean over the enrolment of its cosines to the test, shape (trials,).

        Args:
            embeddings: of all rows of the table, shape (rows, dimension).

        Source: F. Granqvist et al., "Improving on-device speaker verification using federated
        learning with privacy", 2020, Eq. 1.
        """
        rows = unit(np.asarray(embeddings, dtype=np.float64))
        # A mean of products is the product with the mean, so that each pair costs one.
        profiles = rows[self.enrolled].mean(axis=1)
        products = profiles @ rows[self.tested].T
        scores: npt.NDArray[np.float64] = products[self.trials.model, self.trials.utterance]
        return scores

    def other_class(self, probabilities: npt.ArrayLike, confidence: float) -> npt.NDArray[np.bool_]:
        """Whether a classifier is sure that a test is of another class than the enrolment.

        The class of an enrolment is the most probable by the mean of its probabilities. A trial is
        refused where the test's own most probable class is another and both are surer than asked.

        Args:
            probabilities: of the classes for all rows of the table, shape (rows, classes).
            confidence: how sure, 0 to 1.

        Returns:
            Shape (trials,).
        """
        said = np.asarray(probabilities, dtype=np.float64)
        profile, test = said[self.enrolled].mean(axis=1), said[self.tested]
        surely = (profile.max(axis=1) >= confidence)[self.trials.model] & (
            test.max(axis=1) >= confidence
        )[self.trials.utterance]
        differ = (
            profile.argmax(axis=1)[self.trials.model] != test.argmax(axis=1)[self.trials.utterance]
        )
        refused: npt.NDArray[np.bool_] = surely & differ
        return refused


def with_rule(
    scores: npt.NDArray[np.float64], refused: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """Scores with a rule's refusals below all others, in their own order.

    Args:
        scores: from -1 to 1, shape (trials,).
        refused: by the rule, shape (trials,).

    Example:
        >>> with_rule(np.array([0.5, 0.9]), np.array([False, True])).tolist()
        [0.5, -2.1]
    """
    return np.where(refused, scores - 3.0, scores)
