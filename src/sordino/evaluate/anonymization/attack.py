"""An attacker: a speaker encoder, a back end, and what both were trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.corpus.corpus import Corpus
from sordino.corpus.partition import split_speakers
from sordino.corpus.trials import Trials, make_trials
from sordino.errors import UsageError
from sordino.evaluate.anonymization.listen import Vector, stacked
from sordino.speaker.scoring.backend import Backend, CosineBackend
from sordino.speaker.scoring.calibration import AffineCalibration, fit_affine
from sordino.speaker.scoring.cosine import unit
from sordino.speaker.scoring.lda import fit_lda
from sordino.speaker.scoring.plda import fit_plda
from sordino.speaker.scoring.products import trial_products

FloatArray = npt.NDArray[np.floating]

_RIDGE = 1e-3
_MOST_TARGETS = 10


@dataclass(frozen=True)
class Trained:
    """A back end with its calibration.

    Attributes:
        backend: scores vectors of length 1.
        calibration: makes log-likelihood ratios of the scores; None where the attacker's speakers
            do not allow it.
    """

    backend: Backend
    calibration: AffineCalibration | None

    def score(
        self, enrolled: Mapping[str, Vector], tried: Mapping[str, Vector], trials: Trials
    ) -> FloatArray:
        """Scores of trials, shape (trials,).

        Args:
            enrolled: vectors of the enrolments' utterances by id.
            tried: vectors of the trials' utterances by id.
            trials: which are compared.
        """
        scores = scores_of(self.backend, enrolled, tried, trials)
        return scores if self.calibration is None else self.calibration(scores)


def train(kind: str, vectors: Mapping[str, Vector], corpus: Corpus, *, seed: int) -> Trained:
    """Train a back end, and calibrate it on speakers that it was not trained on.

    The calibration comes from two halves of the speakers: each is scored by a back end trained on
    the other.

    Args:
        kind: "cosine", "lda" or "plda".
        vectors: of the training utterances by id.
        corpus: the training utterances.
        seed: decides the halves.

    Raises:
        UsageError: the speakers do not suffice for the back end.
    """
    try:
        return Trained(_fit(kind, vectors, corpus), _calibration(kind, vectors, corpus, seed))
    except (UsageError, np.linalg.LinAlgError) as error:
        raise UsageError(
            f"the back end {kind} cannot be trained on the attacker's {len(corpus.speakers)}"
            f" speakers: {error}; give the attacker more speech, or choose another --backend"
        ) from error


def scores_of(
    backend: Backend, enrolled: Mapping[str, Vector], tried: Mapping[str, Vector], trials: Trials
) -> FloatArray:
    """Uncalibrated scores of trials, shape (trials,)."""
    sets: list[Sequence[int]] = []
    names: list[str] = []
    for enrolment in trials.enrolments:
        sets.append(range(len(names), len(names) + len(enrolment.utterances)))
        names += enrolment.utterances
    models = backend.enrol_sets(unit(stacked(enrolled, names)), sets)
    rows = backend.prepare(unit(stacked(tried, trials.utterances)))
    return trial_products(models, rows, trials.model, trials.utterance)


def _fit(kind: str, vectors: Mapping[str, Vector], corpus: Corpus) -> Backend:
    if kind == "cosine":
        return CosineBackend()
    rows = unit(stacked(vectors, (utterance.id for utterance in corpus)))
    labels = [utterance.speaker for utterance in corpus]
    if kind == "lda":
        return CosineBackend(fit_lda(rows, labels))
    return fit_plda(rows, labels, multiple="average")


def _calibration(
    kind: str, vectors: Mapping[str, Vector], corpus: Corpus, seed: int
) -> AffineCalibration | None:
    targets, others = [], []
    try:
        halves = split_speakers(corpus, seed=seed)
        for half, rest in (halves, halves[::-1]):
            trials = make_trials(
                half, enrolments_per_speaker=1, targets_per_model=_MOST_TARGETS, seed=seed
            )
            scores = scores_of(_fit(kind, vectors, rest), vectors, vectors, trials)
            targets.append(scores[trials.is_target])
            others.append(scores[~trials.is_target])
        found = fit_affine(np.concatenate(targets), np.concatenate(others), ridge=_RIDGE)
    except (UsageError, np.linalg.LinAlgError):
        # Too few speakers with several utterances: ranks are measured, costs are not.
        return None
    # Chance can turn the scores of a few speakers round; ranks must stay as they are.
    return found if found.slope > 0 else None
