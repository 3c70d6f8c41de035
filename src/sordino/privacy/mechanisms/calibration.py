"""How much Gaussian noise an epsilon and a delta need."""

from __future__ import annotations

import math
from collections.abc import Callable

from sordino.privacy.mechanisms.checks import checked_delta, checked_epsilon

# Relative error of the normal distribution function and what is made of it, with room.
_ROUNDING = 1e-13


def gaussian_delta(epsilon: float, noise_multiplier: float) -> float:
    """The delta of the Gaussian mechanism at an epsilon.

    Args:
        epsilon: from 0.
        noise_multiplier: standard deviation of the noise over the sensitivity, above 0.

    Returns:
        Never less than what holds: rounded up by more than what rounding may have taken away.

    Example:
        >>> f"{gaussian_delta(2.0, 2.2305):.4g}"
        '9.998e-07'

    Source: B. Balle and Y.-X. Wang, "Improving the Gaussian mechanism for differential privacy:
    analytical calibration and optimal denoising", 2018, theorem 8.
    """
    from scipy.special import log_ndtr

    half, part = 1 / (2 * noise_multiplier), epsilon * noise_multiplier
    first, second = float(log_ndtr(half - part)), float(log_ndtr(-half - part))
    difference = -math.expm1(min(0.0, epsilon + second - first))
    return math.exp(first) * min(1.0, difference + _ROUNDING * (1 + epsilon + abs(second)))


def gaussian_noise_multiplier(epsilon: float, delta: float) -> float:
    """The least noise for an epsilon and a delta, over the sensitivity, rounded up.

    Args:
        epsilon: from 2 ** -13.
        delta: between 0 and 1.

    Raises:
        UsageError: an argument is out of range.

    Example:
        >>> round(gaussian_noise_multiplier(2.0, 1e-6), 4)
        2.2305
    """
    checked_epsilon(epsilon)
    checked_delta(delta)
    high = 1.0
    while gaussian_delta(epsilon, high) > delta:
        high *= 2
    low = high
    while gaussian_delta(epsilon, low) <= delta:
        low /= 2
    return turning_point(lambda multiplier: gaussian_delta(epsilon, multiplier) <= delta, low, high)


def turning_point(condition: Callable[[float], bool], low: float, high: float) -> float:
    """The point above which a condition holds, by bisection; it holds at the result.

    Args:
        condition: does not hold at `low`, holds at `high`, and turns once.
        low: from here.
        high: to here.

    Example:
        >>> round(turning_point(lambda x: x**2 >= 2, 0.0, 2.0), 9)
        1.414213562
    """
    while True:
        middle = (low + high) / 2
        if high - low <= 1e-13 * abs(high) or not low < middle < high:
            return high
        if condition(middle):
            high = middle
        else:
            low = middle
