"""What a classifier says of speakers, in a file, for trainings that hear them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import OutputError, UsageError

Floats = npt.NDArray[np.float32]

_KIND = "side information"
_UNREADABLE = (OSError, EOFError, KeyError, ValueError, TypeError, zipfile.BadZipFile)


@dataclass(frozen=True, eq=False)
class SideFile:
    """Logits of a classifier for speakers.

    Attributes:
        speakers: their ids, sorted.
        classes: names of the classes.
        logits: mean over a speaker's utterances, float32, shape (speakers, classes).
        statement: of privacy, of the classifier's training.

    Example:
        >>> said = SideFile.of(["b", "a", "b"], ("F", "M"), np.eye(3, 2), {})
        >>> said.speakers, said.of_speakers(["b", "c"]).tolist()
        (('a', 'b'), [[0.5, 0.0], [nan, nan]])
    """

    speakers: tuple[str, ...]
    classes: tuple[str, ...]
    logits: Floats
    statement: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        speakers: Sequence[str],
        classes: Sequence[str],
        logits: npt.ArrayLike,
        statement: Mapping[str, Any],
    ) -> SideFile:
        """What is said of utterances, brought to one row for each speaker.

        Args:
            speakers: of the utterances, (n,).
            classes: names of the classes.
            logits: of the utterances, shape (n, classes).
            statement: of privacy.
        """
        rows = np.asarray(logits, dtype=np.float64)
        names, places = np.unique(np.asarray(speakers, dtype=np.str_), return_inverse=True)
        sums = np.zeros((len(names), rows.shape[1]))
        np.add.at(sums, places, rows)
        means = (sums / np.bincount(places)[:, None]).astype(np.float32)
        return cls(tuple(names.tolist()), tuple(classes), means, statement)

    def of_speakers(self, wanted: Sequence[str]) -> Floats:
        """Rows for speakers, NaN for those of whom nothing is said, shape (wanted, classes)."""
        row = {name: number for number, name in enumerate(self.speakers)}
        found = np.full((len(wanted), len(self.classes)), np.nan, dtype=np.float32)
        for place, name in enumerate(wanted):
            if name in row:
                found[place] = self.logits[row[name]]
        return found

    def write(self, path: Path) -> None:
        """Write a file that is complete or not there.

        Raises:
            OutputError: it cannot be written.
        """
        settings = {"kind": _KIND, "classes": self.classes, "statement": dict(self.statement)}
        part = path.with_name(path.name + ".part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                text = np.array(json.dumps(settings, sort_keys=True))
                speakers = np.array(self.speakers, dtype=np.str_)
                np.savez(file, settings=text, speakers=speakers, logits=self.logits)
            part.replace(path)
        except OSError as error:
            raise OutputError(f"{path}: cannot be written: {error.strerror}") from error

    @classmethod
    def read(cls, path: Path) -> SideFile:
        """What `write` wrote.

        Raises:
            UsageError: it is no such file.
        """
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                settings = json.loads(str(archive["settings"]))
                if settings["kind"] != _KIND:
                    raise UsageError(f"{path}: says nothing of speakers")
                logits = archive["logits"].astype(np.float32)
                speakers = tuple(archive["speakers"].tolist())
                classes = tuple(settings["classes"])
        except _UNREADABLE as error:
            raise UsageError(
                f"{path}: is no file of side information, as federate distill writes them ({error})"
            ) from error
        if logits.shape != (len(speakers), len(classes)) or not np.isfinite(logits).all():
            raise UsageError(f"{path}: is damaged: its logits do not fit its speakers and classes")
        return cls(speakers, classes, logits, settings["statement"])
