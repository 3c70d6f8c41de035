"""Does noise follow the law that it should follow? One number, and how large it may be.

For claims beyond what counts of rare events can show (epsilon 15 and more) this is the check
with power: noise of half the scale lies far from its law at any epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Law = Callable[[FloatArray], FloatArray]
"""A distribution function, elementwise."""


def largest_gap(values: npt.ArrayLike, law: Law, *, slack: float = 0.0) -> float:
    """The largest difference between the distribution of values and a law, 0 to 1.

    Args:
        values: independent draws, any shape.
        law: the distribution function that they should have.
        slack: by how much a value may be off, as by rounding; differences that this explains do
            not count.

    Example:
        >>> uniform = lambda values: np.clip(values, 0, 1)
        >>> largest_gap([0.25, 0.75], uniform)
        0.25

    Source: Kolmogorov's statistic.
    """
    draws = np.sort(np.asarray(values, np.float64).ravel())
    ordered, places = np.unique(draws, return_index=True)
    before = places / draws.size
    after = np.append(before[1:], 1.0)
    above = after - law(ordered + slack)
    below = law(ordered - slack) - before
    return float(max(above.max(), below.max(), 0.0))


def allowed_gap(draws: int, false_alarm: float) -> float:
    """The gap that so many draws from the right law exceed with at most this probability.

    Example:
        >>> round(allowed_gap(10_000, 0.001), 4)
        0.0195

    Source: P. Massart, "The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality", 1990;
    it holds for every law and every number of draws.
    """
    return math.sqrt(math.log(2 / false_alarm) / (2 * draws))


def laplace_law(scale: float) -> Law:
    """Laplace noise.

    Example:
        >>> laplace_law(2.0)(np.array([0.0])).tolist()
        [0.5]
    """

    def law(values: FloatArray) -> FloatArray:
        tail = 0.5 * np.exp(-np.abs(values) / scale)
        return np.where(values < 0, tail, 1 - tail)

    return law


def gaussian_law(deviation: float) -> Law:
    """Gaussian noise.

    Example:
        >>> gaussian_law(3.0)(np.array([0.0])).tolist()
        [0.5]
    """
    from scipy.special import ndtr

    return lambda values: np.asarray(ndtr(values / deviation), dtype=np.float64)


def sphere_law(dimension: int) -> Law:
    """One coordinate of a vector that is uniform on the unit sphere.

    Args:
        dimension: of the space, at least 2.

    Example:
        >>> sphere_law(3)(np.array([-1.0, 0.0, 0.5, 1.0])).tolist()
        [0.0, 0.5, 0.75, 1.0]
    """
    from scipy.special import betainc

    half = (dimension - 1) / 2

    def law(values: FloatArray) -> FloatArray:
        return np.asarray(betainc(half, half, np.clip((1 + values) / 2, 0, 1)), dtype=np.float64)

    return law


def raised_law(base: Law, height: float, probability: float) -> Law:
    """A law whose part at and above a height has been given another probability.

    The component of PrivUnit's vector along its input has it, with the sphere's law as the base;
    in the Gaussian form, with the normal law.

    Args:
        base: without atoms, symmetric about 0.
        height: where its upper part begins.
        probability: of the upper part, now.

    Example:
        >>> uniform = lambda values: np.clip((1 + values) / 2, 0, 1)
        >>> raised_law(uniform, 0.0, 0.9)(np.array([0.0, 0.5])).round(3).tolist()
        [0.1, 0.55]
    """
    # Tails far out keep their precision as the law of the opposite value.
    lower_part, upper_part = base(np.array([height, -height]))

    def law(values: FloatArray) -> FloatArray:
        lower = (1 - probability) * base(np.minimum(values, height)) / lower_part
        upper = 1 - probability * base(-np.maximum(values, height)) / upper_part
        raised: FloatArray = np.where(values < height, lower, upper)
        return raised

    return law
