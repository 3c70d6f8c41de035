import base64
import struct
import zlib

import pytest

from sordino.evaluate.report.charts.raster import colour, picture


def decoded(address):
    """Width, height, palette and pixels of a palette PNG, chunk by chunk."""
    data = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, place = {}, 8
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        kind, content = data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
        (checksum,) = struct.unpack(">I", data[place + 8 + length : place + 12 + length])
        assert checksum == zlib.crc32(kind + content)
        chunks[kind] = content
        place += 12 + length
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    raw = zlib.decompress(chunks[b"IDAT"])
    rows = [raw[row * (width + 1) : (row + 1) * (width + 1)] for row in range(height)]
    assert all(row[0] == 0 for row in rows)
    return width, height, chunks[b"PLTE"], [list(row[1:]) for row in rows]


def test_a_picture_holds_the_values():
    width, height, palette, rows = decoded(picture([[0.0, 0.5, 1.0], [2.0, -1.0, float("nan")]]))
    assert (width, height, len(palette)) == (3, 2, 768)
    assert rows == [[0, 128, 255], [255, 0, 0]]
    assert tuple(palette[-3:]) == colour(1.0)


def test_darker_means_more_alike_for_all_eyes():
    def lightness(value):
        red, green, blue = colour(value)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    values = [lightness(place / 50) for place in range(51)]
    assert values == sorted(values, reverse=True)
    assert values[0] - values[-1] > 200


@pytest.mark.parametrize("size", [1, 200])
def test_pictures_are_small(size):
    rows = [[float(row == column) for column in range(size)] for row in range(size)]
    assert len(picture(rows)) < 3000
