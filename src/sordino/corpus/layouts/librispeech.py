"""LibriSpeech: `1272/128104/1272-128104-0000.flac` with `1272-128104.trans.txt` beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from sordino.corpus.corpus import Corpus
from sordino.corpus.discover import find_recordings
from sordino.corpus.layouts.assemble import assemble
from sordino.corpus.layouts.tables import Entry, lines, read_table
from sordino.corpus.utterance import Utterance, sex_of
from sordino.errors import UsageError

NAME = "librispeech"
LOOKS_LIKE = "a folder with LibriSpeech's speakers (1272/128104/*.trans.txt), or above it"

_SPEAKERS = "SPEAKERS.TXT"
_UTTERANCE = re.compile(r"(\d+)-(\d+)-\d+")
_TRANSCRIPTS = ("*/*/*.trans.txt", "*/*/*/*.trans.txt")


def recognises(path: Path) -> bool:
    """Whether a path is a folder with LibriSpeech's transcripts three or four levels down."""
    return path.is_dir() and any(next(path.glob(place), None) for place in _TRANSCRIPTS)


def read(path: Path) -> Corpus:
    """Read LibriSpeech, or one of its subsets.

    The sex is read from a `SPEAKERS.TXT` in the folder or one of the two above it. The split is
    the name of the subset's folder ("dev-clean"). The language is "en".

    Args:
        path: a subset's folder, or the one above it.

    Raises:
        UsageError: there are no recordings, one does not lie as LibriSpeech's do, or one that has
            a transcript is missing.
    """
    sexes, texts = _sexes(path), _texts(path)
    listed = []
    for recording in find_recordings(path).recordings:
        named = _UTTERANCE.fullmatch(recording.stem)
        *above, speaker, chapter, _ = ("", "", "", *recording.relative_to(path).parts)
        if not named or named.groups() != (speaker, chapter) or len(above) > 4:
            raise UsageError(f"{recording}: does not lie as 1272/128104/1272-128104-0000.flac does")
        text = texts.pop(recording.stem, None)
        utterance = Utterance(
            recording.stem,
            recording,
            speaker,
            sex=sexes.get(speaker),
            language="en",
            text=text.value if text else None,
            corpus=NAME,
            split=recording.absolute().parts[-4],
        )
        listed.append((utterance, ""))
    if texts:
        raise UsageError(
            f"{path}: {len(texts)} recordings with a transcript missing, the first is {min(texts)}"
        )
    return assemble(path, listed)


def _texts(path: Path) -> dict[str, Entry]:
    texts: dict[str, Entry] = {}
    for place in _TRANSCRIPTS:
        for table in sorted(path.glob(place)):
            texts |= read_table(table)
    return texts


def _sexes(path: Path) -> Mapping[str, str | None]:
    home = path.absolute()
    tables = [folder / _SPEAKERS for folder in (home, *home.parents[:2])]
    table = next((table for table in tables if table.is_file()), None)
    if table is None:
        return {}
    sexes = {}
    for number, line in lines(table):
        if line.startswith(";"):
            continue
        try:
            speaker, label, *_ = (field.strip() for field in line.split("|"))
            sexes[speaker] = sex_of(label)
        except (ValueError, UsageError) as error:
            raise UsageError(f"{table}, line {number}: has no sex that is F or M") from error
    return sexes
