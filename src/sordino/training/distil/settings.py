"""How a speaker network is trained on fixed vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sordino.errors import UsageError


@dataclass(frozen=True)
class DistilSettings:
    """Everything that decides how the networks of a comparison learn; all learn alike.

    Attributes:
        width: of the four layers.
        embedding: numbers in an embedding.
        steps: updates of the weights.
        batch: vectors in an update.
        learning_rate: the highest; it rises and falls once (a one-cycle schedule).
        momentum: of stochastic gradient descent.
        weight_decay: of the same.
        input_noise: standard deviation of what is added to each number of a standardised vector,
            drawn anew in every step; else a few speakers are soon known by heart.
        gamma: weight of the side loss.
        temperature: of both distributions in the side loss.
        confidence: of the rejecting rule: a test is refused where the classifier is at least so
            sure that its class is not that of the enrolment.

    Raises:
        UsageError: a number is out of range.

    Example:
        >>> DistilSettings(gamma=0.5).temperature
        2.0
    """

    width: int = 256
    embedding: int = 100
    steps: int = 200
    batch: int = 64
    learning_rate: float = 0.05
    momentum: float = 0.9
    weight_decay: float = 1e-4
    input_noise: float = 1.0
    gamma: float = 0.3
    temperature: float = 2.0
    confidence: float = 0.9

    def __post_init__(self) -> None:
        rules = (
            (self.width >= 1 and self.embedding >= 2, "width is 1 or more, embedding 2 or more"),
            (self.steps >= 2, "steps is 2 or more"),
            (self.batch >= 2, "batch is 2 or more"),
            (0 < self.learning_rate < math.inf, "learning_rate is more than 0"),
            (0 <= self.momentum < 1, "momentum is 0 or more and less than 1"),
            (0 <= self.weight_decay < math.inf, "weight_decay is 0 or more"),
            (0 <= self.input_noise < math.inf, "input_noise is 0 or more"),
            (0 <= self.gamma < math.inf, "gamma is 0 or more"),
            (0 < self.temperature < math.inf, "temperature is more than 0"),
            (0.5 <= self.confidence <= 1, "confidence lies between 0.5 and 1"),
        )
        for right, what in rules:
            if not right:
                raise UsageError(f"distillation: {what}")
