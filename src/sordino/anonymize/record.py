"""The run record: what was done, without what must stay secret.

While a run goes on, finished files are noted line by line in a journal in the work folder; at its
end the journal becomes the record. After a run that was cut short the journal is what `--resume`
goes by.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from sordino.errors import OutputError, UsageError

SCHEMA = 1
_JOURNAL_NAME = "journal.jsonl"


@dataclass(frozen=True)
class Entry:
    """One file of a run.

    Attributes:
        name: path of the output below the output folder.
        status: "done" or "failed".
        reason: why it failed, in one line without the source's name.
        input: keyed digest of the source file and of who speaks in it.
        output: SHA-256 of the output file.
        sample_rate: of the output, in Hz.
        channels: of the output.
        samples: of the output, per channel.
        loudness_change: output minus input loudness, in LU; None where either is silent.
    """

    name: str
    status: str
    reason: str | None = None
    input: str | None = None
    output: str | None = None
    sample_rate: int | None = None
    channels: int | None = None
    samples: int | None = None
    loudness_change: float | None = None

    @property
    def seconds(self) -> float:
        """Length of the output; 0 for a file that failed."""
        return (self.samples or 0) / (self.sample_rate or 1)


class Journal:
    """Finished files of a run that is going on.

    Args:
        work: the run's work folder, which exists.
        settings: fingerprint of the run's settings and key.
        entries: what an earlier part of the run has finished.

    Raises:
        OutputError: the journal cannot be written.
    """

    def __init__(self, work: Path, settings: str, entries: Iterable[Entry]) -> None:
        self._path = work / _JOURNAL_NAME
        fresh = work / f"{_JOURNAL_NAME}.new"
        try:
            with fresh.open("w", encoding="utf-8") as file:
                _append(file, {"settings": settings}, *map(asdict, entries))
            fresh.replace(self._path)
            self._file: IO[str] = self._path.open("a", encoding="utf-8")
        except OSError as error:
            raise OutputError(f"{self._path}: {error.strerror}") from error

    def add(self, entry: Entry) -> None:
        """Note a file, so that it is on disk when this returns.

        Raises:
            OutputError: the journal cannot be written.
        """
        try:
            _append(self._file, asdict(entry))
        except OSError as error:
            raise OutputError(f"{self._path}: {error.strerror}") from error

    def close(self) -> None:
        """Close the file; it stays."""
        with suppress(OSError):
            self._file.close()

    def remove(self) -> None:
        """Close the file and remove it: the record holds all that it held."""
        self.close()
        self._path.unlink(missing_ok=True)


def read_progress(record: Path, work: Path, settings: str) -> dict[str, Entry]:
    """Files that an earlier run finished, by name, from its record and its journal.

    Args:
        record: path of the run record.
        work: the work folder.
        settings: fingerprint that the earlier run must have.

    Raises:
        UsageError: there was an earlier run with other settings or another key, or what it left
            cannot be read.
    """
    found: list[Mapping[str, object]] = []
    if record.exists():
        content = _load(_read(record), record)
        _refuse_other(content, settings, record)
        files = content.get("files")
        found += files if isinstance(files, list) else []
    journal = work / _JOURNAL_NAME
    if journal.exists():
        # What follows the last line end was being written when the run was cut short.
        lines = _read(journal).split("\n")[:-1]
        if lines:
            head, *entries = [_load(line, journal) for line in lines]
            _refuse_other(head, settings, journal)
            found += entries
    try:
        entries_ = [Entry(**fields) for fields in found]  # type: ignore[arg-type]
    except TypeError as error:
        raise UsageError(f"{record}: is not a record of this version; use --overwrite") from error
    return {entry.name: entry for entry in entries_ if entry.status == "done"}


def recorded_names(record: Path, work: Path) -> set[str]:
    """Names of the files that a record or a journal says are done, as far as they can be read."""
    files: list[object] = []
    with suppress(UsageError, ValueError, KeyError, TypeError):
        files += json.loads(_read(record))["files"]
    with suppress(UsageError):
        for line in _read(work / _JOURNAL_NAME).split("\n"):
            with suppress(ValueError):
                files.append(json.loads(line))
    return {
        str(file["name"])
        for file in files
        if isinstance(file, dict) and file.get("status") == "done" and "name" in file
    }


def has_journal(work: Path) -> bool:
    """Whether an earlier run was cut short."""
    return (work / _JOURNAL_NAME).exists()


def write_record(path: Path, header: Mapping[str, object], entries: Sequence[Entry]) -> None:
    """Write the record of a finished run, whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    compact = [
        {name: value for name, value in asdict(entry).items() if value is not None}
        for entry in entries
    ]
    text = json.dumps({"schema": SCHEMA, **header, "files": compact}, indent=1)
    write_whole(path, text + "\n")


def write_whole(path: Path, text: str, *, mode: int = 0o666) -> None:
    """Write a text file, whole or not at all.

    Args:
        path: the file; replaced if it exists.
        text: its content.
        mode: permissions of a new file, before the user's mask.

    Raises:
        OutputError: it cannot be written.
    """
    fresh = path.with_name(f".{path.name}.new")
    try:
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(
            descriptor, "w", encoding="utf-8", errors="surrogateescape", newline=""
        ) as f:
            f.write(text)
            f.flush()
            os.fsync(f.fileno())
        fresh.replace(path)
    except BaseException as error:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OutputError(f"{path}: {error.strerror}") from error
        raise


def _append(file: IO[str], *lines: Mapping[str, object]) -> None:
    file.writelines(json.dumps(line) + "\n" for line in lines)
    file.flush()
    os.fsync(file.fileno())


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read; use --overwrite to start over") from error


def _load(text: str, path: Path) -> Mapping[str, object]:
    try:
        content = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{path}: is damaged; use --overwrite to start over") from error
    if not isinstance(content, dict):
        raise UsageError(f"{path}: is damaged; use --overwrite to start over")
    return content


def _refuse_other(content: Mapping[str, object], settings: str, path: Path) -> None:
    if content.get("settings") != settings:
        system = content.get("system")
        made_by = f", by {system}," if isinstance(system, str) else ""
        raise UsageError(
            f"{path}: the earlier run{made_by} had other settings or another key; resume with the"
            " same ones, use --overwrite, or choose another output"
        )
