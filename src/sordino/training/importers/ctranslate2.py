"""The file in which CTranslate2 keeps the weights of a model."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError

FloatArray = npt.NDArray[np.float32]

_VERSIONS = range(4, 7)
_TYPES: Mapping[int, type[np.generic]] = {
    0: np.float32,
    1: np.int8,
    2: np.int16,
    3: np.int32,
    4: np.float16,
}
_SCALE = "_scale"


def read_variables(path: Path, beginning: str = "") -> dict[str, FloatArray]:
    """Weights by their names, in floating point whatever they are kept in.

    A file is a version, the name of a specification and its revision, then the number of variables,
    and of each: name, number of dimensions, these, type, bytes and values, all little-endian. Then
    come further names of some of them. Weights in 8 bits have a factor for each row beside them, by
    which they were multiplied.

    Args:
        path: the file, `model.bin`.
        beginning: only variables whose name begins so.

    Returns:
        Arrays of the variables' shapes.

    Raises:
        UsageError: it cannot be read, or is no such file.

    Example:
        >>> read_variables(Path("whisper/model.bin"), "encoder/")  # doctest: +SKIP
    """
    try:
        found = _variables(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except (struct.error, ValueError, KeyError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: is no model of CTranslate2 that can be read") from error
    return {
        name: _plain(values, found.get(name + _SCALE))
        for name, values in found.items()
        if name.startswith(beginning) and not name.endswith(_SCALE)
    }


def _variables(data: bytes) -> dict[str, npt.NDArray[np.generic]]:
    place = 0

    def number(kind: str) -> int:
        nonlocal place
        (value,) = struct.unpack_from("<" + kind, data, place)
        place += struct.calcsize("<" + kind)
        return int(value)

    def text() -> str:
        nonlocal place
        size = number("H")
        raw = data[place : place + size]
        place += size
        return raw.rstrip(b"\0").decode()

    if number("I") not in _VERSIONS:
        raise ValueError("an unknown version")
    text()
    number("I")
    variables: dict[str, npt.NDArray[np.generic]] = {}
    for _ in range(number("I")):
        name = text()
        shape = [number("I") for _ in range(number("B"))]
        kind, size = _TYPES[number("B")], number("I")
        count = size // np.dtype(kind).itemsize
        values = np.frombuffer(data, np.dtype(kind).newbyteorder("<"), count, place)
        variables[name] = values.reshape(shape)
        place += size
    for _ in range(number("I")):
        alias = text()
        variables[alias] = variables[text()]
    return variables


def _plain(values: npt.NDArray[np.generic], scale: npt.NDArray[np.generic] | None) -> FloatArray:
    plain = values.astype(np.float32)
    if scale is None:
        return plain
    factor = scale.astype(np.float32).reshape(-1, *[1] * (plain.ndim - 1))
    return np.asarray(plain / factor)
