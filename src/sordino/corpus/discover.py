"""Find the recordings below a folder."""

from __future__ import annotations

import errno
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from sordino.audio.formats import is_audio_name
from sordino.errors import UsageError


@dataclass(frozen=True)
class Found:
    """What lies below a folder.

    Attributes:
        recordings: paths of audio and video files by their endings, sorted; each starts with the
            folder as it was given.
        ignored: how many other files there are, by ending ("" for none).
        loops: folders not entered because they lead back to one that holds them.
    """

    recordings: tuple[Path, ...]
    ignored: Counter[str] = field(default_factory=Counter)
    loops: tuple[Path, ...] = ()


def find_recordings(folder: Path) -> Found:
    """Look for recordings in a folder and all folders below it.

    Links to files and folders are followed. Hidden files and folders (names with a leading dot)
    are counted as ignored.

    Args:
        folder: where to look.

    Raises:
        UsageError: a folder cannot be listed; skipping it would leave recordings out unnoticed.
    """
    recordings: list[Path] = []
    ignored: Counter[str] = Counter()
    loops: list[Path] = []

    def visit(place: Path, above: frozenset[tuple[int, int]]) -> None:
        try:
            status = place.stat()
            here = (status.st_dev, status.st_ino)
            if here in above:
                loops.append(place)
                return
            entries = sorted(os.scandir(place), key=lambda entry: entry.name)
            shown = [entry for entry in entries if not entry.name.startswith(".")]
            folders = {entry.name for entry in shown if _is_folder(entry)}
        except OSError as error:
            raise UsageError(
                f"folder {error.filename} cannot be listed: {error.strerror}"
            ) from error
        ignored["hidden"] += len(entries) - len(shown)
        for entry in shown:
            path = place / entry.name
            if entry.name in folders:
                visit(path, above | {here})
            elif is_audio_name(path):
                recordings.append(path)
            else:
                ignored[path.suffix.lower()] += 1

    visit(folder, frozenset())
    return Found(tuple(recordings), ignored, tuple(loops))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError as error:
        # A link to itself: reading it as a file will say so.
        if error.errno == errno.ELOOP:
            return False
        raise
