"""What all ways of scoring have in common, and the cosine as one of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.speaker.scoring.checks import (
    Float64Array,
    FloatArray,
    as_indices,
    as_rows,
    stored_yes_no,
)
from sordino.speaker.scoring.cosine import unit
from sordino.speaker.scoring.projection import Projection


class Backend(ABC):
    """Turns speaker vectors into rows whose inner products are scores.

    A score is the product of a row that stands for an enrolled speaker (`enrol`) and a row that
    stands for an utterance (`prepare`); for long lists of such rows there is `trial_products`,
    for their normalisation `cohort_statistics`.
    """

    @abstractmethod
    def enrol(self, vectors: npt.ArrayLike) -> FloatArray:
        """The row, shape (p,), of a speaker who enrolled with vectors of shape (k, d).

        Raises:
            UsageError: the vectors do not fit.
        """

    @abstractmethod
    def prepare(self, vectors: npt.ArrayLike) -> FloatArray:
        """The rows, shape (n, p), of utterances with vectors of shape (n, d).

        Raises:
            UsageError: the vectors do not fit.
        """

    @abstractmethod
    def to_arrays(self) -> dict[str, Float64Array]:
        """Named arrays that tell everything, for instance for `numpy.savez`."""

    def enrol_sets(self, vectors: npt.ArrayLike, sets: Iterable[npt.ArrayLike]) -> FloatArray:
        """Rows of several speakers.

        Args:
            vectors: shape (n, d).
            sets: for each speaker, the rows of `vectors` that it enrolled with; sets may overlap.

        Returns:
            Shape (speakers, p).

        Raises:
            UsageError: a set is empty or points nowhere, or the vectors do not fit.
        """
        rows = as_rows(vectors)
        models = []
        for number, members in enumerate(sets):
            chosen = as_indices(members, len(rows), f"enrolment set {number}")
            if chosen.size == 0:
                raise UsageError(f"enrolment set {number} is empty; a speaker needs an utterance")
            models.append(self.enrol(rows[chosen]))
        return as_rows(np.array(models), "enrolment sets")

    def score(self, enrolments: npt.ArrayLike, trials: npt.ArrayLike) -> FloatArray:
        """Scores of trials against one enrolled speaker.

        Args:
            enrolments: shape (k, d), the utterances that the speaker enrolled with.
            trials: shape (n, d).

        Returns:
            Shape (n,); higher for the same speaker.

        Raises:
            UsageError: the vectors do not fit.
        """
        scores: FloatArray = self.prepare(trials) @ self.enrol(enrolments)
        return scores


@dataclass(frozen=True)
class CosineBackend(Backend):
    """Cosine scoring, after a projection if there is one (LDA, WCCN, centring).

    Attributes:
        projection: applied to the vectors as they come.
        unit_length: score against the mean of the unit vectors brought to length 1
            (`cosine_to_mean`); if False, the mean of the cosines (`mean_cosine`).

    Example:
        >>> CosineBackend().score([[1, 0], [0, 5]], [[1, 1], [2, 0]]).round(3).tolist()
        [1.0, 0.707]
    """

    projection: Projection | None = None
    unit_length: bool = True

    def enrol(self, vectors: npt.ArrayLike) -> FloatArray:
        """The mean of the unit vectors, shape (k,) for a projection to k dimensions."""
        mean = self.prepare(vectors).mean(axis=0, keepdims=True)
        row: FloatArray = (unit(mean) if self.unit_length else mean)[0]
        return row

    def prepare(self, vectors: npt.ArrayLike) -> FloatArray:
        """The unit vectors, shape (n, k) for a projection to k dimensions."""
        return unit(vectors if self.projection is None else self.projection(vectors))

    def to_arrays(self) -> dict[str, Float64Array]:
        """Named arrays that tell everything, for instance for `numpy.savez`."""
        arrays = {"cosine.unit_length": np.array(float(self.unit_length))}
        if self.projection is not None:
            arrays |= self.projection.to_arrays("cosine.projection.")
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.ArrayLike]) -> CosineBackend:
        """What `to_arrays` stored.

        Raises:
            UsageError: an array is missing or does not fit.

        Example:
            >>> CosineBackend.from_arrays(CosineBackend(unit_length=False).to_arrays())
            CosineBackend(projection=None, unit_length=False)
        """
        projection = None
        if any(name.startswith("cosine.projection.") for name in arrays):
            projection = Projection.from_arrays(arrays, "cosine.projection.")
        return cls(projection, stored_yes_no(arrays, "cosine.unit_length"))
