"""Users who hold real vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.federated.populations.base import HeldOut, Population
from sordino.federated.task import Examples, Floats, Ints


class VectorPopulation(Population):
    """Users with rows of one table of vectors.

    Args:
        vectors: shape (n, inputs).
        labels: shape (n,), numbers of classes.
        classes: their names.
        rows: for each user the rows that are theirs, from 1; users may share rows.
        held_out: examples of others.
        facts: where all of it comes from.

    Raises:
        UsageError: there are no users, or one has no rows.

    Example:
        >>> held_out = HeldOut(np.eye(2, dtype=np.float32), np.array([0, 1]), np.ones(2))
        >>> population = VectorPopulation(np.eye(3), [0, 1, 1], ("F", "M"), [[0], [1, 2]], held_out)
        >>> population.cohort(np.array([1])).labels
        array([[1, 1]])
    """

    def __init__(
        self,
        vectors: npt.ArrayLike,
        labels: npt.ArrayLike,
        classes: Sequence[str],
        rows: Sequence[npt.ArrayLike],
        held_out: HeldOut,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        self._vectors: Floats = np.asarray(vectors, dtype=np.float32)
        self._labels: Ints = np.asarray(labels, dtype=np.int64)
        parts = [np.asarray(part, dtype=np.int64) for part in rows]
        if not parts or min(len(part) for part in parts) == 0:
            raise UsageError("a population needs users, and every user at least one vector")
        self._counts = np.array([len(part) for part in parts], dtype=np.int64)
        self._rows = np.concatenate(parts)
        self._starts = np.cumsum(self._counts) - self._counts
        self._facts = dict(facts or {})
        self.users, self.inputs = len(parts), self._vectors.shape[1]
        self.classes, self.held_out = tuple(classes), held_out

    def cohort(self, chosen: Ints) -> Examples:
        """What some users hold; see `Population`."""
        counts = self._counts[chosen]
        places = np.arange(int(counts.max()))
        # Beyond a user's own rows comes the first again, and is not counted.
        inside = np.where(places < counts[:, None], places, 0)
        rows = self._rows[self._starts[chosen][:, None] + inside]
        return Examples(self._vectors[rows], self._labels[rows], counts)

    def facts(self) -> dict[str, Any]:
        """Where it comes from."""
        return {
            **self._facts,
            "users": self.users,
            "inputs": self.inputs,
            "classes": len(self.classes),
            "examples": [int(self._counts.min()), int(self._counts.max())],
        }
