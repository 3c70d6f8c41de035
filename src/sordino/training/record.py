"""What a run's folder holds beside the weights: what is trained, on what, and how it went.

The same for every kind of training run.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from sordino.corpus.corpus import Corpus
from sordino.errors import UsageError

CHECKPOINT = "checkpoint.ckpt"
LOG = "log.csv"
RECIPE = "recipe.json"
DATA = "data.json"


def settle(
    recipe: Mapping[str, object], data: Mapping[str, object], folder: Path, *, resume: bool
) -> None:
    """Note in a run's folder what is trained, or see that it is the same as before.

    Args:
        recipe: what to do, as `dataclasses.asdict` gives it.
        data: what it learns from; see `described`.
        folder: of the run; it is made where there is none.
        resume: whether it should hold a run already.

    Raises:
        UsageError: the folder holds a run and `resume` is not set, holds one of another recipe or
            other data, or holds none and `resume` is set.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as place:
        ...     settle({"steps": 2}, {"utterances": 3}, Path(place, "run"), resume=False)
        ...     settle({"steps": 2}, {"utterances": 3}, Path(place, "run"), resume=True)
    """
    notes = {RECIPE: json.loads(json.dumps(recipe)), DATA: json.loads(json.dumps(data))}
    if (folder / RECIPE).exists():
        if not resume:
            raise UsageError(f"{folder} holds a run; go on with --resume or name another folder")
        for name, what in ((RECIPE, "another recipe"), (DATA, "other data")):
            if json.loads((folder / name).read_text(encoding="utf-8")) != notes[name]:
                raise UsageError(f"{folder} holds a run of {what}; name another folder")
        return
    if resume:
        raise UsageError(f"{folder} holds no run that could be resumed")
    folder.mkdir(parents=True, exist_ok=True)
    for name in (DATA, RECIPE):
        (folder / name).write_text(json.dumps(notes[name], indent=2) + "\n", encoding="utf-8")


def described(corpus: Corpus, **more: object) -> dict[str, object]:
    """What tells a corpus from another, wherever it lies.

    Args:
        corpus: the speech; the same utterances in another order are another corpus.
        more: further facts to be kept with it.
    """
    digest = hashlib.sha256()
    for known in corpus:
        facts = (known.id, known.speaker, known.corpus, known.sex, known.start, known.end)
        digest.update(f"{facts!r}\n".encode())
    return {
        "utterances": len(corpus),
        "speakers": len(corpus.speakers),
        "digest": digest.hexdigest(),
        **more,
    }


def newest(folder: Path, fields: Sequence[str]) -> dict[str, float]:
    """What a run's log says last of some columns that are not filled at every step.

    Args:
        folder: of the run.
        fields: the columns.

    Returns:
        What the last line with any of them has; nothing where there is no such line.
    """
    with (folder / LOG).open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if any(row.get(name) for name in fields)]
    return {name: float(rows[-1][name]) for name in fields if rows and rows[-1].get(name)}


class Log:
    """A CSV file with a line for each step; on resuming, later lines than the checkpoint's go.

    Args:
        path: of the file.
        fields: its columns; the first is "step".
        step: what has been done.
        active: whether this process writes.
    """

    def __init__(self, path: Path, fields: Sequence[str], step: int, *, active: bool) -> None:
        self._active = active
        if not active:
            return
        kept = _complete_rows(path, step)
        part = path.with_suffix(".part")
        with part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fields)
            writer.writeheader()
            writer.writerows(kept)
        part.replace(path)
        self._file = path.open("a", newline="", encoding="utf-8")
        self._writer = csv.DictWriter(self._file, fields)

    def write(self, row: Mapping[str, float]) -> None:
        """Add a step."""
        if self._active:
            self._writer.writerow(row)
            self._file.flush()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        if self._active:
            self._file.close()


def _complete_rows(path: Path, step: int) -> list[dict[str, str]]:
    if not step or not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        # A line that was cut off by a kill lacks fields.
        rows = [row for row in csv.DictReader(file) if None not in row.values()]
    return [row for row in rows if int(row["step"]) <= step]
