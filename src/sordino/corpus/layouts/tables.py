"""Text files with a key and its value in each line, as Kaldi has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sordino.errors import UsageError


@dataclass(frozen=True, slots=True)
class Entry:
    """A value, and the number of the line that it stands in."""

    value: str
    line: int


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file that are not blank, stripped, with their numbers from 1.

    Raises:
        UsageError: the file cannot be read.
    """
    try:
        with path.open(encoding="utf-8-sig", errors="surrogateescape") as file:
            for number, line in enumerate(file, 1):
                if stripped := line.strip():
                    yield number, stripped
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def read_table(path: Path) -> dict[str, Entry]:
    """Read a file with a key and a value in each line; the value is all after the first space.

    Raises:
        UsageError: the file cannot be read, a line has no value or a key comes twice; the message
            names the line.
    """
    table: dict[str, Entry] = {}
    for number, line in lines(path):
        key, *rest = line.split(None, 1)
        if not rest:
            raise UsageError(f"{path}, line {number}: {key} has no value")
        if key in table:
            raise UsageError(f"{path}, line {number}: {key} stands in line {table[key].line} too")
        table[key] = Entry(rest[0], number)
    return table


def read_optional_table(path: Path) -> dict[str, Entry]:
    """Like `read_table`, and empty where there is no such file.

    Raises:
        UsageError: as `read_table`.
    """
    return read_table(path) if path.exists() else {}
