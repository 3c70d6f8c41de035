"""What every speaker encoder does: a recording in, a vector out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sordino.audio.read import open_audio
from sordino.audio.recording import Recording
from sordino.errors import AudioError

Vector = npt.NDArray[np.float32]
BLOCK = 2**16


class SpeakerEncoder(ABC):
    """Maps recordings to vectors that are close together for one speaker's.

    Subclasses give `embed`; those that can do better than one recording in memory at a time also
    give `embed_blocks` or `embed_many`.

    Attributes:
        name: what it is called.
        dimension: numbers in a vector.
        sample_rate: what it listens at, in Hz; recordings of any rate are taken.
        digest: identifies the encoder: vectors with different digests cannot be compared. Empty
            where the encoder does not say.
    """

    name: str
    dimension: int
    sample_rate: int
    digest: str = ""

    @abstractmethod
    def embed(self, recording: Recording) -> Vector:
        """The vector of a recording, as the encoder gives it (its length is not 1).

        Returns:
            float32, shape (dimension,), finite.

        Raises:
            AudioError: the recording is too short, or is digital silence.
        """

    def embed_many(self, recordings: Iterable[Recording]) -> Vector:
        """The vectors of many recordings.

        Args:
            recordings: taken one after another, as they are needed.

        Returns:
            float32, shape (recordings, dimension), in the order of the recordings. No vector
            depends on the other recordings.

        Raises:
            AudioError: see `embed`; the message starts with the recording's number, from 0.
        """
        vectors = []
        for number, recording in enumerate(recordings):
            try:
                vectors.append(self.embed(recording))
            except AudioError as error:
                raise AudioError(f"recording {number}: {error}") from error
        return np.array(vectors, dtype=np.float32).reshape(-1, self.dimension)

    def embed_blocks(self, blocks: Iterable[npt.NDArray[np.floating]], sample_rate: int) -> Vector:
        """The vector of a recording that comes in blocks.

        Args:
            blocks: arrays (channels, samples), one recording cut into pieces.
            sample_rate: theirs, in Hz.

        Raises:
            AudioError: see `embed`, or there are no samples.
        """
        parts = list(blocks)
        if not parts:
            raise AudioError("holds no samples")
        samples = np.concatenate(parts, axis=1).astype(np.float32)
        return self.embed(Recording(samples, sample_rate))

    def embed_file(self, path: Path | str) -> Vector:
        """The vector of a file, which is read block by block.

        Raises:
            AudioError: see `embed` and `open_audio`; the message starts with the path.
        """
        try:
            with open_audio(Path(path)) as reader:
                return self.embed_blocks(reader.blocks(BLOCK), reader.info.sample_rate)
        except AudioError as error:
            raise AudioError(f"{path}: {error}") from error


def mean_vector(
    vectors: npt.ArrayLike, weights: Sequence[float] | npt.NDArray[np.floating] | None = None
) -> npt.NDArray[np.float32]:
    """The vector that stands for several: their mean direction, with their mean length.

    Every vector is brought to length 1 before directions are averaged, so that a long vector does
    not count for more.

    Args:
        vectors: shape (n, dimension), n at least 1.
        weights: shape (n,), not negative, how much each counts; None for all the same.

    Returns:
        float32, shape (dimension,); zeros where the directions cancel.

    Example:
        >>> mean_vector([[3.0, 4.0], [6.0, 8.0]]).tolist()
        [4.5, 6.0]
    """
    rows = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1)
    directions = rows / np.where(lengths > 0, lengths, 1)[:, None]
    direction = np.average(directions, axis=0, weights=weights)
    norm = np.linalg.norm(direction)
    scale = np.average(lengths, weights=weights) / norm if norm > 0 else 0.0
    return (direction * scale).astype(np.float32)
