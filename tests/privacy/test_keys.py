from __future__ import annotations

import base64
import dataclasses
import hashlib
import hmac
import os
import re
import stat
import sys
from pathlib import Path

import pytest
from scipy.stats import kstest

from sordino.errors import OutputError, UsageError
from sordino.privacy.keys import SecretKey, create_key_file

SECRET = b"a secret of more than sixteen bytes"
KEY = SecretKey.from_secret(SECRET)
COMPOSED, DECOMPOSED = "Ren\u00e9", "Rene\u0301"


def by_hand(*labels: str) -> bytes:
    """HMAC-SHA256 of the stretched secret over labels, each after its length in 8 bytes."""
    material = hashlib.scrypt(
        SECRET, salt=b"sordino key 1", n=16384, r=8, p=1, dklen=32, maxmem=2**26
    )
    encoded = [label.encode() for label in labels]
    message = b"".join(len(label).to_bytes(8, "big") + label for label in encoded)
    return hmac.digest(material, message, hashlib.sha256)


@pytest.mark.parametrize(
    "labels", [(), ("",), ("voice",), ("voice", "alice", "alpha"), ("声", "\U0001f3a4 x")]
)
def test_derived_bytes_are_hmac_of_length_prefixed_labels(labels: tuple[str, ...]) -> None:
    assert KEY.derive(*labels) == by_hand(*labels)


def test_derived_bytes_never_change() -> None:
    # People rely on getting the same pseudo-speakers from a new version.
    assert KEY.derive("voice", "alice").hex() == (
        "e07f932b09b517a2d4ed9bce5799cc221d0d417c32fe54a48c05b82571f3564b"
    )


def test_uniform_is_the_top_53_bits() -> None:
    bits = int.from_bytes(by_hand("uniform", "voice", "alice")[:8], "big") >> 11
    assert KEY.uniform("voice", "alice") == bits / 2**53


def test_pseudonym_is_eighty_bits_in_base_32() -> None:
    expected = base64.b32encode(by_hand("pseudonym", "file", "a", "b.wav")[:10]).decode().lower()
    assert KEY.pseudonym("file", "a", "b.wav") == expected


def test_digest_is_hmac_of_the_data_under_a_key_of_its_own() -> None:
    expected = hmac.digest(by_hand("digest"), b"some data", hashlib.sha256).hex()
    assert KEY.digest([b"some data"]) == expected
    assert KEY.digest([b"some", b"", b" data"]) == expected
    assert KEY.digest([b"some dat"]) != expected
    assert SecretKey.from_secret(SECRET + b"!").digest([b"some data"]) != expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        (("ab",), ("a", "b")),
        (("a", ""), ("a",)),
        (("", "a"), ("a", "")),
        (("a", "b"), ("b", "a")),
        (("alice",), ("Alice",)),
        (("a\0b",), ("a", "b")),
        (("\u2460",), ("1",)),
        (("\udcc3\udca9",), ("\u00e9",)),
    ],
)
def test_other_labels_give_other_values(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    for function in (KEY.derive, KEY.uniform, KEY.pseudonym):
        assert function(*one) != function(*other)


def test_labels_that_look_the_same_are_the_same() -> None:
    assert COMPOSED != DECOMPOSED
    assert KEY.derive(COMPOSED) == KEY.derive(DECOMPOSED) == by_hand(COMPOSED)


@pytest.mark.parametrize("label", [os.fsdecode(b"caf\xe9.wav"), "\ud800"])
def test_names_that_are_not_text_have_values_too(label: str) -> None:
    assert KEY.uniform(label) == KEY.uniform(label) != KEY.uniform(label + label)


def test_uniform_is_uniform() -> None:
    values = [KEY.uniform("voice", f"speaker {index}") for index in range(4000)]
    assert 0.0 <= min(values) <= max(values) < 1.0
    assert kstest(values, "uniform").pvalue > 0.01


def test_uniform_never_reaches_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SecretKey, "derive", lambda *_: b"\xff" * 32)
    assert KEY.uniform("anything") == 1.0 - 2.0**-53


def test_other_keys_give_other_values() -> None:
    keys = [SecretKey(bytes([index]) * 32) for index in range(50)]
    assert len({key.uniform("voice", "alice") for key in keys}) == 50
    assert len({key.pseudonym("alice") for key in keys}) == 50


def test_pseudonyms_are_unique_and_safe_as_file_names() -> None:
    names = {KEY.pseudonym("file", str(index)) for index in range(5000)}
    assert len(names) == 5000
    assert all(re.fullmatch(r"[a-z2-7]{16}", name) for name in names)


@pytest.mark.parametrize("secret", [b"", b"fifteen bytes..", b"  fifteen bytes..\r\n", b" " * 40])
def test_a_short_secret_is_refused(secret: bytes) -> None:
    with pytest.raises(UsageError, match=r"^the key has \d+ bytes; it needs at least 16 .*$"):
        SecretKey.from_secret(secret)


def test_white_space_around_a_secret_does_not_count() -> None:
    assert SecretKey.from_secret(b"\t" + SECRET + b" \r\n") == KEY
    assert SecretKey.from_secret(SECRET.replace(b" ", b"")) != KEY


def test_sixteen_bytes_are_enough() -> None:
    assert len(SecretKey.from_secret(b"sixteen bytes...").material) == 32


def test_a_secret_is_never_shown() -> None:
    shown = f"{KEY!r} {KEY!s} {[KEY]!r}"
    assert "material" not in shown
    for part in (SECRET, KEY.material):
        assert part.hex() not in shown
        assert repr(part)[2:-1] not in shown


def test_a_key_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        KEY.material = b"other"  # type: ignore[misc]


def test_random_keys_differ_and_do_not_last() -> None:
    one, other = SecretKey.random(), SecretKey.random()
    assert one.material != other.material
    assert len(one.material) == 32
    assert not one.lasting
    assert KEY.lasting


def test_a_created_key_file_can_be_read(tmp_path: Path) -> None:
    create_key_file(tmp_path / "a.key")
    create_key_file(tmp_path / "b.key")
    assert re.fullmatch(rb"[0-9a-f]{64}\r?\n", (tmp_path / "a.key").read_bytes())
    key = SecretKey.from_file(tmp_path / "a.key")
    assert key.lasting
    assert key == SecretKey.from_file(tmp_path / "a.key") != SecretKey.from_file(tmp_path / "b.key")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_only_the_owner_can_read_a_created_key_file(tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        create_key_file(tmp_path / "a.key")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a.key").stat().st_mode) == 0o600


def test_an_existing_key_file_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.key"
    path.write_bytes(b"precious")
    with pytest.raises(OutputError, match=r"a\.key exists already; it is left as it is$"):
        create_key_file(path)
    assert path.read_bytes() == b"precious"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows")
def test_a_key_file_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "a.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="exists already"):
        create_key_file(tmp_path / "a.key")
    assert not (tmp_path / "elsewhere").exists()


def test_a_key_file_needs_its_folder(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"^key file .*a\.key: No such file or directory$"):
        create_key_file(tmp_path / "nowhere" / "a.key")


@pytest.mark.parametrize("content", [b"", b"short\n", b"\n" * 100])
def test_a_short_key_file_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.key"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"^key file .*a\.key: the key has \d+ bytes"):
        SecretKey.from_file(path)


def test_a_missing_key_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^key file .*a\.key: No such file or directory .*$"):
        SecretKey.from_file(tmp_path / "a.key")
    with pytest.raises(UsageError, match=r"^key file "):
        SecretKey.from_file(tmp_path)


@pytest.mark.parametrize("content", [SECRET, SECRET + b"\n", b"\r\n" + SECRET + b"\r\n\r\n"])
def test_any_file_with_the_secret_is_a_key_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.key"
    path.write_bytes(content)
    assert SecretKey.from_file(path) == KEY


def test_the_environment_may_hold_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert SecretKey.from_environment({}) is None
    assert SecretKey.from_environment({"SORDINO_KEY": SECRET.decode()}) == KEY
    monkeypatch.setenv("SORDINO_KEY", SECRET.decode())
    assert SecretKey.from_environment() == KEY
    monkeypatch.delenv("SORDINO_KEY")
    assert SecretKey.from_environment() is None


@pytest.mark.parametrize("value", ["", "short"])
def test_a_short_key_in_the_environment_is_an_error(value: str) -> None:
    with pytest.raises(UsageError, match=r"^environment variable SORDINO_KEY: the key has"):
        SecretKey.from_environment({"SORDINO_KEY": value})
