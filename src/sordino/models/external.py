"""Whether an ONNX graph reads further files, told without the package onnx.

A graph may keep weights in files beside it, which `model.json` need not name. They would change
what a model computes behind its digest.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

Buffer = bytes | mmap.mmap

# Where tensors are in a graph: numbers of the fields of each message that lead to them, with the
# messages that these fields hold (onnx.proto of ONNX 1.17).
_WAYS: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
_EXTERNAL_DATA, _DATA_LOCATION = 13, 14
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_LONGEST_VARINT = 10


def reads_further_files(path: Path) -> bool:
    """Whether the graph in a file keeps weights in other files.

    Raises:
        ValueError: it is no graph.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return points_elsewhere(data)


def points_elsewhere(data: Buffer) -> bool:
    """Whether the graph in these bytes keeps weights in other files.

    Raises:
        ValueError: it is no graph.

    Example:
        >>> points_elsewhere(b"")
        False

    Source: the encoding of protocol buffers, https://protobuf.dev/programming-guides/encoding/.
    """
    waiting = [("model", 0, len(data))]
    while waiting:
        message, start, end = waiting.pop()
        for field, first, last in _fields(data, start, end):
            if message == "tensor" and field in (_EXTERNAL_DATA, _DATA_LOCATION):
                if field == _EXTERNAL_DATA or _varint(data, first, last)[0]:
                    return True
            elif field in _WAYS[message]:
                waiting.append((_WAYS[message][field], first, last))
    return False


def _fields(data: Buffer, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Number of each field, and where its value begins and ends."""
    place = start
    while place < end:
        tag, place = _varint(data, place, end)
        kind = tag & 7
        if kind == _VARINT:
            last = _varint(data, place, end)[1]
        elif kind == _BYTES:
            size, place = _varint(data, place, end)
            last = place + size
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            last = place + (8 if kind == _EIGHT_BYTES else 4)
        else:
            raise ValueError(f"no field has the wire type {kind}")
        if last > end:
            raise ValueError("a field is cut short")
        yield tag >> 3, place, last
        place = last


def _varint(data: Buffer, start: int, end: int) -> tuple[int, int]:
    value = 0
    for place in range(start, min(end, start + _LONGEST_VARINT)):
        byte = data[place]
        value |= (byte & 127) << 7 * (place - start)
        if byte < 128:
            return value, place + 1
    raise ValueError("a number is cut short")
