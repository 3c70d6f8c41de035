"""Attacks on an attribute of concealed vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from sordino.evaluate.attributes.attack import matched
from sordino.evaluate.attributes.learners import FittedLearner
from sordino.evaluate.concealment.attackers import ATTACKERS
from sordino.evaluate.concealment.figures import Attacked, Float64Array, guessing_figure
from sordino.evaluate.concealment.settings import Settings
from sordino.evaluate.embeddings.attribute import Attribute
from sordino.evaluate.embeddings.guessing import CLEAN, RETRAINED
from sordino.evaluate.progress import Told
from sordino.evaluate.results import Guessed

FloatArray = npt.NDArray[np.floating]
IntArray = npt.NDArray[np.int64]

ALIKE = f"{RETRAINED} by speaker"
"""What attackers know who learn as much from each speaker as from any other."""


class Guessing:
    """Attackers on one attribute. Those who learn from unprotected vectors are trained once.

    Where speakers have different numbers of templates, retrained attackers come twice: learning
    from all templates, and learning as much from each speaker.

    Args:
        originals: unprotected vectors, shape (templates, d).
        attribute: what is guessed, with the folds of speakers.
        settings: how.
        told: of each attacker who is trained.
    """

    def __init__(
        self, originals: FloatArray, attribute: Attribute, settings: Settings, told: Told
    ) -> None:
        self._attribute, self._settings, self._told = attribute, settings, told
        self._used: dict[str, list[IntArray]] = {
            RETRAINED: [fold.train for fold in attribute.folds]
        }
        if np.unique(np.unique(attribute.speakers, return_counts=True)[1]).size > 1:
            rng = np.random.default_rng(settings.seed)
            self._used[ALIKE] = [
                fold.train[as_many_each(attribute.speakers[fold.train], rng)]
                for fold in attribute.folds
            ]
        self._originals = np.asarray(originals[attribute.rows], np.float64)
        self._clean: dict[str, list[FittedLearner]] = {}
        tested = attribute.tested
        folds = np.zeros(attribute.rows.size, dtype=np.int64)
        for number, fold in enumerate(attribute.folds):
            folds[fold.test] = number
        self._attacked = Attacked(
            attribute.labels[tested],
            len(attribute.values),
            attribute.speakers[tested],
            folds[tested],
        )

    @property
    def name(self) -> str:
        """Of the attribute."""
        return self._attribute.name

    @property
    def knowledge(self) -> tuple[str, ...]:
        """What attackers on concealed vectors know."""
        return (CLEAN, *self._used)

    def of_originals(self, attackers: Sequence[str], draws: int) -> Iterator[Guessed]:
        """How well unprotected vectors are guessed.

        Args:
            attackers: names.
            draws: of speakers.
        """
        for name in attackers:
            scores = self._scores(self._trained_clean(name), self._originals)
            yield self._guessed(name, CLEAN, [scores], draws)

    def of_concealed(
        self, concealed: Sequence[FloatArray], attackers: Sequence[str], draws: int
    ) -> Iterator[Guessed]:
        """How well concealed vectors are guessed, by ignorant and by informed attackers.

        Args:
            concealed: for each training, releases of all templates, shape (releases, templates,
                d). The first is attacked; retrained attackers learn from all of other speakers.
            attackers: names.
            draws: of speakers.
        """
        used = [np.asarray(given[:, self._attribute.rows], np.float64) for given in concealed]
        for name in attackers:
            clean = self._trained_clean(name)
            scores = [self._scores(clean, matched(one[0], self._originals)) for one in used]
            yield self._guessed(name, CLEAN, scores, draws)
        for knowledge in self._used:
            for name in attackers:
                scores = [self._scores(self._trained(name, one, knowledge), one[0]) for one in used]
                yield self._guessed(name, knowledge, scores, draws)

    def _trained_clean(self, name: str) -> list[FittedLearner]:
        if name not in self._clean:
            self._clean[name] = self._trained(name, self._originals[None])
        return self._clean[name]

    def _trained(
        self, name: str, releases: Float64Array, knowledge: str = RETRAINED
    ) -> list[FittedLearner]:
        """One attacker for each fold, who has not met those whom he guesses."""
        attribute, found = self._attribute, []
        for rows in self._used[knowledge]:
            vectors = releases[:, rows].reshape(-1, releases.shape[2])
            labels = np.tile(attribute.labels[rows], len(releases))
            fitted = ATTACKERS[name].fit(
                vectors, labels, len(attribute.values), self._settings.seed
            )
            found.append(fitted)
            self._told.step()
        return found

    def _scores(self, attackers: Sequence[FittedLearner], vectors: Float64Array) -> Float64Array:
        scores = np.full((len(vectors), len(self._attribute.values)), np.nan)
        for fold, attacker in zip(self._attribute.folds, attackers, strict=True):
            scores[fold.test] = attacker.scores(vectors[fold.test])
        return scores[self._attribute.tested]

    def _guessed(
        self, name: str, knowledge: str, scores: Sequence[Float64Array], draws: int
    ) -> Guessed:
        figure = guessing_figure(scores, self._attacked, draws, self._settings.seed)
        return Guessed(
            self._attribute.name,
            name,
            knowledge,
            self._attacked.labels.size,
            int(np.unique(self._attacked.speakers).size),
            self._attacked.values,
            figure,
        )


def as_many_each(speakers: npt.NDArray[np.str_], rng: np.random.Generator) -> IntArray:
    """Places of templates, as many of each speaker: twice the mean, some by lot, some repeated.

    Args:
        speakers: whose the templates are, shape (n,).
        rng: draws the lots.

    Example:
        >>> one = np.array(["a", "b", "b", "b", "b", "b"])
        >>> places = as_many_each(one, np.random.default_rng(0))
        >>> one[places].tolist().count("a"), one[places].tolist().count("b")
        (6, 6)
    """
    names, numbers = np.unique(speakers, return_inverse=True)
    most = 2 * -(-len(speakers) // len(names))
    return np.concatenate(
        [
            np.resize(rng.permutation(np.flatnonzero(numbers == number)), most)
            for number in range(len(names))
        ]
    )
