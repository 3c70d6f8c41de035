"""The list that leads from pseudonyms of files back to their names."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from sordino.anonymize.record import write_whole
from sordino.errors import UsageError

_COLUMNS = ["output", "original"]


def write_mapping(path: Path, names: Mapping[str, str]) -> None:
    """Write or extend the list of renamed files, readable by its owner only.

    What an existing list holds is kept.

    Args:
        path: the CSV file.
        names: original name of each output.

    Raises:
        UsageError: the file exists and is not such a list.
        OutputError: it cannot be written.
    """
    rows = {**read_mapping(path), **names} if path.exists() else dict(names)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)
    writer.writerows([output, rows[output]] for output in sorted(rows, key=rows.__getitem__))
    write_whole(path, text.getvalue(), mode=0o600)


def read_mapping(path: Path) -> dict[str, str]:
    """Original name of each output, from a list that `write_mapping` wrote.

    Raises:
        UsageError: the file cannot be read or is not such a list.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except OSError as error:
        raise UsageError(f"name list {path}: {error.strerror}") from error
    except csv.Error as error:
        raise UsageError(f"name list {path}: is not a CSV table ({error})") from error
    if not rows or rows[0] != _COLUMNS or any(len(row) != len(_COLUMNS) for row in rows):
        raise UsageError(
            f"name list {path}: exists and is something else; choose another --mapping"
        )
    return {row[0]: row[1] for row in rows[1:]}
