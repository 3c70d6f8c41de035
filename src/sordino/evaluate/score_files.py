"""Scores that other tools wrote, with the trials that they are of."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sordino.corpus.trials import Trials
from sordino.errors import UsageError
from sordino.evaluate.metrics.scores import Scores
from sordino.evaluate.score_arrays import is_array, joined, read_arrays, read_label_array
from sordino.evaluate.score_columns import (
    SCORE_LAYOUTS,
    TABLE,
    TRIAL_LAYOUTS,
    Columns,
    Layouts,
    read_columns,
)
from sordino.evaluate.score_speakers import Named, SpeakerTable, trials_of

BoolArray = npt.NDArray[np.bool_]

ARRAYS = "arrays"
FORMATS = (*SCORE_LAYOUTS, TABLE, ARRAYS)
"""What a file of scores can be read as."""


@dataclass(frozen=True, eq=False)
class ScoredTrials:
    """Scores and what they are of.

    Attributes:
        scores: without NaN, shape (trials,).
        is_target: whether each is of one speaker, shape (trials,).
        layout: what the file was read as, one of `FORMATS`.
        trials: with speakers; None where it cannot be told who speaks.
        speakers: a sentence about who speaks.
    """

    scores: Scores
    is_target: BoolArray
    layout: str
    trials: Trials | None
    speakers: str


@dataclass(frozen=True)
class Beside:
    """What there is beside a file of scores.

    Attributes:
        trials: a list of trials with labels, text or array.
        nontargets: scores of non-targets; the file of scores holds those of targets only.
        table: who speaks.
        layout: one of `FORMATS`; None to find out.
    """

    trials: Path | None = None
    nontargets: Path | None = None
    table: SpeakerTable | None = None
    layout: str | None = None


@dataclass(frozen=True, eq=False)
class _Content:
    """What one file holds: labels and names only where it has them."""

    path: Path
    layout: str
    scores: Scores | None = None
    is_target: BoolArray | None = None
    columns: Columns | None = None


def read_scores(path: Path, beside: Beside | None = None) -> ScoredTrials:
    """Read scores, with labels that are in the file or in a list beside it.

    Args:
        path: text in one of `SCORE_LAYOUTS`, a table whose header names the columns, or arrays as
            `read_arrays` takes them.
        beside: what else there is.

    Raises:
        UsageError: a file cannot be read or does not say what it should, a trial has no score, a
            score no trial, or either comes twice; the message names the file and the line, and
            says how many there are.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "scores.txt"
        ...     _ = file.write_text("0.9 target\\n0.2 nontarget\\n")
        ...     found = read_scores(file)
        >>> found.scores.tolist(), found.is_target.tolist(), found.layout
        ([0.9, 0.2], [True, False], 'score-label')
    """
    beside = beside or Beside()
    own = _scores_of(path, beside.layout)
    assert own.scores is not None
    if beside.nontargets is not None:
        others = _scores_of(beside.nontargets, beside.layout)
        assert others.scores is not None
        if beside.trials is not None:
            raise UsageError("a list of trials and a file of non-targets exclude each other")
        for content in (own, others):
            if content.is_target is not None or content.columns is not None:
                raise UsageError(f"{content.path}: has labels or names; expected scores only")
        return _named(*joined(own.scores, others.scores), own.layout, None, beside.table)
    if beside.trials is None:
        if own.is_target is None:
            raise UsageError(
                f"{path}: does not say which trials are targets; give the list of trials"
            )
        return _named(own.scores, own.is_target, own.layout, own.columns, beside.table)
    listed = _list_of(beside.trials)
    scores = _ordered(own, listed)
    assert listed.is_target is not None
    return _named(scores, listed.is_target, own.layout, listed.columns, beside.table)


def _scores_of(path: Path, layout: str | None) -> _Content:
    if is_array(path) != (layout == ARRAYS) and layout is not None:
        raise UsageError(f"{path}: cannot be read as {layout}; arrays are in .npy or .npz files")
    if is_array(path):
        return _Content(path, ARRAYS, *read_arrays(path))
    columns = read_columns(path, _layouts(layout), "score")
    if "score" not in columns.texts:
        raise UsageError(f"{path}: has no column score")
    labels = columns.labels() if "label" in columns.texts else None
    return _Content(path, columns.layout, columns.numbers(), labels, _with_names(columns))


def _list_of(path: Path) -> _Content:
    if is_array(path):
        return _Content(path, ARRAYS, None, read_label_array(path))
    columns = read_columns(path, TRIAL_LAYOUTS, "label")
    if "label" not in columns.texts:
        raise UsageError(f"{path}: has no column of labels")
    return _Content(path, columns.layout, None, columns.labels(), _with_names(columns))


def _layouts(name: str | None) -> Layouts:
    if name is None:
        return SCORE_LAYOUTS
    return {key: roles for key, roles in SCORE_LAYOUTS.items() if key == name}


def _with_names(columns: Columns) -> Columns | None:
    """Only columns that name each trial, and each but once."""
    if not {"model", "utterance"} <= columns.texts.keys():
        return None
    keys = columns.trial_keys()
    if len(set(keys)) < len(keys):
        seen: dict[str, int] = {}
        for row, key in enumerate(keys):
            if seen.setdefault(key, row) != row:
                raise UsageError(
                    f"{columns.where(row)}: the trial {columns.pair(row)} stands in line"
                    f" {columns.lines[seen[key]]} too"
                )
    return columns


def _named(
    scores: Scores,
    is_target: BoolArray,
    layout: str,
    columns: Columns | None,
    table: SpeakerTable | None,
) -> ScoredTrials:
    if columns is None:
        how = "It is not known who speaks: the trials have no names."
        return ScoredTrials(scores, is_target, layout, None, how)
    trials, how = trials_of(Named.of(columns, is_target), table)
    return ScoredTrials(scores, is_target, layout, trials, how)


def _ordered(own: _Content, listed: _Content) -> Scores:
    """The scores in the order of the list."""
    assert own.scores is not None
    assert listed.is_target is not None
    if own.columns is None:
        if own.is_target is not None:
            raise UsageError(f"{own.path}: has labels but no names; leave the list of trials out")
        if own.scores.size != listed.is_target.size:
            raise UsageError(
                f"{own.path}: has {own.scores.size} scores; {listed.path} has"
                f" {listed.is_target.size} trials"
            )
        return own.scores
    if listed.columns is None:
        raise UsageError(f"{listed.path}: does not name the trials; {own.path} does")
    places = _places(own.columns, listed.columns)
    if own.is_target is not None:
        other = np.flatnonzero(own.is_target != listed.is_target[places])
        if other.size:
            raise UsageError(
                f"{own.columns.where(int(other[0]))}: has another label than {listed.path}"
                + (f"; {other.size - 1} more do" if other.size > 1 else "")
            )
    scores = np.empty_like(own.scores)
    scores[places] = own.scores
    return scores


def _places(columns: Columns, listed: Columns) -> npt.NDArray[np.int64]:
    """The row in the list of each score; every row has one."""
    rows = {key: row for row, key in enumerate(listed.trial_keys())}
    places = np.fromiter(map(rows.get, columns.trial_keys(), repeat(-1)), np.int64, len(columns))
    extra = np.flatnonzero(places < 0)
    scored = np.zeros(len(listed), dtype=bool)
    scored[places[places >= 0]] = True
    problems = []
    if not scored.all():
        first = int(scored.argmin())
        problems.append(
            f"{int((~scored).sum())} of {len(listed)} trials have no score, first"
            f" {listed.pair(first)} ({listed.where(first)})"
        )
    if extra.size:
        first = int(extra[0])
        problems.append(
            f"{extra.size} of {len(columns)} scores are of no trial, first {columns.pair(first)}"
            f" (line {columns.lines[first]})"
        )
    if problems:
        raise UsageError(f"{columns.path}: {'; '.join(problems)}")
    return places
