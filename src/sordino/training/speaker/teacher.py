"""Targets from a ready encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError
from sordino.speaker.base import SpeakerEncoder
from sordino.speaker.scoring.lda import fit_wccn
from sordino.speaker.scoring.projection import Projection

FloatArray = npt.NDArray[np.float32]


def teacher_targets(
    encoder: SpeakerEncoder,
    utterances: Sequence[Utterance],
    *,
    dimension: int,
    shrinkage: float,
    cache: Path,
    tick: Callable[[], object] = lambda: None,
) -> FloatArray:
    """The vectors that an encoder is to learn, one for each utterance.

    The teacher's vectors are centred and normalised by their covariance within speakers. Where they
    have more dimensions than wanted, those along which they differ most remain. Cosines between
    targets then tell speakers apart better than cosines between the teacher's own vectors.

    Args:
        encoder: the teacher.
        utterances: of the training speakers, several of each.
        dimension: wanted; smaller than the teacher's to reduce it.
        shrinkage: of the covariance within speakers, 0 to 1 (see `fit_wccn`).
        cache: an NPZ file; vectors that it has are not computed again.
        tick: called after each utterance.

    Returns:
        Unit vectors, shape (utterances, at most dimension).

    Raises:
        AudioError: an utterance cannot be read or embedded; the message starts with its path.
    """
    vectors = _vectors(encoder, utterances, cache, tick)
    labels = [utterance.speaker for utterance in utterances]
    centre = Projection.centred(vectors.mean(axis=0, dtype=np.float64), np.eye(vectors.shape[1]))
    within = fit_wccn(centre(vectors), labels, shrinkage=shrinkage)
    normalised = within(centre(vectors)).astype(np.float64)
    if dimension < normalised.shape[1]:
        _, _, axes = np.linalg.svd(normalised, full_matrices=False)
        normalised = normalised @ axes[:dimension].T
    lengths = np.linalg.norm(normalised, axis=1, keepdims=True)
    return np.asarray(normalised / np.maximum(lengths, 1e-12), dtype=np.float32)


def _vectors(
    encoder: SpeakerEncoder,
    utterances: Sequence[Utterance],
    cache: Path,
    tick: Callable[[], object],
) -> FloatArray:
    known: dict[str, FloatArray] = {}
    if cache.exists():
        with np.load(cache, allow_pickle=False) as stored:
            if str(stored["encoder"]) == encoder.digest:
                known = dict(zip(stored["ids"].tolist(), stored["vectors"], strict=True))
    rows = []
    for utterance in utterances:
        row = known.get(utterance.id)
        rows.append(_vector(encoder, utterance) if row is None else row)
        tick()
    vectors = np.stack(rows)
    if all(utterance.id in known for utterance in utterances):
        return vectors
    part = cache.with_suffix(".part.npz")
    np.savez(
        part,
        encoder=np.array(encoder.digest),
        ids=np.array([utterance.id for utterance in utterances]),
        vectors=vectors,
    )
    part.replace(cache)
    return vectors


def _vector(encoder: SpeakerEncoder, utterance: Utterance) -> FloatArray:
    recording = utterance.read()
    try:
        return encoder.embed(recording)
    except AudioError as error:
        raise AudioError(f"{utterance.path}: {error}") from error
