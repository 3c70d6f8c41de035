"""What the server does with the mean update."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.privacy.randomness import FloatArray

OPTIMISERS = ("sgd", "adam")

_LARGEST = 1e6
_SECOND_DECAY = 0.99


@dataclass(frozen=True)
class ServerOptimiser:
    """How far the model follows the mean update; it sees nothing but what was released.

    Attributes:
        name: "sgd" or "adam".
        learning_rate: above 0 and below a million.
        momentum: from 0 to below 1: what is kept of earlier updates.
        smallest: for "adam", what keeps small updates from being enlarged, above 0.

    Raises:
        UsageError: a setting is out of range.

    Example:
        >>> rule = ServerOptimiser(learning_rate=0.5)
        >>> rule.step(np.zeros(2, dtype=np.float32), np.array([1.0, -2.0]), rule.start(2))[0]
        array([ 0.5, -1. ], dtype=float32)

    Source: S. Reddi et al., "Adaptive federated optimization", 2021, algorithm 2.
    """

    name: Literal["sgd", "adam"] = "sgd"
    learning_rate: float = 1.0
    momentum: float = 0.0
    smallest: float = 1e-3

    def __post_init__(self) -> None:
        if self.name not in OPTIMISERS:
            raise UsageError(f"optimiser {self.name!r} is not one of: {', '.join(OPTIMISERS)}")
        for what, value in (("learning rate", self.learning_rate), ("smallest", self.smallest)):
            if not 0 < value < _LARGEST:  # refuses NaN too
                raise UsageError(
                    f"{what} {value:g} of the server's optimiser is not above 0 and below"
                    f" {_LARGEST:,.0f}"
                )
        if not 0 <= self.momentum < 1:
            raise UsageError(f"momentum {self.momentum} is not from 0 to below 1")

    def start(self, dimension: int) -> FloatArray:
        """What it remembers before the first round, shape (2, d)."""
        return np.zeros((2, dimension))

    def step(
        self, parameters: npt.NDArray[np.float32], mean: FloatArray, memory: FloatArray
    ) -> tuple[npt.NDArray[np.float32], FloatArray]:
        """New parameters, and what is remembered.

        Args:
            parameters: shape (d,); not changed.
            mean: what was released, shape (d,).
            memory: what `start` or the last step gave; not changed.
        """
        first, second = memory
        if self.name == "sgd":
            first = self.momentum * first + mean
            move = first
        else:
            first = self.momentum * first + (1 - self.momentum) * mean
            second = _SECOND_DECAY * second + (1 - _SECOND_DECAY) * np.square(mean)
            move = first / (np.sqrt(second) + self.smallest)
        moved = parameters.astype(np.float64) + self.learning_rate * move
        return moved.astype(np.float32), np.stack([first, second])

    def terms(self) -> dict[str, Any]:
        """All settings, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_terms(cls, terms: Mapping[str, Any]) -> ServerOptimiser:
        """What `terms` gave."""
        try:
            return cls(**terms)
        except TypeError as error:
            raise UsageError(f"these are no settings of an optimiser: {error}") from error
