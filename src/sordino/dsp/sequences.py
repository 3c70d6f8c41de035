"""Endless sequences of random numbers of which any piece can be made by itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_BLOCK = 1024
_WORDS = 2**64


def normals(start: int, count: int, seed: int) -> FloatArray:
    """A piece of an endless sequence of independent standard normal numbers.

    Args:
        start: number of the first; may be negative.
        count: how many.
        seed: which sequence, from 0 to below 2 ** 128.

    Returns:
        Shape (count,). Any piece is exactly that piece of the whole.

    Raises:
        ValueError: the seed is out of range or the count negative.

    Example:
        >>> whole = normals(-100, 5000, seed=7)
        >>> bool((normals(1300, 2000, seed=7) == whole[1400:3400]).all())
        True

    Source: the counter-based generator Philox: J. Salmon et al., "Parallel random numbers: as
    easy as 1, 2, 3", 2011.
    """
    return _piece(start, count, seed, np.random.Generator.standard_normal)


def uniforms(start: int, count: int, seed: int) -> FloatArray:
    """The same with numbers from 0 to 1; see `normals`.

    Example:
        >>> bool((uniforms(5, 3, seed=7) == uniforms(0, 8, seed=7)[5:]).all())
        True
    """
    return _piece(start, count, seed, np.random.Generator.random)


def _piece(
    start: int, count: int, seed: int, draw: Callable[[np.random.Generator, int], FloatArray]
) -> FloatArray:
    if count < 0:
        raise ValueError(f"a piece of {count} numbers cannot be made")
    first, last = start // _BLOCK, (start + count - 1) // _BLOCK
    blocks = [draw(_generator(number, seed), _BLOCK) for number in range(first, last + 1)]
    offset = start - first * _BLOCK
    return np.concatenate([np.zeros(0), *blocks])[offset : offset + count]


def _generator(block: int, seed: int) -> np.random.Generator:
    # The highest word of the counter tells blocks apart; a block never uses up the words below.
    counter = np.array([0, 0, 0, block % _WORDS], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=seed, counter=counter))
