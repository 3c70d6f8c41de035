from __future__ import annotations

import io
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sordino.audio.ogg import clear_serial, is_chained, page_checksum

SUBTYPES = ("VORBIS", "OPUS")


def bitwise_checksum(data: bytes) -> int:
    """RFC 3533 as it is written: polynomial 0x04C11DB7, start 0, nothing mirrored or inverted."""
    register = 0
    for byte in data:
        register ^= byte << 24
        for _ in range(8):
            register = (register << 1) ^ (0x04C11DB7 if register & 0x80000000 else 0)
            register &= 0xFFFFFFFF
    return register


def pages(data: bytes) -> list[bytes]:
    """The pages of an Ogg file, cut by their own lengths."""
    found = []
    while data:
        segments = data[26]
        size = 27 + segments + sum(data[27 : 27 + segments])
        found.append(data[:size])
        data = data[size:]
    return found


@pytest.fixture(scope="module", params=SUBTYPES)
def written(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, speech_like: Callable
) -> Path:
    path = tmp_path_factory.mktemp("ogg") / "a.ogg"
    samples = speech_like(16000, 3.0, 2).T
    soundfile.write(path, samples, 16000, format="OGG", subtype=request.param)
    return path


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=300))
@example(b"")
@example(b"\xff" * 255)
def test_checksum_equals_the_bitwise_definition(data: bytes) -> None:
    assert page_checksum(data) == bitwise_checksum(data)


def test_checksum_equals_what_libsndfile_stored(written: Path) -> None:
    found = pages(written.read_bytes())
    assert len(found) > 3
    for page in found:
        (stored,) = struct.unpack_from("<I", page, 22)
        assert stored != 0
        assert page_checksum(page[:22] + bytes(4) + page[26:]) == stored


def test_cleared_file_differs_in_serial_and_checksum_alone(written: Path, tmp_path: Path) -> None:
    path = tmp_path / "b.ogg"
    path.write_bytes(written.read_bytes())
    with path.open("r+b") as file:
        clear_serial(file)
    before, after = pages(written.read_bytes()), pages(path.read_bytes())
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        assert old[14:18] != bytes(4)
        assert new[14:18] == bytes(4)
        assert struct.unpack_from("<I", new, 22)[0] == bitwise_checksum(
            new[:22] + bytes(4) + new[26:]
        )
        assert old[:14] + old[18:22] + old[26:] == new[:14] + new[18:22] + new[26:]


def test_cleared_file_decodes_to_the_same_samples(written: Path, tmp_path: Path) -> None:
    path = tmp_path / "b.ogg"
    path.write_bytes(written.read_bytes())
    with path.open("r+b") as file:
        clear_serial(file)
    old, new = soundfile.read(written)[0], soundfile.read(path)[0]
    assert old.shape == (48000, 2)
    np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"RIFF" + data,
        lambda data: data + b"OggS\0",
        lambda data: data + b"x" * 100,
        lambda data: data[1:],
    ],
    ids=["wav", "short", "trailing", "shifted"],
)
def test_what_is_not_ogg_is_refused(written: Path, spoil: Callable[[bytes], bytes]) -> None:
    with pytest.raises(ValueError, match="no Ogg page at byte"):
        clear_serial(io.BytesIO(spoil(written.read_bytes())))


def test_only_joined_files_are_chained(written: Path) -> None:
    data = written.read_bytes()
    assert not is_chained(io.BytesIO(data))
    assert is_chained(io.BytesIO(data + data))
    assert not is_chained(io.BytesIO(data[: len(data) // 2]))
    assert not is_chained(io.BytesIO(b"RIFF" + data + data))
    assert not is_chained(io.BytesIO())


def test_streams_side_by_side_are_not_chained(written: Path) -> None:
    first, *rest = pages(written.read_bytes())
    other, *others = ((page[:14] + b"abcd" + page[18:]) for page in (first, *rest))
    mixed = [page for pair in zip(rest, others, strict=True) for page in pair]
    assert not is_chained(io.BytesIO(b"".join((first, other, *mixed))))
    assert is_chained(io.BytesIO(b"".join((first, *mixed, other))))
