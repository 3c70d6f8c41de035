"""Reproducible choices: a function of a seed and of names, not of an order or of a library."""

from __future__ import annotations

import hashlib


def digest(seed: int, *labels: str) -> bytes:
    """32 bytes that look random; sorting by them shuffles.

    Args:
        seed: another one gives other bytes.
        labels: what is chosen and why.

    Example:
        >>> sorted("abcd", key=lambda name: digest(0, name))
        ['d', 'c', 'a', 'b']
    """
    text = "\0".join((str(seed), *labels))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
