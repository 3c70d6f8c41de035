"""Randomness for tests, and how well samples fit their distributions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from scipy.stats import chi2

from sordino.privacy.randomness import Randomness, Shape, WordArray


class Script(Randomness):
    """Hands out given words, and then raises IndexError."""

    guarantee = False

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def bits(self, shape: Shape) -> WordArray:
        words = [self.left.pop(0) for _ in range(int(np.prod(shape)))]
        return np.array(words, dtype=np.uint64).reshape(shape)


def digits_of_exp(rate: Fraction, count: int) -> list[int]:
    """The first digits of exp(-rate) to the base 2 ** 64."""
    with localcontext() as context:
        context.prec = 400
        value = (-(Decimal(rate.numerator) / Decimal(rate.denominator))).exp()
        whole = int(value * 2 ** (64 * count))
    return [whole >> 64 * place & (2**64 - 1) for place in reversed(range(count))]


def chi_square(values: np.ndarray, edges: Sequence[int], below: Callable[[int], float]) -> float:
    """How likely whole numbers are to fit a distribution as badly as these.

    `below(k)` is the probability of a number below k; bins are [edge, next edge), and both ends.
    """
    cumulative = np.array([0.0, *(below(edge) for edge in edges), 1.0])
    expected = np.diff(cumulative) * values.size
    assert expected.min() > 5, "bins are too small for the test"
    bins = np.searchsorted(np.asarray(edges), values.ravel(), side="right")
    counts = np.bincount(bins, minlength=len(expected))
    statistic = (np.square(counts - expected) / expected).sum()
    return float(chi2.sf(statistic, len(expected) - 1))
