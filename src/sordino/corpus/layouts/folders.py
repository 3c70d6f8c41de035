"""A folder of recordings for each speaker."""

from __future__ import annotations

from pathlib import Path

from sordino.corpus.corpus import Corpus
from sordino.corpus.discover import find_recordings
from sordino.corpus.layouts.assemble import assemble
from sordino.corpus.speakers import by_folder
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError

NAME = "folders"
LOOKS_LIKE = "a folder with a folder of recordings for each speaker"


def recognises(path: Path) -> bool:
    """Whether a path is a folder with a folder of recordings in it."""
    if not path.is_dir():
        return False
    return any(entry.is_dir() and find_recordings(entry).recordings for entry in _shown(path))


def read(path: Path) -> Corpus:
    """Read all recordings below a folder; who speaks is told by the folder that a file lies in.

    An utterance's id is its path below the folder, with forward slashes.

    Args:
        path: the folder. Hidden files and folders are left out.

    Raises:
        UsageError: there are none, a recording lies in no speaker's folder, or two folders at
            different places have the same name, so that they may be two speakers or one.

    Example:
        >>> read(Path("interviews")).speakers  # doctest: +SKIP
        ('alice', 'bob')
    """
    homes: dict[str, Path] = {}
    listed = []
    for recording in find_recordings(path).recordings:
        speaker, home = by_folder(recording), recording.parent
        if home == path:
            raise UsageError(f"{recording}: lies in no speaker's folder; put it into one")
        if homes.setdefault(speaker, home) != home:
            raise UsageError(
                f"{path}: the folders {homes[speaker]} and {home} have the same name; if that is"
                f" not one speaker rename one, or list the recordings in a manifest.csv"
            )
        listed.append((Utterance(recording.relative_to(path).as_posix(), recording, speaker), ""))
    return assemble(path, listed)


def _shown(path: Path) -> list[Path]:
    return sorted(entry for entry in path.iterdir() if not entry.name.startswith("."))
