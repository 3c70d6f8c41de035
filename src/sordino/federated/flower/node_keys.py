"""Keys by which nodes prove who they are: ECDSA, as Flower uses them, in OpenSSH's format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sordino.errors import UsageError
from sordino.federated.flower.save import write_new

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec

_PUBLIC = ".pub"


def create_node_key(path: Path) -> Path:
    """Write a new private key, and the public key beside it.

    Args:
        path: of the private key, which stays on the node.

    Returns:
        The path of the public key, `<path>.pub`, which the server is given.

    Raises:
        OutputError: a file exists or cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     public = create_node_key(Path(folder, "anna"))
        ...     list(read_public_keys(Path(folder)))
        ['anna']
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP384R1())
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    write_new(path, private, secret=True)
    beside = path.with_name(path.name + _PUBLIC)
    write_new(beside, public + b"\n")
    return beside


def read_private_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """Read the private key of a node.

    Raises:
        UsageError: it cannot be read, or is no ECDSA key in OpenSSH's format without a passphrase.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    try:
        key = load_ssh_private_key(path.read_bytes(), None)
    except OSError as error:
        raise UsageError(
            f"node key {path}: {error.strerror} (make one with: sordino federate key FILE)"
        ) from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise UsageError(f"node key {path}: {_KIND}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise UsageError(f"node key {path}: {_KIND}")
    return key


def read_public_keys(folder: Path) -> Mapping[str, bytes]:
    """Read the public keys of all nodes that may take part.

    Args:
        folder: with a file `<name>.pub` for each node.

    Returns:
        The keys as PEM, by name of the node, in order of names.

    Raises:
        UsageError: there is no key, one is no ECDSA key in OpenSSH's format, or two nodes have the
            same key.
    """
    keys: dict[str, bytes] = {}
    for path in sorted(folder.glob(f"*{_PUBLIC}")):
        pem = _read_public_key(path)
        known = next((name for name, other in keys.items() if other == pem), None)
        if known is not None:
            raise UsageError(f"node key {path}: node {known!r} has the same; each needs its own")
        keys[path.name.removesuffix(_PUBLIC)] = pem
    if not keys:
        raise UsageError(
            f"{folder} holds no public keys of nodes, NAME{_PUBLIC}; a node makes its own with:"
            " sordino federate key FILE"
        )
    return keys


_KIND = "not an ECDSA key in OpenSSH's format without a passphrase"


def _read_public_key(path: Path) -> bytes:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    try:
        key = serialization.load_ssh_public_key(path.read_bytes())
    except OSError as error:
        raise UsageError(f"node key {path}: {error.strerror}") from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise UsageError(f"node key {path}: not an ECDSA public key in OpenSSH's format") from error
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise UsageError(f"node key {path}: not an ECDSA public key in OpenSSH's format")
    return key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
