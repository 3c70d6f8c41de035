"""Means and rates over utterances, for intervals over speakers."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.evaluate.metrics.checks import finite_numbers, same_length
from sordino.evaluate.metrics.ordered import Weights


class WeightedRatio:
    """The sum of one number over the sum of another, of utterances that count more than once.

    Errors over words give a word error rate; any figure over 1, its mean. For an interval give
    `bootstrap_over_speakers` the speaker of each utterance on both sides.

    Args:
        parts: shape (utterances,).
        wholes: from 0, shape (utterances,); 1 each where there are none.

    Raises:
        UsageError: a list is empty or holds NaN or infinity, they differ in length, or a whole is
            below 0.

    Example:
        >>> rate = WeightedRatio([1, 0], [4, 8])
        >>> rate(np.array([1, 1])), rate(np.array([2, 0]))
        (0.08333333333333333, 0.25)
    """

    def __init__(self, parts: npt.ArrayLike, wholes: npt.ArrayLike | None = None) -> None:
        self._parts = finite_numbers(parts, "parts")
        self._wholes = np.ones(self._parts.size)
        if wholes is not None:
            self._wholes = finite_numbers(wholes, "wholes").astype(np.float64)
        same_length(self._parts, self._wholes, "parts and wholes")
        if self._wholes.min() < 0:
            raise UsageError("a whole is below 0")

    def __call__(self, weights: Weights) -> float:
        """The ratio with each utterance counted so many times; NaN where the wholes sum to 0.

        Args:
            weights: whole numbers from 0, shape (utterances,).
        """
        whole = float(weights @ self._wholes)
        return float(weights @ self._parts) / whole if whole > 0 else math.nan
