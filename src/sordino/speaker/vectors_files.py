"""Vectors in files: NPZ, HDF5, archives of Kaldi, and CSV. None of them holds pickle."""

from __future__ import annotations

import os
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, unquote

import numpy as np
import numpy.typing as npt

from sordino.errors import OutputError, UsageError
from sordino.speaker.vectors import Vectors
from sordino.speaker.vectors_csv import holds_vectors, read_csv, write_csv

_TEXTS = ("keys", "paths", "speakers")
# Kaldi's binary form of a vector of single floats: marker, type, then the size with its own size.
_KALDI_VECTOR = b"\0BFV \4"
_KALDI_SIZE = struct.Struct("<i")
_LONGEST_KEY = 2**16
# Of NumPy and h5py, for files that are damaged or hold something else.
_UNREADABLE = (
    OSError,
    EOFError,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    zipfile.BadZipFile,
)


@dataclass(frozen=True)
class VectorFormat:
    """A way to store vectors.

    Attributes:
        suffixes: endings of file names; the first is the usual one.
        companions: endings of further files that are written beside.
    """

    suffixes: tuple[str, ...]
    companions: tuple[str, ...] = ()


FORMATS = {
    "npz": VectorFormat((".npz",)),
    "hdf5": VectorFormat((".h5", ".hdf5")),
    "ark": VectorFormat((".ark",), (".utt2spk", ".scp")),
    "csv": VectorFormat((".csv",)),
}


def format_name_of(path: Path, format_name: str | None = None) -> str:
    """The format of a file by its ending, or the one that is asked for.

    Raises:
        UsageError: neither tells, or HDF5 is asked for and its library is not installed.

    Example:
        >>> format_name_of(Path("vectors.h5"))
        'hdf5'
    """
    if format_name is not None and format_name not in FORMATS:
        raise UsageError(f"there is no format {format_name!r}; there are: {', '.join(FORMATS)}")
    by_ending = [name for name, form in FORMATS.items() if path.suffix.lower() in form.suffixes]
    chosen = format_name or (by_ending[0] if by_ending else None)
    if chosen is None:
        endings = ", ".join(suffix for form in FORMATS.values() for suffix in form.suffixes)
        raise UsageError(f"{path}: its ending names no format ({endings}); or use --format")
    if chosen == "hdf5":
        _h5py()
    return chosen


def is_vectors_file(path: Path) -> bool:
    """Whether a file holds vectors, by its ending; a .csv has to have columns for them, too.

    Example:
        >>> is_vectors_file(Path("vectors.npz")), is_vectors_file(Path("speech"))
        (True, False)
    """
    ending = path.suffix.lower()
    if ending in FORMATS["csv"].suffixes:
        return holds_vectors(path)
    return any(ending in form.suffixes for form in FORMATS.values())


def files_of(path: Path, format_name: str) -> tuple[Path, ...]:
    """All files that are written for an output: itself, and with "ark" its companions."""
    companions = FORMATS[format_name].companions
    return (path, *(_companion(path, suffix) for suffix in companions))


def write_vectors(vectors: Vectors, path: Path, format_name: str, work: Path) -> None:
    """Write vectors; each file is complete and on disk before it gets its name.

    Args:
        vectors: what to write.
        path: the file; if it exists it is replaced.
        format_name: "npz", "hdf5", "ark" or "csv".
        work: a folder on the same disk, for what is not finished.

    Raises:
        OutputError: writing failed.
        UsageError: the format's library is not installed.
    """
    parts = [work / f"vectors-{number}" for number in range(len(files_of(path, format_name)))]
    try:
        _WRITERS[format_name](vectors, parts, path)
        for part in parts:
            _flush(part)
        # The .scp comes last: what it points to is there.
        for part, target in zip(parts, files_of(path, format_name), strict=True):
            part.replace(target)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error


def read_vectors(path: Path) -> Vectors:
    """Read what `write_vectors` wrote; of an .ark the speakers come from the .utt2spk beside it.

    Args:
        path: the file, with the usual ending of its format. From other people's .ark files it
            takes binary vectors of single floats.

    Raises:
        UsageError: the file cannot be read or holds something else.
    """
    name = format_name_of(path)
    try:
        return _READERS[name](path)
    except FileNotFoundError as error:
        raise UsageError(f"{path}: there is no such file") from error
    except _UNREADABLE as error:
        raise UsageError(f"{path}: does not hold vectors that can be read ({error})") from error
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def _write_npz(vectors: Vectors, parts: list[Path], path: Path) -> None:
    arrays: dict[str, Any] = {
        name: np.array(getattr(vectors, name), dtype=np.str_) for name in _TEXTS
    }
    arrays["vectors"] = vectors.vectors
    arrays["encoder"], arrays["digest"] = np.array(vectors.encoder), np.array(vectors.digest)
    with parts[0].open("wb") as file:
        np.savez(file, **arrays)


def _read_npz(path: Path) -> Vectors:
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise UsageError("is not an NPZ of plain arrays")
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        keys, paths, speakers = (tuple(archive[name].tolist()) for name in _TEXTS)
        encoder, digest = str(archive["encoder"]), str(archive["digest"])
        return Vectors(keys, paths, speakers, _plain(archive["vectors"]), encoder, digest)


def _write_hdf5(vectors: Vectors, parts: list[Path], path: Path) -> None:
    h5py = _h5py()
    text = h5py.string_dtype("utf-8")
    with h5py.File(parts[0], "w") as file:
        file.create_dataset("vectors", data=vectors.vectors)
        for name in _TEXTS:
            values = np.array(getattr(vectors, name), dtype=object)
            file.create_dataset(name, data=values, dtype=text)
        file.attrs["encoder"], file.attrs["digest"] = vectors.encoder, vectors.digest


def _read_hdf5(path: Path) -> Vectors:
    with _h5py().File(path, "r") as file:
        keys, paths, speakers = (tuple(file[name].asstr()[...].tolist()) for name in _TEXTS)
        encoder, digest = str(file.attrs["encoder"]), str(file.attrs["digest"])
        return Vectors(keys, paths, speakers, _plain(file["vectors"][...]), encoder, digest)


def _write_ark(vectors: Vectors, parts: list[Path], path: Path) -> None:
    place = os.path.abspath(path)
    keys = [_token(key) for key in vectors.keys]
    size = _KALDI_SIZE.pack(vectors.vectors.shape[1])
    with (
        parts[0].open("wb") as ark,
        parts[1].open("w", encoding="utf-8", newline="\n") as utt2spk,
        parts[2].open("w", encoding="utf-8", errors="surrogateescape", newline="\n") as scp,
    ):
        for row in sorted(range(len(keys)), key=lambda row: keys[row].encode()):  # as Kaldi sorts
            ark.write(keys[row].encode() + b" ")
            scp.write(f"{keys[row]} {place}:{ark.tell()}\n")
            ark.write(_KALDI_VECTOR + size + vectors.vectors[row].astype("<f4").tobytes())
            utt2spk.write(f"{keys[row]} {_token(vectors.speakers[row] or '-')}\n")


def _read_ark(path: Path) -> Vectors:
    with path.open("rb") as file:
        entries = list(_ark_entries(file))
    if not entries:
        raise UsageError("is empty")
    speakers: dict[str, str] = {}
    listed = _companion(path, ".utt2spk")
    if listed.is_file():
        lines = listed.read_text(encoding="utf-8").splitlines()
        speakers = dict(line.split(" ", 1) for line in lines)
    keys = [key for key, _ in entries]
    return Vectors(
        tuple(unquote(key) for key in keys),
        ("",) * len(keys),
        tuple(unquote(speakers.get(key, "")) for key in keys),
        _plain(np.stack([vector for _, vector in entries])),
    )


def _ark_entries(file: BinaryIO) -> Iterator[tuple[str, npt.NDArray[np.float32]]]:
    while key := _key(file):
        if file.read(len(_KALDI_VECTOR)) != _KALDI_VECTOR:
            raise UsageError(f"{key}: is not a binary vector of single floats")
        (size,) = _KALDI_SIZE.unpack(_exactly(file, _KALDI_SIZE.size))
        yield key, np.frombuffer(_exactly(file, 4 * size), dtype="<f4")


def _key(file: BinaryIO) -> str:
    key = bytearray()
    while (byte := file.read(1)) not in (b" ", b""):
        key += byte
        if len(key) > _LONGEST_KEY:
            raise UsageError("is not an archive of Kaldi's")
    if key and not byte:
        raise UsageError("is cut short")
    return key.decode("utf-8")


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size) if size >= 0 else b""
    if size < 0 or len(data) != size:
        raise UsageError("is cut short")
    return data


def _write_csv(vectors: Vectors, parts: list[Path], path: Path) -> None:
    with parts[0].open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        write_csv(vectors, file)


def _read_csv(path: Path) -> Vectors:
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        vectors = read_csv(file)
    _plain(vectors.vectors)
    return vectors


def _token(text: str) -> str:
    # White space ends a token in Kaldi's lists.
    return re.sub(r"[\s%]", lambda match: quote(match[0], safe=""), text)


def _plain(vectors: npt.NDArray[np.generic]) -> npt.NDArray[np.float32]:
    if vectors.dtype.kind != "f" or not np.isfinite(vectors).all():
        raise UsageError("its vectors are not finite numbers")
    return vectors.astype(np.float32)


def _companion(path: Path, suffix: str) -> Path:
    stem = path.stem if path.suffix.lower() in FORMATS["ark"].suffixes else path.name
    return path.with_name(stem + suffix)


def _flush(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _h5py() -> Any:
    try:
        return import_module("h5py")
    except ImportError as error:
        raise UsageError(
            "HDF5 needs another library; install sordino with the extra formats:"
            ' pip install "sordino[formats]"'
        ) from error


_WRITERS: dict[str, Callable[[Vectors, list[Path], Path], None]] = {
    "npz": _write_npz,
    "hdf5": _write_hdf5,
    "ark": _write_ark,
    "csv": _write_csv,
}
_READERS: dict[str, Callable[[Path], Vectors]] = {
    "npz": _read_npz,
    "hdf5": _read_hdf5,
    "ark": _read_ark,
    "csv": _read_csv,
}
