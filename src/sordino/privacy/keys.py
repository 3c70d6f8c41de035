"""Secret keys, and everything that is derived from them.

What a key decides (which pseudo-speaker somebody becomes, which pseudonym a file gets) is a
keyed function: the same in every run with the same key, and not to be computed without the key.
What a result gives away of the values derived for it is another question, for each system.
Derivation is HMAC-SHA256 over length-prefixed labels.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sordino.errors import OutputError, UsageError

KEY_VARIABLE = "SORDINO_KEY"
MIN_KEY_BYTES = 16

# scrypt cost: about 50 ms once per run, so that a weak passphrase is not guessed at HMAC speed.
_SCRYPT = {"n": 2**14, "r": 8, "p": 1}
_SALT = b"sordino key 1"


@dataclass(frozen=True)
class SecretKey:
    """A stretched secret. Its text form never shows the secret.

    Attributes:
        material: 32 bytes; what derived values depend on.
        lasting: whether the key can be used again (False for a one-off random key).

    Example:
        >>> key = SecretKey.from_secret(b"correct horse battery staple")
        >>> key.uniform("voice", "alice") == key.uniform("voice", "alice")
        True
        >>> key.uniform("voice", "alice") == key.uniform("voice", "bob")
        False
    """

    material: bytes = field(repr=False)
    lasting: bool = True

    @classmethod
    def from_secret(cls, secret: bytes) -> SecretKey:
        """Stretch a secret of at least 16 bytes; surrounding white space does not count.

        Raises:
            UsageError: the secret is too short.
        """
        secret = secret.strip()
        if len(secret) < MIN_KEY_BYTES:
            raise UsageError(
                f"the key has {len(secret)} bytes; it needs at least {MIN_KEY_BYTES}"
                " (make one with: sordino key FILE)"
            )
        return cls(hashlib.scrypt(secret, salt=_SALT, dklen=32, maxmem=2**26, **_SCRYPT))

    @classmethod
    def from_file(cls, path: Path) -> SecretKey:
        """Read a key file, as `create_key_file` writes it or any file of at least 16 bytes.

        Raises:
            UsageError: the file cannot be read or is too short.
        """
        try:
            secret = path.read_bytes()
        except OSError as error:
            raise UsageError(
                f"key file {path}: {error.strerror} (make one with: sordino key FILE)"
            ) from error
        try:
            return cls.from_secret(secret)
        except UsageError as error:
            raise UsageError(f"key file {path}: {error}") from error

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> SecretKey | None:
        """The key in the variable SORDINO_KEY, or None where it is not set.

        Raises:
            UsageError: the value is too short.
        """
        value = environment.get(KEY_VARIABLE)
        if value is None:
            return None
        try:
            return cls.from_secret(os.fsencode(value))
        except UsageError as error:
            raise UsageError(f"environment variable {KEY_VARIABLE}: {error}") from error

    @classmethod
    def random(cls) -> SecretKey:
        """A fresh key that nobody knows and that ends with the process."""
        return cls(secrets.token_bytes(32), lasting=False)

    def derive(self, *labels: str) -> bytes:
        """32 bytes that depend on the key and on every label. Labels are compared in NFC form."""
        mac = hmac.new(self.material, digestmod=hashlib.sha256)
        for label in labels:
            data = unicodedata.normalize("NFC", label).encode("utf-8", "surrogatepass")
            mac.update(len(data).to_bytes(8, "big"))
            mac.update(data)
        return mac.digest()

    def uniform(self, *labels: str) -> float:
        """A number in [0, 1), uniform over labels, with 53 random bits."""
        return int.from_bytes(self.derive("uniform", *labels)[:8], "big") // 2**11 / 2**53

    def pseudonym(self, *labels: str) -> str:
        """A name of 16 letters and digits (80 bits) that stands for the labels."""
        return base64.b32encode(self.derive("pseudonym", *labels)[:10]).decode("ascii").lower()

    def digest(self, chunks: Iterable[bytes]) -> str:
        """Keyed digest of data, as 64 hexadecimal digits.

        Equal data give equal digests under one key; without the key a digest cannot be compared
        with the digest of a suspected original.
        """
        mac = hmac.new(self.derive("digest"), digestmod=hashlib.sha256)
        for chunk in chunks:
            mac.update(chunk)
        return mac.hexdigest()


def create_key_file(path: Path) -> None:
    """Write a new random key, readable by its owner only; an existing file is never replaced.

    Raises:
        OutputError: the file exists or cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32) + "\n")
    except FileExistsError as error:
        raise OutputError(f"key file {path} exists already; it is left as it is") from error
    except OSError as error:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        raise OutputError(f"key file {path}: {error.strerror}") from error
