"""Make Ogg files reproducible."""

from __future__ import annotations

import struct
import zlib
from typing import BinaryIO

_HEADER = struct.Struct("<4sBBqIIIB")
_FIRST_PAGE = 2
_REVERSED = bytes(int(f"{value:08b}"[::-1], 2) for value in range(256))


def clear_serial(file: BinaryIO) -> None:
    """Replace the random serial number of an Ogg stream by zero, page by page, in place.

    Encoders draw it from the clock, so that equal sound gives unequal files.

    Args:
        file: open for reading and writing; one logical stream, as libsndfile writes it.

    Raises:
        ValueError: this is not a sequence of Ogg pages.
    """
    position = 0
    while True:
        file.seek(position)
        head = file.read(_HEADER.size)
        if not head:
            return
        if len(head) < _HEADER.size or head[:4] != b"OggS":
            raise ValueError(f"no Ogg page at byte {position}")
        *front, _, sequence, _, segments = _HEADER.unpack(head)
        lacing = file.read(segments)
        body = file.read(sum(lacing))
        blank = _HEADER.pack(*front, 0, sequence, 0, segments)
        page = _HEADER.pack(*front, 0, sequence, page_checksum(blank + lacing + body), segments)
        file.seek(position)
        file.write(page)
        position += len(head) + len(lacing) + len(body)


def is_chained(file: BinaryIO) -> bool:
    """Whether a stream starts after another one has begun to carry sound.

    Args:
        file: open for reading.

    Returns:
        True for Ogg files that were joined end to end; False for files that are not Ogg.
    """
    position, sound = 0, False
    while True:
        file.seek(position)
        head = file.read(_HEADER.size)
        if len(head) < _HEADER.size or head[:4] != b"OggS":
            return False
        first = bool(head[5] & _FIRST_PAGE)
        if first and sound:
            return True
        sound = not first
        segments = head[-1]
        position += _HEADER.size + segments + sum(file.read(segments))


def page_checksum(page: bytes) -> int:
    """CRC of an Ogg page whose checksum field is zero (RFC 3533: 0x04C11DB7, no inversion).

    Example:
        >>> hex(page_checksum(b"123456789"))
        '0x89a1897f'
    """
    # zlib's CRC has the same polynomial with all bits mirrored and both ends inverted.
    mirrored = zlib.crc32(page.translate(_REVERSED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{mirrored:032b}"[::-1], 2)
