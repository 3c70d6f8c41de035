"""Which request a released vector was the answer to, without telling what was asked."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.privacy.keys import SecretKey

Vectors: TypeAlias = npt.NDArray[np.float64]
Request: TypeAlias = tuple[str, str]
"""What tells a request from others: of which kind that is, and its value."""

_STORED = np.dtype("<f8")


def scope_of(key: SecretKey, ledger: str, purpose: str, mechanism: str) -> bytes:
    """A key for the places of all releases in a ledger for a purpose by a mechanism."""
    return key.derive("ledger memo", ledger, purpose, mechanism)


def place_of(scope: bytes, owner: str, request: Request) -> bytes:
    """Where the answer to a request is remembered.

    Args:
        scope: from `scope_of`.
        owner: whose vector it is.
        request: from `by_name` or `by_input`.

    Returns:
        32 bytes, from which nothing can be told without the key.
    """
    return hmac.digest(scope, json.dumps([owner, *request]).encode("ascii"), "sha256")


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
