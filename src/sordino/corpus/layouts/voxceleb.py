"""VoxCeleb 1 and 2: `id10001/video/00001.wav`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from sordino.corpus.corpus import Corpus
from sordino.corpus.discover import find_recordings
from sordino.corpus.layouts.assemble import assemble
from sordino.corpus.layouts.tables import lines
from sordino.corpus.utterance import Utterance, sex_of
from sordino.errors import UsageError

NAME = "voxceleb"
LOOKS_LIKE = "a folder with VoxCeleb's speakers (id10001, ...), or above it (wav, dev/aac, ...)"

_SPEAKER = re.compile(r"id\d{5}")
_SPLITS = ("dev", "test")
# Folders of the published archives that may stand above the speakers.
_ABOVE = ("", "wav", "aac", *(f"{a}{b}" for a in _SPLITS for b in ("", "/wav", "/aac")))


def recognises(path: Path) -> bool:
    """Whether a path is a folder with VoxCeleb's speakers in it or just below."""
    return any(
        _SPEAKER.fullmatch(entry.name) and entry.is_dir()
        for above in _ABOVE
        if (path / above).is_dir()
        for entry in (path / above).iterdir()
    )


def read(path: Path) -> Corpus:
    """Read VoxCeleb.

    An utterance's id is the one in VoxCeleb's trial lists (`id10001/video/00001.wav`). The sex is
    read from a `vox1_meta.csv` or `vox2_meta.csv` in the folder or one of the two above it.

    Args:
        path: the folder of the speakers, or one above it (`wav`, `dev/aac` and so on).

    Raises:
        UsageError: there are no recordings, or one does not lie as VoxCeleb's do.
    """
    sexes = _sexes(path)
    listed = []
    for recording in find_recordings(path).recordings:
        *above, speaker, _, _ = ("", "", "", *recording.relative_to(path).parts)
        if not _SPEAKER.fullmatch(speaker):
            raise UsageError(f"{recording}: does not lie in a folder like id10001/video")
        utterance = Utterance(
            "/".join(recording.parts[-3:]),
            recording,
            speaker,
            sex=sexes.get(speaker),
            corpus=NAME,
            split=next((part for part in above if part in _SPLITS), None),
        )
        listed.append((utterance, ""))
    return assemble(path, listed)


def _sexes(path: Path) -> Mapping[str, str | None]:
    sexes: dict[str, str | None] = {}
    home = path.absolute()
    for folder in (home, *home.parents[:2]):
        for table in sorted(folder.glob("vox*_meta.csv")):
            sexes |= _read_meta(table)
    return sexes


def _read_meta(table: Path) -> Mapping[str, str | None]:
    # vox1_meta.csv is separated by tabs, vox2_meta.csv by commas with spaces around them.
    rows = [(number, re.split(r"\s*[,\t]\s*", line)) for number, line in lines(table)]
    header = [name.lower() for name in rows[0][1]] if rows else []
    if "gender" not in header:
        raise UsageError(f"{table}: has no column 'Gender'")
    column = header.index("gender")
    sexes = {}
    for number, fields in rows[1:]:
        try:
            sexes[fields[0]] = sex_of(fields[column])
        except (IndexError, UsageError) as error:
            raise UsageError(f"{table}, line {number}: has no sex that is F or M") from error
    return sexes
