"""Speech in the form in which it is heard: the original, or what a system made of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError

Heard = Mapping[str, Utterance]
"""Utterances by the id of the original utterance."""


@dataclass(frozen=True)
class Listening:
    """A piece of work on one utterance.

    Attributes:
        utterance: what is heard.
        what: what is done with it, and with which settings.
    """

    utterance: Utterance
    what: str

    @property
    def key(self) -> str:
        """Depends on the work, the recording's place, size and date, and on the stretch of it."""
        return f"{self.what} {fingerprint(self.utterance)}"


def fingerprint(utterance: Utterance) -> str:
    """Tells whether a recording is still the same, without reading it.

    Raises:
        AudioError: there is no such file.
    """
    try:
        found = utterance.path.stat()
    except OSError as error:
        raise AudioError(f"{utterance.path}: {error.strerror}") from error
    parts = (
        str(utterance.path.absolute()),
        utterance.start,
        utterance.end,
        found.st_size,
        found.st_mtime_ns,
    )
    text = "\0".join(map(str, parts))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def in_file(utterance: Utterance, path: Path) -> Utterance:
    """The utterance as another file holds it, whole."""
    return replace(utterance, path=path, start=None, end=None, duration=None)
