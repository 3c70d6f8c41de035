"""What is left of verification, with one side concealed or both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from sordino.corpus.trials import Trials
from sordino.evaluate.concealment.figures import verification_figure
from sordino.evaluate.results import ALL, BOTH, NEITHER, ONE, Verified
from sordino.speaker.scoring.cosine import mean_models, score_trials

FloatArray = npt.NDArray[np.floating]
BoolArray = npt.NDArray[np.bool_]


class Verification:
    """Trials between templates, by the cosine to the mean direction of an enrolment.

    Args:
        originals: unprotected vectors, shape (templates, d).
        keys: of the templates.
        trials: between them.
        groups: by name, which trials belong to a further group, shape (trials,).
        seed: of the draws.
    """

    def __init__(
        self,
        originals: FloatArray,
        keys: Sequence[str],
        trials: Trials,
        groups: Mapping[str, BoolArray],
        seed: int,
    ) -> None:
        place = {key: row for row, key in enumerate(keys)}
        self._enrolled = [
            np.array([place[key] for key in enrolment.utterances])
            for enrolment in trials.enrolments
        ]
        self._tried = np.array([place[key] for key in trials.utterances])
        self._originals, self._trials, self._seed = originals, trials, seed
        self._groups = {ALL: np.ones(len(trials), dtype=bool), **groups}
        self._models = mean_models(originals, self._enrolled)

    def of_originals(self, draws: int) -> Iterator[Verified]:
        """With unprotected vectors on both sides."""
        return self._verified(NEITHER, [self._scores(self._models, self._originals)], draws)

    def of_concealed(self, concealed: Sequence[FloatArray], draws: int) -> Iterator[Verified]:
        """With concealed trials, and enrolments that are unprotected or concealed.

        Args:
            concealed: for each training the released templates, shape (templates, d).
            draws: of speakers.
        """
        one = [self._scores(self._models, given) for given in concealed]
        yield from self._verified(ONE, one, draws)
        both = [self._scores(mean_models(given, self._enrolled), given) for given in concealed]
        yield from self._verified(BOTH, both, draws)

    def _scores(self, models: FloatArray, vectors: FloatArray) -> npt.NDArray[np.float32]:
        trials = self._trials
        return score_trials(models, vectors[self._tried], trials.model, trials.utterance)

    def _verified(
        self, sides: str, scores: Sequence[npt.NDArray[np.float32]], draws: int
    ) -> Iterator[Verified]:
        for group, chosen in self._groups.items():
            is_target = self._trials.is_target[chosen]
            figure = verification_figure(
                [given[chosen] for given in scores],
                is_target,
                (self._trials.enrolled[chosen], self._trials.tried[chosen]),
                draws,
                self._seed,
            )
            targets = int(is_target.sum())
            yield Verified(sides, group, targets, int(is_target.size) - targets, figure)
