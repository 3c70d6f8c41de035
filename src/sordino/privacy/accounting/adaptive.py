"""Noise of an adaptive clip: what is left of a round's budget once its clip has been adapted.

With each sum of updates, a round also releases how many of them were within the clip, as a
sum of bits minus 1/2, so that a user changes it by at most 1/2. Both releases together cost what
one of the noise multiplier z does, if 1 / z**2 = 1 / z_update**2 + 1 / (2 * bit_deviation)**2.
"""

from __future__ import annotations

import math

from sordino.errors import UsageError
from sordino.privacy.accounting.rounding import rounded_up

_DIGITS = 9


def update_multiplier(noise_multiplier: float, bit_deviation: float) -> float:
    """Noise of the updates, so that they and the bits cost what the accountant was told.

    Args:
        noise_multiplier: z, what the accountant was told, above 0.
        bit_deviation: standard deviation of the noise in the sum of bits, above z / 2; about a
            twentieth of the cohort is usual.

    Returns:
        Standard deviation of the noise in the sum of updates over the clip, rounded up.

    Raises:
        UsageError: the noise on the bits alone costs more than that.

    Example:
        >>> update_multiplier(1.0, 5.0)
        1.00503782

    Source: G. Andrew, O. Thakkar, H. B. McMahan and S. Ramaswamy, "Differentially private learning
    with adaptive clipping", 2021, theorem 1.
    """
    _check("noise multiplier", noise_multiplier)
    _check("deviation of the noise on bits", bit_deviation)
    left = noise_multiplier**-2 - (2 * bit_deviation) ** -2
    if left <= 0:
        raise UsageError(
            f"bits with noise of deviation {bit_deviation:g} alone cost more than a noise"
            f" multiplier of {noise_multiplier:g}: use more than {noise_multiplier / 2:g}"
        )
    return rounded_up(left**-0.5, _DIGITS)


def joint_multiplier(update_multiplier: float, bit_deviation: float) -> float:
    """What to tell the accountant of a round with both releases.

    Args:
        update_multiplier: standard deviation of the noise in the sum of updates over the clip.
        bit_deviation: standard deviation of the noise in the sum of bits.

    Returns:
        Never more than what holds, so that epsilon is never too small.

    Raises:
        UsageError: an argument is not above 0.

    Example:
        >>> round(joint_multiplier(1.00503782, 5.0), 5)
        1.0
    """
    _check("noise multiplier of updates", update_multiplier)
    _check("deviation of the noise on bits", bit_deviation)
    return (1 - 1e-12) / math.hypot(1 / update_multiplier, 0.5 / bit_deviation)


def _check(what: str, value: float) -> None:
    if not 0 < value < math.inf:  # refuses NaN too
        raise UsageError(f"{what} {value} is not a number above 0")
