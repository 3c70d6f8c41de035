"""Vectors as a table of text: a row for each, a column for each of its numbers."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TextIO

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.speaker.vectors import Vectors

_TEXTS = ("key", "path", "speaker", "encoder", "digest")


def holds_vectors(path: Path) -> bool:
    """Whether a table has numbered columns; a list of recordings has none.

    Args:
        path: a file in CSV. One that cannot be read holds no vectors.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return "0" in next(csv.reader(file), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        return False


def write_csv(vectors: Vectors, file: TextIO) -> None:
    """Write vectors; their numbers can be read back exactly.

    Args:
        vectors: what to write.
        file: opened with `newline=""`.
    """
    writer = csv.writer(file)
    writer.writerow([*_TEXTS, *range(vectors.vectors.shape[1])])
    texts = zip(vectors.keys, vectors.paths, vectors.speakers, strict=True)
    for row, text in zip(vectors.vectors, texts, strict=True):
        writer.writerow([*text, vectors.encoder, vectors.digest, *row.astype(str)])


def read_csv(file: TextIO) -> Vectors:
    """Read what `write_csv` wrote, or the table of another program.

    Args:
        file: with columns 0, 1, 2 and so on, of which each row is a vector; and where there are
            such, key, path, speaker, encoder and digest. Rows without a key have their number.

    Raises:
        UsageError: a column is missing, or a row is too short, not of numbers, or of another
            encoder.

    Example:
        >>> import io
        >>> found = read_csv(io.StringIO("speaker,0,1\\nann,0.5,-1\\n"))
        >>> found.keys, found.speakers, found.vectors.tolist()
        (('1',), ('ann',), [[0.5, -1.0]])
    """
    rows = csv.DictReader(file, strict=True)
    columns = rows.fieldnames or []
    numbered = sorted(int(name) for name in columns if name.isdecimal())
    if not numbered or numbered != list(range(len(numbered))):
        raise UsageError("has no columns named 0, 1, 2 and so on, one for each number of a vector")
    names = [str(number) for number in numbered]
    texts: dict[str, list[str]] = {name: [] for name in _TEXTS}
    vectors: list[npt.NDArray[np.float32]] = []
    try:
        for number, row in enumerate(rows, start=1):
            vectors.append(_numbers(row, names, number))
            for name in _TEXTS:
                texts[name].append(row.get(name) or (str(number) if name == "key" else ""))
    except csv.Error as error:
        raise UsageError(f"row {len(vectors) + 1}: {error}") from error
    kinds = set(zip(texts["encoder"], texts["digest"], strict=True))
    if len(kinds) > 1:
        raise UsageError("its vectors are of several encoders, which cannot be compared")
    encoder, digest = kinds.pop() if kinds else ("", "")
    return Vectors(
        tuple(texts["key"]),
        tuple(texts["path"]),
        tuple(texts["speaker"]),
        np.array(vectors, dtype=np.float32).reshape(-1, len(names)),
        encoder,
        digest,
    )


def _numbers(row: dict[str, str | None], names: list[str], number: int) -> npt.NDArray[np.float32]:
    try:
        return np.array([float(row[name] or "") for name in names], dtype=np.float32)
    except ValueError as error:
        raise UsageError(f"row {number}: not all of its numbers can be read ({error})") from error
