"""Targets from a ready encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sordino.audio.recording import Recording
from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError
from sordino.speaker.base import SpeakerEncoder
from sordino.speaker.scoring.lda import fit_wccn
from sordino.speaker.scoring.projection import Projection

FloatArray = npt.NDArray[np.float32]


class CropTeacher:
    """A teacher that is asked about every crop; opened in the process that asks first.

    A network that is told one vector for all crops of an utterance can learn the utterances by
    heart. One that is told what the teacher says of this crop, changed as it is, has to learn what
    the teacher does (Beyer et al., "Knowledge distillation: a good teacher is patient and
    consistent", CVPR 2022).

    Args:
        encoder: the teacher's name or folder.
        space: where the targets lie; see `target_space`.
    """

    def __init__(self, encoder: str, space: Projection) -> None:
        self._name = encoder
        self._space = space
        self._encoder: SpeakerEncoder | None = None

    @property
    def dimension(self) -> int:
        """Length of a target."""
        return int(self._space.offset.size)

    def __call__(self, waves: FloatArray, sample_rate: int) -> FloatArray:
        """The targets for crops: unit vectors, shape (crops, dimension).

        Args:
            waves: shape (crops, samples).
            sample_rate: in Hz.
        """
        if self._encoder is None:
            from sordino.speaker.encoders import load_encoder

            self._encoder = load_encoder(self._name)
        recordings = (Recording(wave[None], sample_rate) for wave in waves)
        return in_space(self._space, self._encoder.embed_many(recordings))


def target_space(
    vectors: FloatArray, labels: Sequence[str], *, dimension: int, shrinkage: float
) -> Projection:
    """Where a teacher's vectors are brought before they are targets.

    They are centred and normalised by their covariance within speakers. Where they have more
    dimensions than wanted, those along which they differ most remain. Cosines then tell speakers
    apart better than between the teacher's own vectors.

    Args:
        vectors: shape (n, teacher's dimension).
        labels: n speakers, several vectors of each.
        dimension: wanted; smaller than the teacher's to reduce it.
        shrinkage: of the covariance within speakers, 0 to 1 (see `fit_wccn`).
    """
    mean = vectors.mean(axis=0, dtype=np.float64)
    centre = Projection.centred(mean, np.eye(mean.size))
    space = centre.then(fit_wccn(centre(vectors), labels, shrinkage=shrinkage))
    if dimension >= mean.size:
        return space
    _, _, axes = np.linalg.svd(space(vectors.astype(np.float64)), full_matrices=False)
    # There are no more axes than vectors.
    kept = axes[:dimension].T
    return space.then(Projection(kept, np.zeros(kept.shape[1])))


def in_space(space: Projection, vectors: FloatArray) -> FloatArray:
    """Unit vectors in a space, shape (n, dimension)."""
    mapped = space(vectors.astype(np.float64))
    lengths = np.linalg.norm(mapped, axis=1, keepdims=True)
    return np.asarray(mapped / np.maximum(lengths, 1e-12), dtype=np.float32)


def teacher_vectors(
    encoder: SpeakerEncoder,
    utterances: Sequence[Utterance],
    *,
    cache: Path,
    tick: Callable[[], object] = lambda: None,
) -> FloatArray:
    """A teacher's vectors, one for each utterance.

    Args:
        encoder: the teacher.
        utterances: of the training speakers.
        cache: an NPZ file; vectors that it has are not computed again.
        tick: called after each utterance.

    Returns:
        As the teacher gives them, shape (utterances, dimension).

    Raises:
        AudioError: an utterance cannot be read or embedded; the message starts with its path.
    """
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
