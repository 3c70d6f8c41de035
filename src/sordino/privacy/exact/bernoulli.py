"""Events of exactly a given probability."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sordino.privacy.randomness import Randomness, Shape

_WORDS = 2**64


def bernoulli(
    probability: Fraction | float, shape: Shape, randomness: Randomness
) -> npt.NDArray[np.bool_]:
    """Independent events of one probability.

    Args:
        probability: from 0 to 1; a float is taken for exactly the number that it is.
        shape: of the result.
        randomness: where bits come from.

    Returns:
        Whether each happened.

    Raises:
        ValueError: the probability is not between 0 and 1.

    Example:
        >>> from sordino.privacy.randomness import SystemRandomness
        >>> bernoulli(Fraction(1), 3, SystemRandomness())
        array([ True,  True,  True])
    """
    if not 0 <= probability <= 1:  # holds for NaN too
        raise ValueError(f"probability {probability} is not between 0 and 1")
    # Digits of the probability to the base 2 ** 64, and words beside them: the first that differ
    # decide, and almost always these are the first.
    words = randomness.bits(shape).ravel()
    digit, rest = divmod(Fraction(probability) * _WORDS, 1)
    if digit == _WORDS:
        return np.ones(shape, dtype=np.bool_)
    happened: npt.NDArray[np.bool_] = words < np.uint64(digit)
    undecided = np.flatnonzero(words == np.uint64(digit))
    while undecided.size and rest:
        further = randomness.bits(undecided.size)
        digit, rest = divmod(rest * _WORDS, 1)
        happened[undecided] = further < np.uint64(digit)
        undecided = undecided[further == np.uint64(digit)]
    return happened.reshape(shape)
