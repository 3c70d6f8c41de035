"""The bound of latents: the median norm in training, as it is or estimated privately."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.privacy.exact import discrete_laplace
from sordino.privacy.randomness import FloatArray, Randomness, SystemRandomness

_STEPS = 16


def private_median(
    values: npt.ArrayLike,
    epsilon: float,
    *,
    low: float,
    high: float,
    randomness: Randomness | None = None,
) -> float:
    """The median of numbers of which each is one person's, with differential privacy for these.

    Bisection: 16 times it asks whether at least half of the numbers lie above the middle, on a
    scale of logarithms, and each answer counts with exact discrete Laplace noise. Who replaces one
    number by any other changes each count by at most 1; so all answers together, and what is made
    of them, keep epsilon, pure.

    Args:
        values: one number of each person, shape (n,). How many there are is not protected.
        epsilon: of the result, above 0.
        low: the result is at least this, above 0. To be chosen without looking at the numbers.
        high: at most this, above `low`; the same.
        randomness: where random bits come from; the operating system by default.

    Raises:
        UsageError: the bounds or epsilon are out of range, or a value is NaN.

    Example:
        >>> norms = np.geomspace(10, 40, 1001)
        >>> found = private_median(norms, epsilon=10, low=0.01, high=1e4)
        >>> 19 < found < 21
        True

    Source: C. Dwork and A. Roth, "The algorithmic foundations of differential privacy", 2014,
    theorems 3.6 and 3.14; the exact noise: see `sordino.privacy.exact`.
    """
    numbers: FloatArray = np.asarray(values, dtype=np.float64).ravel()
    if not 0 < low < high < np.inf or not epsilon > 0 or not np.isfinite(epsilon):
        raise UsageError(f"epsilon {epsilon} and bounds {low} to {high}: expected 0 < low < high")
    if np.isnan(numbers).any():
        raise UsageError("a value is NaN")
    source = SystemRandomness() if randomness is None else randomness
    noise = discrete_laplace(_STEPS / Fraction(epsilon), _STEPS, source)
    bottom, top = np.log(low), np.log(high)
    for extra in noise.tolist():
        middle = (bottom + top) / 2
        above = int((numbers > np.exp(middle)).sum())
        if 2 * (above + extra) >= numbers.size:
            bottom = middle
        else:
            top = middle
    return float(np.exp((bottom + top) / 2))
