"""A CSV file with a line for each utterance."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sordino.corpus.corpus import Corpus
from sordino.corpus.layouts.assemble import assemble
from sordino.corpus.utterance import Utterance, sex_of
from sordino.errors import UsageError

NAME = "manifest"
LOOKS_LIKE = "a .csv file with the columns path and speaker, or a folder with a manifest.csv"
FILE_NAME = "manifest.csv"

# The columns that are read, with other names under which they are met.
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "path": ("path",),
    "speaker": ("speaker",),
    "id": ("id", "utterance"),
    "sex": ("sex", "gender"),
    "language": ("language",),
    "text": ("text",),
    "corpus": ("corpus",),
    "split": ("split",),
    "duration": ("duration", "duration_s"),
    "start": ("start",),
    "end": ("end",),
}


def recognises(path: Path) -> bool:
    """Whether a path is a CSV file or a folder with a `manifest.csv`."""
    if path.is_dir():
        return (path / FILE_NAME).is_file()
    return path.suffix.lower() == ".csv"


def read(path: Path) -> Corpus:
    """Read a manifest.

    Columns: `path` and `speaker`; optional `id` (default: the path as it is written), `sex`,
    `language`, `text`, `corpus`, `split`, `duration`, `start` and `end` (in seconds). An empty
    field is unknown. Other columns are left alone.

    Args:
        path: the file, with a header line, or the folder with a `manifest.csv`. Its paths are
            relative to the folder that the file is in.

    Raises:
        UsageError: it cannot be read, a line is not right, or recordings are missing; the message
            names the line.
    """
    file = path / FILE_NAME if path.is_dir() else path
    return assemble(file, _utterances(file))


def _utterances(table: Path) -> Iterator[tuple[Utterance, str]]:
    for line, row in _rows(table):
        try:
            yield _utterance(table.parent, row), f"line {line}"
        except UsageError as error:
            raise UsageError(f"{table}, line {line}: {error}") from error


def _rows(table: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    try:
        with table.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            reader = csv.reader(file, strict=True)
            places = _places(table, next(reader, []))
            width = max(places.values()) + 1
            for fields in reader:
                if not fields:
                    continue
                if len(fields) < width:
                    raise UsageError(
                        f"{table}, line {reader.line_num}: has {len(fields)} fields; the columns"
                        f" that are read go up to {width}"
                    )
                yield reader.line_num, {name: fields[at].strip() for name, at in places.items()}
    except OSError as error:
        raise UsageError(f"{table}: {error.strerror}") from error
    except csv.Error as error:
        raise UsageError(
            f"{table}, line {reader.line_num}: is not a CSV table ({error})"
        ) from error


def _places(table: Path, header: Sequence[str]) -> Mapping[str, int]:
    places = {}
    for name, spellings in _COLUMNS.items():
        found = [at for at, column in enumerate(header) if column in spellings]
        if len(found) > 1:
            raise UsageError(f"{table}: has two columns for the {name}")
        if found:
            places[name] = found[0]
        elif name in {"path", "speaker"}:
            raise UsageError(f"{table}: has no column {name!r}; it needs path and speaker")
    return places


def _utterance(folder: Path, row: Mapping[str, str]) -> Utterance:
    if not row["path"] or not row["speaker"]:
        raise UsageError("path or speaker is empty")
    return Utterance(
        row.get("id") or Path(row["path"]).as_posix(),
        folder / row["path"],
        row["speaker"],
        sex=sex_of(row.get("sex", "")),
        language=row.get("language") or None,
        text=row.get("text") or None,
        corpus=row.get("corpus") or None,
        split=row.get("split") or None,
        duration=_seconds(row, "duration"),
        start=_seconds(row, "start"),
        end=_seconds(row, "end"),
    )


def _seconds(row: Mapping[str, str], name: str) -> float | None:
    value = row.get(name)
    if not value:
        return None
    try:
        return float(value)
    except ValueError:
        raise UsageError(f"the {name} {value!r} is not a number of seconds") from None
