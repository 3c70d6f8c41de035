"""Records that only the holder of a key can read, and whose changes are noticed."""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sordino.privacy.keys import SecretKey

Place = tuple[bytes, ...]
"""Where a record belongs: its kind and what identifies it there."""

_FORMAT = b"sordino voices 1"
_NONCE_BYTES = 12
_TAGS = 1 << 256


class BrokenSealError(Exception):
    """A record does not open: another key, another place, or changed bytes."""


class Vault:
    """Seals the records of one store with AES-256-GCM, each bound to its place in that store.

    Args:
        key: the secret; keys for each use are derived from it and the store's identity.
        identity: random bytes that the store was given when it was made.

    Example:
        >>> vault = Vault(SecretKey.from_secret(b"sixteen bytes or more"), b"store")
        >>> sealed = vault.seal(b"private", (b"person", b"7"))
        >>> vault.unseal(sealed, (b"person", b"7"))
        b'private'
    """

    def __init__(self, key: SecretKey, identity: bytes) -> None:
        self._labels = ("voices", identity.hex())
        self._key = key
        self._cipher = AESGCM(key.derive(*self._labels, "records"))
        self._tag_key = key.derive(*self._labels, "tags")

    def name_digest(self, name: str) -> bytes:
        """32 bytes by which a name is found, and from which it cannot be told without the key."""
        return self._key.derive(*self._labels, "name", name)

    def seal(self, record: bytes, place: Place) -> bytes:
        """Encrypt a record under a fresh random nonce."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, record, _bound(place))

    def unseal(self, sealed: bytes, place: Place) -> bytes:
        """What was sealed.

        Raises:
            BrokenSealError: it was sealed with another key or for another place, or was changed.
        """
        nonce, rest = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return self._cipher.decrypt(nonce, rest, _bound(place))
        except (InvalidTag, ValueError) as error:
            raise BrokenSealError from error

    def tag(self, sealed: bytes, place: Place) -> int:
        """Keyed fingerprint of a sealed record in its place, for `total_of`."""
        data = _bound((*place, sealed))
        return int.from_bytes(hmac.digest(self._tag_key, data, "sha256"), "big")


def total_of(tags: Iterable[int]) -> int:
    """Fingerprint of a set of records, in which one can be added or taken away at any time.

    Example:
        >>> total_of([total_of([5, 7]), -7]) == total_of([5])
        True

    Source: MSet-Add-Hash in D. Clarke et al., "Incremental multiset hash functions and their
    application to memory integrity checking", ASIACRYPT 2003.
    """
    return sum(tags) % _TAGS


def _bound(place: Place) -> bytes:
    # The keys are those of one store; this is where in it, and in which version of the format.
    return b"".join(len(part).to_bytes(8, "big") + part for part in (_FORMAT, *place))
