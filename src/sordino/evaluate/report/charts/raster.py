"""A table of values as a picture: a thousand times smaller than a rectangle for each."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

# From pale to dark through hues that all kinds of colour vision keep apart by their lightness.
_STOPS = ((255, 247, 219), (249, 190, 110), (205, 92, 92), (110, 40, 110), (20, 14, 60))


def picture(rows: Sequence[Sequence[float]]) -> str:
    """A PNG of one pixel a value, as an address that holds it.

    Args:
        rows: values from 0 (pale) to 1 (dark), rows of equal length, at least one value.

    Example:
        >>> picture([[0.0, 1.0]])[:22]
        'data:image/png;base64,'

    Source: W3C, "Portable Network Graphics (PNG) Specification", third edition.
    """
    size = struct.pack(">II", len(rows[0]), len(rows))
    pixels = b"".join(b"\0" + bytes(_index(value) for value in row) for row in rows)
    data = b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", size + bytes([8, 3, 0, 0, 0])),
            _chunk(b"PLTE", b"".join(bytes(colour(index / 255)) for index in range(256))),
            _chunk(b"IDAT", zlib.compress(pixels, 9)),
            _chunk(b"IEND", b""),
        ]
    )
    return "data:image/png;base64," + base64.b64encode(data).decode("ascii")


def colour(value: float) -> tuple[int, int, int]:
    """Red, green and blue, 0 to 255, for a value from 0 to 1.

    Example:
        >>> colour(0.0), colour(1.0)
        ((255, 247, 219), (20, 14, 60))
    """
    place = min(max(value, 0.0), 1.0) * (len(_STOPS) - 1)
    stop = min(int(place), len(_STOPS) - 2)
    part = place - stop
    red, green, blue = (
        round(start + part * (end - start))
        for start, end in zip(_STOPS[stop], _STOPS[stop + 1], strict=True)
    )
    return red, green, blue


def _index(value: float) -> int:
    # What is no number is shown as nothing alike.
    return round(255 * min(max(value, 0.0), 1.0)) if value == value else 0  # noqa: PLR0124


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
