from __future__ import annotations

import ssl
import stat
from pathlib import Path

import pytest

from sordino.errors import OutputError, UsageError
from sordino.federated.flower.certificates import (
    Certificates,
    check_name,
    create_certificates,
    find_certificates,
)


def shake_hands(files: Certificates, authority: Path, name: str) -> None:
    """A whole TLS handshake in memory, checked as any client does."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(files.certificate, files.key)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.load_verify_locations(authority)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    )
    left = list(ends)
    for _ in range(10):
        for end in list(left):
            try:
                end.do_handshake()
                left.remove(end)
            except ssl.SSLWantReadError:
                pass
        if not left:
            return
    raise AssertionError("no end of the handshake")


def test_clients_trust_it_at_its_names_and_at_no_other(tmp_path):
    files = create_certificates(tmp_path, ["127.0.0.1", "learn.example.org"])

    for name in ("127.0.0.1", "learn.example.org"):
        shake_hands(files, tmp_path / "ca.crt", name)
        check_name(files, name)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(files, tmp_path / "ca.crt", "other.example.org")
    with pytest.raises(UsageError, match=r"is for 127\.0\.0\.1, learn\.example\.org"):
        check_name(files, "other.example.org")


def test_another_authority_does_not_vouch_for_it(tmp_path):
    files = create_certificates(tmp_path / "a", ["localhost"])
    create_certificates(tmp_path / "b", ["localhost"])

    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(files, tmp_path / "b" / "ca.crt", "localhost")


def test_the_key_is_private_and_nothing_is_overwritten(tmp_path):
    files = create_certificates(tmp_path, ["localhost"])
    key = files.key.read_bytes()

    assert stat.S_IMODE(files.key.stat().st_mode) == 0o600
    with pytest.raises(OutputError, match="exists already"):
        create_certificates(tmp_path, ["localhost"])
    assert files.key.read_bytes() == key


def test_files_are_found_when_all_are_there(tmp_path):
    assert find_certificates(tmp_path) is None
    files = create_certificates(tmp_path, ["localhost"])
    assert find_certificates(tmp_path) == files
    files.key.unlink()
    assert find_certificates(tmp_path) is None


def test_a_certificate_without_names_is_refused(tmp_path):
    broken = Certificates(tmp_path / "c", tmp_path / "k")
    with pytest.raises(UsageError, match="No such file"):
        check_name(broken, "localhost")
    broken.certificate.write_text("no certificate")
    with pytest.raises(UsageError, match="not a PEM certificate"):
        check_name(broken, "localhost")
    with pytest.raises(UsageError, match="needs a name"):
        create_certificates(tmp_path, [])
