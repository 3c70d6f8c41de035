"""Voice similarity matrices from the vectors of utterances."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from sordino.corpus.utterance import Utterance
from sordino.evaluate.anonymization.listen import Vector, stacked
from sordino.evaluate.anonymization.subset import spread
from sordino.evaluate.metrics.bootstrap import intervals_over_speakers
from sordino.evaluate.metrics.similarity import (
    SimilarityMatrix,
    similarity_matrix,
    weighted_distinctiveness_gain,
)
from sordino.evaluate.results import Measure, Similarity
from sordino.speaker.scoring.cosine import unit

MOST_SPEAKERS = 40
MOST_UTTERANCES = 5
_DRAWS = 300


def chosen_speakers(utterances: Sequence[Utterance], seed: int) -> tuple[Utterance, ...]:
    """Utterances of at most 40 speakers, two to five of each.

    Empty where fewer than two speakers have two utterances.

    Args:
        utterances: to choose from.
        seed: another one gives others.
    """
    groups: dict[str, list[Utterance]] = defaultdict(list)
    for utterance in utterances:
        groups[utterance.speaker].append(utterance)
    several = {speaker: group for speaker, group in groups.items() if len(group) > 1}
    one_each = [group[0] for group in several.values()]
    speakers = [utterance.speaker for utterance in spread(one_each, MOST_SPEAKERS, seed)]
    if len(speakers) < 2:
        return ()
    return tuple(
        utterance
        for speaker in sorted(speakers)
        for utterance in spread(several[speaker], MOST_UTTERANCES, seed)
    )


def similarity(
    system: str,
    attacker: str,
    utterances: Sequence[Utterance],
    original: Mapping[str, Vector],
    protected: Mapping[str, Vector],
    *,
    seed: int,
) -> Similarity:
    """The matrices before, between and after.

    Scores are cosines of vectors of single utterances; each matrix is calibrated on its own.

    Args:
        system: whose speech is protected.
        attacker: whose vectors these are.
        utterances: see `chosen_speakers`.
        original: vectors of the original utterances by id.
        protected: vectors of the protected ones by the same ids.
        seed: of the bootstrap.
    """
    names = [utterance.id for utterance in utterances]
    speakers = np.array([utterance.speaker for utterance in utterances])
    before, after = unit(stacked(original, names)), unit(stacked(protected, names))
    first = _matrix(before, before, speakers)
    mixed = _matrix(before, after, speakers)
    last = _matrix(after, after, speakers)
    return Similarity(
        system,
        attacker,
        tuple(map(str, first.speakers)),
        _rows(first),
        _rows(mixed),
        _rows(last),
        _interval(partial(weighted_distinctiveness_gain, first, last), len(first.speakers), seed),
        _interval(partial(_weighted_deidentification, first, mixed), len(first.speakers), seed),
    )


def _rows(matrix: SimilarityMatrix) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in matrix.values.tolist())


def _weighted_deidentification(
    original: SimilarityMatrix, mixed: SimilarityMatrix, weights: npt.NDArray[np.integer]
) -> float:
    return 1 - float(10 ** (weighted_distinctiveness_gain(original, mixed, weights) / 10))


def _interval(
    statistic: Callable[[npt.NDArray[np.integer]], float], speakers: int, seed: int
) -> Measure:
    rows, columns = np.divmod(np.arange(speakers**2), speakers)
    (interval,) = intervals_over_speakers(
        lambda weights: [statistic(weights)], rows, columns, draws=_DRAWS, seed=seed
    )
    if interval is None:
        return Measure(statistic(np.ones(rows.size, dtype=np.int64)))
    return Measure.of(interval)


def _matrix(
    rows: npt.NDArray[np.floating],
    columns: npt.NDArray[np.floating],
    speakers: npt.NDArray[np.str_],
) -> SimilarityMatrix:
    # The same utterance on both sides would say nothing of voices.
    apart = ~np.eye(len(rows), dtype=bool)
    left, right = (
        np.broadcast_to(speakers[:, None], apart.shape),
        np.broadcast_to(speakers, apart.shape),
    )
    return similarity_matrix((rows @ columns.T)[apart], left[apart], right[apart])
