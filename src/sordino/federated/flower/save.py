"""Small files that are complete or as they were before."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from sordino.errors import OutputError


def save_text(path: Path, text: str) -> None:
    """Write a file, or replace it.

    Raises:
        OutputError: it cannot be written; what was there before is still there.
    """
    part = path.with_name(path.name + ".part")
    try:
        with part.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error


def append_line(path: Path, line: str) -> None:
    """Add a line to a log.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error


def write_new(path: Path, content: bytes, *, secret: bool = False) -> None:
    """Write a file that does not exist yet; one that is secret for its owner's eyes only.

    Raises:
        OutputError: the file exists or cannot be written.
    """
    mode = 0o600 if secret else 0o644
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except FileExistsError as error:
        raise OutputError(f"{path} exists already; it is left as it is") from error
    except OSError as error:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        raise OutputError(f"{path}: {error.strerror}") from error
