from __future__ import annotations

import stat

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from sordino.errors import OutputError, UsageError
from sordino.federated.flower.node_keys import (
    create_node_key,
    read_private_key,
    read_public_keys,
)


def test_what_the_private_key_signs_the_public_key_verifies(tmp_path):
    create_node_key(tmp_path / "anna")
    create_node_key(tmp_path / "ben")

    signature = read_private_key(tmp_path / "anna").sign(b"it is me", ec.ECDSA(hashes.SHA256()))

    keys = read_public_keys(tmp_path)
    assert list(keys) == ["anna", "ben"]
    public = serialization.load_pem_public_key(keys["anna"])
    public.verify(signature, b"it is me", ec.ECDSA(hashes.SHA256()))
    with pytest.raises(InvalidSignature):
        serialization.load_pem_public_key(keys["ben"]).verify(
            signature, b"it is me", ec.ECDSA(hashes.SHA256())
        )


def test_the_private_key_is_private_and_stays(tmp_path):
    create_node_key(tmp_path / "anna")
    before = (tmp_path / "anna").read_bytes()

    assert stat.S_IMODE((tmp_path / "anna").stat().st_mode) == 0o600
    with pytest.raises(OutputError, match="exists already"):
        create_node_key(tmp_path / "anna")
    assert (tmp_path / "anna").read_bytes() == before


def test_two_nodes_with_one_key_are_refused(tmp_path):
    public = create_node_key(tmp_path / "anna")
    (tmp_path / "ben.pub").write_bytes(public.read_bytes())

    with pytest.raises(UsageError, match="node 'anna' has the same"):
        read_public_keys(tmp_path)


def test_other_keys_are_refused_by_name(tmp_path):
    key = ed25519.Ed25519PrivateKey.generate()
    (tmp_path / "other").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption(),
        )
    )
    (tmp_path / "other.pub").write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
        )
    )

    with pytest.raises(UsageError, match="other: not an ECDSA key"):
        read_private_key(tmp_path / "other")
    with pytest.raises(UsageError, match=r"other\.pub: not an ECDSA public key"):
        read_public_keys(tmp_path)
    (tmp_path / "other.pub").write_text("nothing of the kind")
    with pytest.raises(UsageError, match=r"other\.pub: not an ECDSA public key"):
        read_public_keys(tmp_path)
    with pytest.raises(UsageError, match="sordino federate key"):
        read_private_key(tmp_path / "missing")


def test_a_folder_without_keys_says_how_to_make_one(tmp_path):
    with pytest.raises(UsageError, match="sordino federate key FILE"):
        read_public_keys(tmp_path)
