"""Columns of text files with scores, labels and trials, and what each of them holds."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
Layouts = Mapping[str, tuple[str, ...]]

SCORE_LAYOUTS: Layouts = {
    "kaldi": ("model", "utterance", "score"),
    "voxceleb": ("label", "model", "utterance", "score"),
    "speechbrain": ("model", "utterance", "label", "score"),
    "score-last-but-one": ("model", "utterance", "score", "label"),
    "score-label": ("score", "label"),
    "label-score": ("label", "score"),
    "scores": ("score",),
}
"""What the columns of a file of scores hold, from left to right."""

TRIAL_LAYOUTS: Layouts = {
    "kaldi": ("model", "utterance", "label"),
    "voxceleb": ("label", "model", "utterance"),
    "labels": ("label",),
}
"""What the columns of a list of trials hold."""

SPEAKER_LAYOUTS: Layouts = {"utt2spk": ("utterance", "speaker")}
"""What the columns of a table of speakers hold."""

TABLE = "table"
"""The layout that a header names."""

LABELS: Mapping[str, bool] = {
    **dict.fromkeys(("target", "tgt", "mated", "genuine", "same", "true", "1"), True),
    **dict.fromkeys(("nontarget", "non-target", "imp", "impostor", "imposter"), False),
    **dict.fromkeys(("nonmated", "non-mated", "different", "false", "0"), False),
}
"""Words for trials of one speaker and of two, in lower case."""

_HEADS: Mapping[str, str] = {
    **dict.fromkeys(("score", "scores", "llr", "similarity"), "score"),
    **dict.fromkeys(("label", "target", "is_target", "key"), "label"),
    **dict.fromkeys(("model", "modelid", "enrolment", "enrollment", "enroll"), "model"),
    **dict.fromkeys(("utterance", "utt", "segment", "segmentid", "test", "path"), "utterance"),
    **dict.fromkeys(("enrolled", "enrolled_speaker", "model_speaker"), "enrolled"),
    **dict.fromkeys(("tried", "tried_speaker", "utterance_speaker"), "tried"),
    "speaker": "speaker",
}
_DELIMITERS = (",", ";", "\t")
_PIECE = 4096


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns by what they hold.

    Attributes:
        path: of the file.
        layout: name of the layout.
        texts: for each role such as "score", the texts, shape (rows,).
        lines: number of the line of each row, from 1.
    """

    path: Path
    layout: str
    texts: Mapping[str, Sequence[str]]
    lines: Sequence[int]

    def __len__(self) -> int:
        return len(self.lines)

    def where(self, row: int) -> str:
        """A row, for a message."""
        return f"{self.path}, line {self.lines[row]}"

    def pair(self, row: int) -> str:
        """The trial in a row, for a message."""
        return f"{self.texts['model'][row]} {self.texts['utterance'][row]}"

    def trial_keys(self) -> list[str]:
        """A text for the trial in each row."""
        return list(map("\0".join, zip(self.texts["model"], self.texts["utterance"], strict=True)))

    def numbers(self) -> FloatArray:
        """The scores.

        Raises:
            UsageError: one is no number, or NaN; the message names the first line of them.
        """
        texts = self.texts["score"]
        try:
            scores = np.fromiter(map(float, texts), np.float64, len(texts))
        except ValueError:
            row = next(row for row, text in enumerate(texts) if not _is_number(text))
            hint = "; is this a list of trials?" if texts[row].lower() in LABELS else ""
            raise UsageError(
                f"{self.where(row)}: the score {texts[row]!r} is not a number{hint}"
            ) from None
        missing = np.flatnonzero(np.isnan(scores))
        if missing.size:
            raise UsageError(
                f"{self.where(int(missing[0]))}: the score is NaN"
                + (f", as are {missing.size - 1} more" if missing.size > 1 else "")
            )
        return scores

    def labels(self) -> BoolArray:
        """Whether each row is a target trial.

        Raises:
            UsageError: a label is another word; the message names its line.
        """
        texts = self.texts["label"]
        known = {text: LABELS.get(text.lower()) for text in set(texts)}
        if None in known.values():
            row = next(row for row, text in enumerate(texts) if known[text] is None)
            raise UsageError(
                f"{self.where(row)}: the label {texts[row]!r} is not target or nontarget, 1 or 0"
            )
        return np.fromiter(map(known.__getitem__, texts), np.bool_, len(texts))


def read_columns(path: Path, layouts: Layouts, needed: str) -> Columns:
    """Read a text file whose columns stand in one of some orders, or under a header.

    Columns are parted by white space, or by commas, semicolons or tabs if the file is named
    `.csv` or `.tsv` or has them. A first line without numbers that has a usual name of the needed
    column, or of two others, is a header.

    Args:
        path: the file.
        layouts: orders of the columns where there is no header.
        needed: the role that the file is read for, such as "score".

    Raises:
        UsageError: the file cannot be read, is empty, has lines of different lengths, or its
            columns fit no layout or several.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "scores.txt"
        ...     _ = file.write_text("ann a2 0.9\\nann b1 0.2\\n")
        ...     found = read_columns(file, SCORE_LAYOUTS, "score")
        >>> found.layout, found.numbers().tolist(), found.pair(1)
        ('kaldi', [0.9, 0.2], 'ann b1')
    """
    columns, lines = _columns(path)
    if not lines:
        raise UsageError(f"{path}: is empty")
    head = [texts[0] for texts in columns]
    roles = _header(head, path, lines[0], needed)
    layout = TABLE
    if roles is None:
        layout = _layout(columns, layouts, path)
        roles = dict(zip(layouts[layout], range(len(columns)), strict=True))
    elif len(lines) == 1:
        raise UsageError(f"{path}: has a header and no rows")
    else:
        columns, lines = [texts[1:] for texts in columns], lines[1:]
    return Columns(path, layout, {role: columns[at] for role, at in roles.items()}, lines)


def _columns(path: Path) -> tuple[list[list[str]], list[int]]:
    """The columns, and the numbers of the lines that are not blank."""
    try:
        text = path.read_text(encoding="utf-8-sig", errors="surrogateescape")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    if "\0" in text:
        raise UsageError(f"{path}: is not a text file")
    delimiter = _delimiter(path, text)
    split = text.split("\n")
    columns: list[list[str]] = []
    lines: list[int] = []
    # Piece by piece, since millions of small lists would keep the garbage collector busy.
    for start in range(0, len(split), _PIECE):
        piece = split[start : start + _PIECE]
        try:
            rows = _rows(piece, delimiter)
        except csv.Error as error:
            raise UsageError(f"{path}, near line {start + 1}: is not CSV ({error})") from error
        there = list(range(start + 1, start + len(rows) + 1))
        if not all(rows):
            there = [line for line, row in zip(there, rows, strict=True) if row]
            rows = [row for row in rows if row]
        if not rows:
            continue
        columns = columns or [[] for _ in rows[0]]
        if set(map(len, rows)) != {len(columns)}:
            line, row = next(
                (line, row)
                for line, row in zip(there, rows, strict=True)
                if len(row) != len(columns)
            )
            raise UsageError(
                f"{path}, line {line}: has {len(row)} columns; the lines before it have"
                f" {len(columns)}"
            )
        for texts, part in zip(columns, zip(*rows, strict=True), strict=True):
            texts.extend(part)
        lines += there
    return columns, lines


def _rows(lines: Sequence[str], delimiter: str | None) -> list[list[str]]:
    """The fields of each line; none for a blank one."""
    if delimiter is None:
        return [line.split() for line in lines]
    rows = [
        [field.strip() for field in row] if any(map(str.strip, row)) else []
        for row in csv.reader(lines, delimiter=delimiter, strict=True)
    ]
    if len(rows) != len(lines):
        raise csv.Error("a quoted field goes over several lines")
    return rows


def _delimiter(path: Path, text: str) -> str | None:
    """What parts the columns; None for white space."""
    first = next((line for line in text.split("\n", 100) if line.strip()), "")
    found = max(_DELIMITERS, key=first.count)
    if path.suffix.lower() in {".csv", ".tsv"}:
        return found if found in first else None
    # A name can hold a comma; then the scores are parted by white space.
    return found if found in first and (found == "\t" or len(first.split()) == 1) else None


def _header(row: Sequence[str], path: Path, line: int, needed: str) -> dict[str, int] | None:
    names = [field.lower() for field in row]
    named = {_HEADS[name] for name in names if name in _HEADS and name not in LABELS}
    if any(map(_is_number, row)) or not (needed in named or len(named) > 1):
        return None
    roles: dict[str, int] = {}
    for at, name in enumerate(names):
        role = _HEADS.get(name)
        if role in roles:
            raise UsageError(
                f"{path}, line {line}: the columns {row[roles[role]]} and {row[at]} say the same"
            )
        if role is not None:
            roles[role] = at
    return roles


def _layout(columns: Sequence[Sequence[str]], layouts: Layouts, path: Path) -> str:
    """The only layout that these columns fit; if none does, the first that the first row fits."""
    wide = [name for name, roles in layouts.items() if len(roles) == len(columns)]
    if not layouts:
        raise UsageError(f"{path}: has no header that names its columns")
    if not wide:
        known = "; ".join(" ".join(roles) for roles in layouts.values())
        raise UsageError(f"{path}: has {len(columns)} columns; expected one of: {known}")
    fitting = [name for name in wide if all(_fits(layouts[name], columns))]
    if len(fitting) > 1:
        raise UsageError(
            f"{path}: can be read as {' or as '.join(fitting)}; say which by its format"
        )
    first = [texts[:1] for texts in columns]
    likely = [name for name in wide if all(_fits(layouts[name], first))]
    return (fitting or likely or wide)[0]


def _fits(roles: Sequence[str], columns: Sequence[Sequence[str]]) -> Iterator[bool]:
    for role, texts in zip(roles, columns, strict=True):
        if role == "label":
            yield all(text.lower() in LABELS for text in set(texts))
        if role == "score":
            yield all(map(_is_number, texts))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
