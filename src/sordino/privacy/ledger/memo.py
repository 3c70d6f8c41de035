"""Which request a released vector was the answer to, without telling what was asked."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.privacy.keys import SecretKey

Vectors: TypeAlias = npt.NDArray[np.float64]
Request: TypeAlias = tuple[str, str]
"""What tells a request from others: of which kind that is, and its value."""

_STORED = np.dtype("<f8")


def place_of(key: SecretKey, asked: Sequence[str]) -> bytes:
    """Where the answer to a request is remembered.

    Args:
        key: the secret of the ledger.
        asked: all that tells the request from others.

    Returns:
        32 bytes, from which nothing can be told without the key.
    """
    return key.derive("ledger memo", *asked)


def by_name(name: str) -> Request:
    """A request that is told from others by a name: the input does not matter."""
    return "name", name


def by_input(vector: Vectors) -> Request:
    """A request that is told from others by its input, shape (d,), to the last bit.

    Example:
        >>> by_input(np.zeros(2)) == by_input(-np.zeros(2))
        True
    """
    # Adding 0 makes both zeros the same.
    data = (vector + 0.0).astype(_STORED).tobytes()
    return "input", hashlib.sha256(data).hexdigest()


def packed(vector: Vectors) -> bytes:
    """A vector, shape (d,), for storage."""
    return vector.astype(_STORED).tobytes()


def unpacked(stored: bytes) -> Vectors:
    """The vector that `packed` was given."""
    return np.frombuffer(stored, _STORED).astype(np.float64)
