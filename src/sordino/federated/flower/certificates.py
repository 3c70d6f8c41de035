"""Certificates for a server that has none: an authority of its own, and one for its addresses."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from sordino.errors import UsageError
from sordino.federated.flower.save import write_new

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

_YEARS = 2
_DAY = timedelta(days=1)
AUTHORITY, CERTIFICATE, KEY = "ca.crt", "server.crt", "server.key"


@dataclass(frozen=True)
class Certificates:
    """Files by which a server proves who it is.

    Attributes:
        certificate: the server's certificate, with those between it and the authority, PEM.
        key: its private key, PEM.
        authority: the certificate that nodes need to trust it, PEM; None where the system's own
            authorities do.
    """

    certificate: Path
    key: Path
    authority: Path | None = None


def create_certificates(folder: Path, names: Sequence[str]) -> Certificates:
    """Make an authority and a server certificate, valid for two years.

    The authority's private key is used once and not kept: it cannot sign for anybody else.

    Args:
        folder: where ca.crt, server.crt and server.key are written.
        names: names and IP addresses at which the server is reached, at least one.

    Raises:
        UsageError: no name is given.
        OutputError: the files exist or cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = create_certificates(Path(folder), ["127.0.0.1", "localhost"])
        ...     files.certificate.read_text().startswith("-----BEGIN CERTIFICATE-----")
        True
    """
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    if not names:
        raise UsageError("a server certificate needs a name or an IP address of the server")
    authority_key, server_key = (ec.generate_private_key(ec.SECP384R1()) for _ in range(2))
    authority = _authority(authority_key)
    certificate = _server(server_key, names, authority).sign(authority_key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    private = server_key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    files = Certificates(folder / CERTIFICATE, folder / KEY, folder / AUTHORITY)
    folder.mkdir(parents=True, exist_ok=True)
    write_new(files.key, private, secret=True)
    write_new(files.certificate, certificate.public_bytes(pem))
    write_new(folder / AUTHORITY, authority.public_bytes(pem))
    return files


def find_certificates(folder: Path) -> Certificates | None:
    """What `create_certificates` has written to a folder; None where not all of it is there."""
    files = Certificates(folder / CERTIFICATE, folder / KEY, folder / AUTHORITY)
    there = all(path.is_file() for path in (files.certificate, files.key, folder / AUTHORITY))
    return files if there else None


def check_name(files: Certificates, host: str) -> None:
    """Refuse a certificate that nodes will not take for the server at a host.

    Raises:
        UsageError: it is for other names, or cannot be read.
    """
    from cryptography import x509

    try:
        certificate = x509.load_pem_x509_certificate(files.certificate.read_bytes())
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except OSError as error:
        raise UsageError(f"certificate {files.certificate}: {error.strerror}") from error
    except (ValueError, x509.ExtensionNotFound) as error:
        raise UsageError(
            f"certificate {files.certificate}: not a PEM certificate with names of servers"
        ) from error
    known = [str(name.value) for name in names]
    wildcard = "*." + host.partition(".")[2]
    if host not in known and wildcard not in known:
        raise UsageError(
            f"certificate {files.certificate} is for {', '.join(known)}; nodes would not trust it"
            f" at {host}"
        )


def _authority(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    name = _named("sordino federated training")
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    usage = _usage(signs_certificates=True)
    return (
        _dated(x509.CertificateBuilder().subject_name(name).issuer_name(name))
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )


def _server(
    key: ec.EllipticCurvePrivateKey, names: Sequence[str], authority: x509.Certificate
) -> x509.CertificateBuilder:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    issuer = authority.public_key()
    if not isinstance(issuer, ec.EllipticCurvePublicKey):
        raise TypeError("the authority's key is not of an elliptic curve")
    alternatives = x509.SubjectAlternativeName([_alternative(name) for name in names])
    builder = x509.CertificateBuilder().subject_name(_named("sordino server"))
    return (
        _dated(builder.issuer_name(authority.subject))
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(alternatives, critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer), critical=False)
    )


def _named(name: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _dated(builder: x509.CertificateBuilder) -> x509.CertificateBuilder:
    from cryptography import x509

    now = datetime.now(timezone.utc)
    # Clocks of devices go wrong by hours.
    return (
        builder.serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _YEARS * 365 * _DAY)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative(name: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
