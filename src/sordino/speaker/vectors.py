"""Vectors of many utterances, with what they belong to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.speaker.base import mean_vector


@dataclass(frozen=True)
class Vectors:
    """Vectors with their utterances and speakers.

    Attributes:
        keys: an id for each row, all different.
        paths: the recording of each row, relative, with forward slashes; "" where a row stands for
            several.
        speakers: who speaks; "" where nobody knows.
        vectors: float32, shape (rows, dimension).
        encoder: name of the encoder.
        digest: its digest; vectors with different digests cannot be compared.

    Raises:
        UsageError: the parts do not have as many rows, or keys are not all different.

    Example:
        >>> two = Vectors(("a/1", "a/2"), ("a/1.wav", "a/2.wav"), ("a", "a"),
        ...               np.eye(2, dtype=np.float32), "tiny")
        >>> two.per_speaker().keys
        ('a',)
    """

    keys: tuple[str, ...]
    paths: tuple[str, ...]
    speakers: tuple[str, ...]
    vectors: npt.NDArray[np.float32]
    encoder: str = ""
    digest: str = ""

    def __post_init__(self) -> None:
        rows = len(self.keys)
        if self.vectors.ndim != 2 or {len(self.paths), len(self.speakers), len(self.vectors)} != {
            rows
        }:
            raise UsageError("keys, paths, speakers and vectors do not have as many rows")
        if len(set(self.keys)) != rows:
            raise UsageError("two vectors have the same key")

    def __len__(self) -> int:
        return len(self.keys)

    def per_speaker(self) -> Vectors:
        """One row for each speaker, sorted: the mean direction of theirs (`mean_vector`)."""
        speakers = np.array(self.speakers, dtype=np.str_)
        names = tuple(sorted(set(self.speakers)))
        rows = [mean_vector(self.vectors[speakers == name]) for name in names]
        vectors = np.array(rows, dtype=np.float32).reshape(-1, self.vectors.shape[1])
        return Vectors(names, ("",) * len(names), names, vectors, self.encoder, self.digest)
