"""The last step of every reader: nothing listed may be missing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from sordino.corpus.corpus import Corpus
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError


def assemble(source: Path, listed: Iterable[tuple[Utterance, str]]) -> Corpus:
    """Make a corpus of utterances whose recordings are all there.

    Args:
        source: the file or folder that lists them; errors start with it.
        listed: each utterance, and the words that tell where it is listed ("line 3").

    Raises:
        UsageError: recordings are missing (all are counted, the first is named), or it is no
            valid corpus.
    """
    entries = list(listed)
    places: dict[Path, str] = {}
    for utterance, place in entries:
        places.setdefault(utterance.path, place)
    missing = [path for path in places if not os.path.isfile(path)]  # noqa: PTH113 - three times as fast
    if missing:
        place = places[missing[0]]
        raise UsageError(
            f"{source}: {len(missing)} of {len(places)} recordings missing,"
            f" the first is {missing[0]}{f' ({place})' if place else ''}"
        )
    try:
        return Corpus(tuple(utterance for utterance, _ in entries))
    except UsageError as error:
        raise UsageError(f"{source}: {error}") from error
