"""Populations from files: vectors with labels, and who is held out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.evaluate.attributes.table import AttributeTable, without
from sordino.federated.populations.base import HeldOut
from sordino.federated.populations.partition import by_speaker, dirichlet, resampled
from sordino.federated.populations.vectors import VectorPopulation

if TYPE_CHECKING:
    from sordino.speaker.vectors import Vectors

PARQUET = ".parquet"
"""Ending of files that `read_parquet` reads."""

_HELD_OUT_SHARE = 1 / 3
_SHOWN = 2


@dataclass(frozen=True, eq=False)
class Labelled:
    """Vectors of which speaker and class are known.

    Attributes:
        vectors: shape (n, inputs).
        labels: shape (n,), numbers of classes.
        classes: their names, sorted.
        speakers: of each row.
        held_out: shape (n,), whether a row is of a speaker who is no user; None to draw them.
        facts: where all of it comes from.
    """

    vectors: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]
    classes: tuple[str, ...]
    speakers: tuple[str, ...]
    held_out: npt.NDArray[np.bool_] | None
    facts: dict[str, Any]


def labelled(
    vectors: Vectors,
    table: AttributeTable,
    columns: Sequence[str],
    *,
    only: Sequence[tuple[str, str]] = (),
    unknown: Sequence[tuple[str, str]] = (),
    held_out: tuple[str, str] | None = None,
    least: int = 1,
) -> Labelled:
    """Vectors with the classes that a table gives them; what has none is left out.

    Args:
        vectors: with speakers.
        table: of labels, by key or by speaker.
        columns: of the table; several make one class of their values together.
        only: take only rows of which the table says this.
        unknown: take no labels from rows that say this.
        held_out: a column and the value that those have who are no users; None to draw a third of
            the speakers later.
        least: classes with fewer speakers than this, on either side, are left out.

    Raises:
        UsageError: there is no such column, the table names none of the vectors, or less than two
            classes are left.
    """
    known = without(table, columns, unknown)

    def column(name: str) -> tuple[str, ...]:
        return known.values(name, vectors.keys, vectors.speakers)

    _require_names(vectors, table)
    values = [column(name) for name in columns]
    names = [" ".join(row) if all(row) else "" for row in zip(*values, strict=True)]
    kept = np.array([bool(name and who) for name, who in zip(names, vectors.speakers, strict=True)])
    for name, value in only:
        kept &= np.array([found == value for found in column(name)])
    aside = None
    if held_out is not None:
        aside = np.array([found == held_out[1] for found in column(held_out[0])])
    sides = np.zeros(len(kept), np.bool_) if aside is None else aside
    classes = _frequent(names, vectors.speakers, kept, sides, least, both=aside is not None)
    if len(classes) < 2:
        raise UsageError(
            f"{table.name}: {' and '.join(columns)} give {len(classes)} classes with enough"
            " speakers; expected at least 2"
        )
    kept &= np.array([name in classes for name in names])
    rows = np.flatnonzero(kept)
    return Labelled(
        vectors.vectors[rows],
        np.array([classes.index(names[row]) for row in rows], dtype=np.int64),
        classes,
        tuple(vectors.speakers[row] for row in rows),
        None if aside is None else aside[rows],
        {"kind": "vectors", "encoder": vectors.encoder, "labels": list(columns)},
    )


def population_of(
    data: Labelled,
    seed: int,
    *,
    users: int | None = None,
    examples: int = 4,
    concentration: float | None = None,
) -> VectorPopulation:
    """Users with labelled vectors; the speakers held out are never among them.

    Args:
        data: vectors.
        seed: decides who is held out where `data` does not say, and who holds what.
        users: how many, resampled from the speakers; None for one user a speaker.
        examples: of each user who is resampled.
        concentration: deal vectors by a Dirichlet distribution over classes instead.

    Raises:
        UsageError: nothing is left on a side, or an argument is out of range.
    """
    generator = np.random.default_rng(seed)
    aside = data.held_out
    names = np.array(data.speakers, dtype=np.str_)
    if aside is None:
        who = np.unique(names)
        drawn = generator.permutation(len(who))[: max(1, round(len(who) * _HELD_OUT_SHARE))]
        aside = np.isin(names, who[drawn])
    inside = np.flatnonzero(~aside)
    if not len(inside) or not aside.any():
        raise UsageError("both users and speakers who are held out are needed")
    speakers = names[inside].tolist()
    if concentration is not None:
        if users is None:
            raise UsageError("a Dirichlet partition needs a number of users")
        rows = dirichlet(data.labels[inside], users, concentration, generator)
    elif users is not None:
        rows = resampled(speakers, users, examples, generator)
    else:
        rows = by_speaker(speakers)
    facts = {
        **data.facts,
        "partition": _kind(users, concentration),
        "speakers": len(set(speakers)),
        "held_out_speakers": len(set(names[aside].tolist())),
        "seed": seed,
    }
    return VectorPopulation(
        data.vectors[inside],
        data.labels[inside],
        data.classes,
        rows,
        _held_out(data, aside, names),
        facts,
    )


def read_parquet(path: Path) -> tuple[Vectors, AttributeTable]:
    """Vectors and their labels from one Parquet file.

    Args:
        path: with columns `speaker` and `vector` (lists of numbers, all as long), perhaps `key`,
            and columns of labels.

    Raises:
        UsageError: it cannot be read, lacks a column, or pyarrow is not installed.
    """
    from sordino.speaker.vectors import Vectors

    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError(
            'Parquet needs pyarrow; install the extra federated: pip install "sordino[federated]"'
        ) from error
    try:
        content = pyarrow.parquet.read_table(path).to_pydict()
        vectors = np.array(content.pop("vector"), dtype=np.float32)
        speakers = tuple("" if name is None else str(name) for name in content["speaker"])
    except KeyError as error:
        raise UsageError(f"{path}: has no column {error}") from error
    except (OSError, ValueError, TypeError, pyarrow.ArrowException) as error:
        raise UsageError(f"{path}: does not hold vectors that can be read ({error})") from error
    keys = tuple(map(str, content.pop("key", range(len(speakers)))))
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise UsageError(f"{path}: vectors differ in length, or hold NaN or infinity")
    columns = tuple(content)
    rows = {
        key: {
            name: "" if content[name][row] is None else str(content[name][row]) for name in columns
        }
        for row, key in enumerate(keys)
    }
    table = AttributeTable(str(path), True, columns, rows, {})
    return Vectors(keys, ("",) * len(keys), speakers, vectors), table


def _require_names(vectors: Vectors, table: AttributeTable) -> None:
    """Refuse a table that tells nothing of any vector, since its names are others."""
    what, names = ("keys", vectors.keys) if table.by_key else ("speakers", vectors.speakers)
    there = sorted({name for name in names if name})
    if any(name in table.rows for name in there):
        return
    agree = "keys have to agree" if table.by_key else "embed with --speakers so that names agree"
    if not there:
        raise UsageError(f"no vector names its {what[:-1]}, for {table.name} to tell of; {agree}")
    shown = ", ".join(there[:_SHOWN]) + (", ..." if len(there) > _SHOWN else "")
    raise UsageError(f"none of the {len(there)} {what} ({shown}) is in {table.name}; {agree}")


def _frequent(
    names: Sequence[str],
    speakers: Sequence[str],
    kept: npt.NDArray[np.bool_],
    sides: npt.NDArray[np.bool_],
    least: int,
    *,
    both: bool,
) -> tuple[str, ...]:
    """Names of classes with enough speakers on every side."""
    people = {
        (name, bool(side), who)
        for name, who, keep, side in zip(names, speakers, kept, sides, strict=True)
        if keep
    }
    counts = Counter((name, side) for name, side, _ in people)
    wanted = (False, True) if both else (False,)
    found = {name for name, _ in counts}
    return tuple(sorted(n for n in found if all(counts[n, side] >= least for side in wanted)))


def _held_out(data: Labelled, aside: npt.NDArray[np.bool_], names: npt.NDArray[np.str_]) -> HeldOut:
    _, owners, counts = np.unique(names[aside], return_inverse=True, return_counts=True)
    return HeldOut(data.vectors[aside], data.labels[aside], 1 / counts[owners])


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _kind(users: int | None, concentration: float | None) -> str:
    if concentration is not None:
        return f"dirichlet {concentration:g}"
    return "one user a speaker" if users is None else "resampled from speakers"
