"""What every population is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.federated.task import Examples, Floats, Ints


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Examples of speakers who are no users, to measure what was learnt.

    Attributes:
        vectors: shape (n, inputs).
        labels: shape (n,).
        weights: shape (n,), above 0: how much each counts, so that all speakers count the same.
    """

    vectors: Floats
    labels: Ints
    weights: npt.NDArray[np.float64]

    def accuracy(self, guesses: npt.NDArray[np.integer[Any]]) -> float:
        """Part of the weight that was guessed rightly.

        Args:
            guesses: shape (n,), numbers of classes.
        """
        return float(self.weights[guesses == self.labels].sum() / self.weights.sum())

    @property
    def chance(self) -> float:
        """Accuracy of always guessing the class that is most frequent."""
        shares = np.bincount(self.labels, weights=self.weights)
        return float(shares.max() / shares.sum())


class Population(ABC):
    """Users who can be asked for what they hold.

    Attributes:
        users: how many there are.
        inputs: components of a vector.
        classes: names of the classes.
        held_out: examples of others.
    """

    users: int
    inputs: int
    classes: tuple[str, ...]
    held_out: HeldOut

    @abstractmethod
    def cohort(self, chosen: Ints) -> Examples:
        """What some users hold.

        Args:
            chosen: numbers of users from 0, shape (n,), n from 1.
        """

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What it is and where it comes from, ready for JSON."""
