"""Pieces of work that are finished, so that a run that was cut short goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Protocol, TypeVar

from sordino.errors import OutputError
from sordino.workers import Advance, map_jobs

_DIED = "the worker process died (out of memory or a broken decoder)"


class Piece(Protocol):
    """A piece of work; its key tells everything that its outcome depends on."""

    @property
    def key(self) -> str:
        """Unique in one file of finished work."""


P = TypeVar("P", bound=Piece)
Outcome = dict[str, object]
"""What came of a piece, in JSON; "error" holds the reason where nothing came of it."""


class Finished:
    """A file with a line for each finished piece.

    Args:
        path: the file; made when the first piece is added. A last line that was cut short does
            not count.

    Raises:
        OutputError: the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None
        self._known = _lines(path)

    def get(self, key: str) -> Outcome | None:
        """What came of a piece, or None."""
        return self._known.get(key)

    def forget(self, key: str) -> None:
        """Have a piece done again."""
        self._known.pop(key, None)

    def add(self, key: str, outcome: Outcome) -> None:
        """Note a piece.

        Raises:
            OutputError: the file cannot be written.
        """
        try:
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                cut = self._path.exists() and not self._path.read_bytes().endswith(b"\n")
                self._file = self._path.open("a", encoding="utf-8")
                self._file.write("\n" * cut)
            self._file.write(json.dumps([key, outcome]) + "\n")
            self._file.flush()
        except OSError as error:
            raise OutputError(f"{self._path}: cannot be written: {error.strerror}") from error
        self._known[key] = outcome

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def work_off(
    pieces: Sequence[P],
    function: Callable[[P, Advance], Outcome],
    finished: Finished,
    *,
    workers: int,
    scratch: Path,
    tell: Callable[[], None] = lambda: None,
) -> list[Outcome]:
    """Do what is not finished yet.

    Args:
        pieces: what to do.
        function: does one, in any process; what it raises ends the run.
        finished: what an earlier run has done; takes what this one does. Outcomes with an "error"
            are not kept, so that a later run tries them again.
        workers: processes.
        scratch: folder for what workers tell.
        tell: called after each piece.

    Returns:
        The outcomes, in the order of the pieces.
    """
    found: dict[str, Outcome] = {}
    waiting: dict[str, P] = {}
    # A key may ask the disk.
    keys = {id(piece): piece.key for piece in pieces}
    for piece in pieces:
        key = keys[id(piece)]
        known = finished.get(key)
        if known is None:
            waiting[key] = piece
        else:
            found[key] = known
            tell()
    try:
        scratch.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{scratch}: cannot be made: {error.strerror}") from error
    results = map_jobs(function, list(waiting.values()), workers, lambda amount: None, scratch)
    try:
        for piece, result in results:
            outcome: Outcome = {"error": _DIED} if result is None else result
            key = keys[id(piece)]
            found[key] = outcome
            if "error" not in outcome:
                finished.add(key, outcome)
            tell()
    finally:
        results.close()
        finished.close()
    return [found[keys[id(piece)]] for piece in pieces]


def _lines(path: Path) -> dict[str, Outcome]:
    known: dict[str, Outcome] = {}
    try:
        with path.open(encoding="utf-8") as file:
            for line in file:
                try:
                    key, outcome = json.loads(line)
                except ValueError:
                    continue
                known[key] = outcome
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise OutputError(f"{path}: cannot be read: {error}") from error
    return known
