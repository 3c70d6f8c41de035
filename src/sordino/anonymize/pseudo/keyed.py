"""Many keyed random numbers for one pseudo-speaker.

The bits come from SHAKE-256 and not from NumPy's generators: these may give other numbers in
another version, and are not made to withstand somebody who sees a part of their output.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from sordino.anonymize.base import Draws

FloatArray = npt.NDArray[np.float64]

_NUMBER_BYTES = 8


def voice_seed(draws: Draws, purpose: str) -> bytes:
    """32 bytes that depend on the key and on who is speaking."""
    return draws.key.derive("pseudo-speaker", *draws.labels, purpose)


def common_seed(draws: Draws, purpose: str) -> bytes:
    """32 bytes that depend on the key alone: the same for everybody who is speaking."""
    return draws.key.derive("pseudo-speakers", purpose)


def uniforms(seed: bytes, count: int) -> FloatArray:
    """Numbers in (0, 1) from a secret seed, with 52 random bits.

    The first numbers do not depend on how many are asked for.

    Args:
        seed: whoever does not know it cannot tell the numbers from random ones.
        count: how many.

    Returns:
        Shape (count,).

    Example:
        >>> bool((uniforms(b"seed", 5)[:3] == uniforms(b"seed", 3)).all())
        True
    """
    return _to_uniform(hashlib.shake_256(seed).digest(_NUMBER_BYTES * count))


def normals(seed: bytes, count: int) -> FloatArray:
    """Numbers from the standard normal distribution; else as `uniforms`.

    Example:
        >>> normals(b"seed", 2).round(3).tolist()
        [-0.853, 0.94]
    """
    return _to_normal(uniforms(seed, count))


def normal_rows(seed: bytes, rows: Iterable[tuple[int, int]], width: int) -> FloatArray:
    """Rows of standard normal numbers, each row with a stream of its own.

    Args:
        seed: see `uniforms`.
        rows: for each row a pair of numbers below 2^32 that names its stream.
        width: numbers in a row.

    Returns:
        Shape (rows, width).

    Example:
        >>> both = normal_rows(b"seed", [(0, 0), (7, 1)], 3)
        >>> bool((both[1] == normal_rows(b"seed", [(7, 1)], 3)[0]).all())
        True
    """
    size = _NUMBER_BYTES * width
    streams = (
        hashlib.shake_256(seed + number.to_bytes(4, "big") + turn.to_bytes(4, "big")).digest(size)
        for number, turn in rows
    )
    return _to_normal(_to_uniform(b"".join(streams))).reshape(-1, width)


def rotation(seed: bytes, size: int) -> FloatArray:
    """An orthogonal matrix, uniformly distributed over all of them (Haar measure).

    Args:
        seed: see `uniforms`.
        size: rows and columns.

    Returns:
        Shape (size, size).

    Example:
        >>> turn = rotation(b"seed", 4)
        >>> bool(np.allclose(turn @ turn.T, np.eye(4)))
        True

    Source: F. Mezzadri, "How to generate random matrices from the classical compact groups", 2007.
    """
    orthogonal, triangular = np.linalg.qr(normals(seed, size * size).reshape(size, size))
    # Without the signs the distribution depends on the conventions of the QR routine.
    turned: FloatArray = orthogonal * np.sign(np.diag(triangular))
    return turned


def _to_uniform(data: bytes) -> FloatArray:
    # With one bit more the largest number would be rounded to 1, whose normal quantile is infinite.
    bits = np.frombuffer(data, dtype="<u8") >> np.uint64(12)
    numbers: FloatArray = (bits + 0.5) / 2.0**52
    return numbers


def _to_normal(numbers: FloatArray) -> FloatArray:
    from scipy.special import ndtri

    quantiles: FloatArray = ndtri(numbers)
    return quantiles
