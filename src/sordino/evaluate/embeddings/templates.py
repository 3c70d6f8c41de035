"""Original and protected vectors of the same templates, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.evaluate.attributes.folds import Names
from sordino.evaluate.attributes.table import AttributeTable
from sordino.speaker.vectors import Vectors

ORIGINAL = "original"

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Protected:
    """Vectors that something was done to.

    Attributes:
        name: how results call them.
        releases: at least one; the same keys in each.
        what: how they were made, in one line.
    """

    name: str
    releases: tuple[Vectors, ...]
    what: str = ""


@dataclass(frozen=True, eq=False)
class Templates:
    """Vectors in the order of the original ones.

    Attributes:
        keys: of the templates.
        speakers: whose they are, shape (templates,); "" where nobody knows.
        systems: by name, "original" first, each of shape (releases, templates, d).
    """

    keys: tuple[str, ...]
    speakers: Names
    systems: dict[str, FloatArray]


def align(
    original: Vectors, protected: Sequence[Protected], table: AttributeTable | None = None
) -> Templates:
    """Put protected vectors beside the original ones.

    Args:
        original: unprotected.
        protected: any number, with the same keys in any order.
        table: may name speakers (columns `key` and `speaker`) where the vectors do not.

    Raises:
        UsageError: keys or dimensions do not match, names are not unique, or a vector is not
            finite or has length 0; the message starts with the name of the system.

    Example:
        >>> one = Vectors(("a", "b"), ("", ""), ("ann", "bob"), np.eye(2, dtype=np.float32))
        >>> turned = Vectors(("b", "a"), ("", ""), ("bob", "ann"), np.eye(2, dtype=np.float32))
        >>> align(one, [Protected("turned", (turned,))]).systems["turned"].tolist()
        [[[0.0, 1.0], [1.0, 0.0]]]
    """
    if not len(original):
        raise UsageError(f"{ORIGINAL}: there are no vectors")
    systems = {ORIGINAL: original.vectors[None]}
    for given in protected:
        if given.name in systems:
            raise UsageError(f"two sets of vectors are named {given.name}; use other names")
        if not given.releases:
            raise UsageError(f"{given.name}: there is no release")
        systems[given.name] = np.stack([_rows(given.name, one, original) for one in given.releases])
    for name, arrays in systems.items():
        _require_sound(name, arrays, original.keys)
    return Templates(original.keys, _speakers(original, table), systems)


def only(vectors: Vectors, table: AttributeTable, wanted: Sequence[tuple[str, str]]) -> Vectors:
    """The vectors that columns of a table choose.

    Args:
        vectors: to choose from.
        table: what is known of them.
        wanted: columns and values; values of one column add up; none for all vectors.

    Raises:
        UsageError: there is no such column, or nothing is left.

    Example:
        >>> two = Vectors(("a", "b"), ("", ""), ("ann", "bob"), np.eye(2, dtype=np.float32))
        >>> rows = {"ann": {"split": "dev"}, "bob": {"split": "test"}}
        >>> table = AttributeTable("t.csv", False, ("speaker", "split"), rows, {})
        >>> only(two, table, [("split", "test")]).keys
        ('b',)
    """
    chosen = np.ones(len(vectors), dtype=bool)
    for column in dict.fromkeys(column for column, _ in wanted):
        values = {value for name, value in wanted if name == column}
        found = table.values(column, vectors.keys, vectors.speakers)
        chosen &= np.array([value in values for value in found], dtype=bool)
    if not chosen.any():
        said = ", ".join(f"{column}={value}" for column, value in wanted)
        raise UsageError(f"no vector has {said} in {table.name}")
    rows = np.flatnonzero(chosen).tolist()
    keys, paths, speakers = (
        tuple(values[row] for row in rows)
        for values in (vectors.keys, vectors.paths, vectors.speakers)
    )
    return replace(
        vectors, keys=keys, paths=paths, speakers=speakers, vectors=vectors.vectors[chosen]
    )


def _rows(name: str, vectors: Vectors, original: Vectors) -> FloatArray:
    place = {key: row for row, key in enumerate(vectors.keys)}
    missing = [key for key in original.keys if key not in place]
    if missing:
        raise UsageError(
            f"{name}: {len(missing)} of {len(original)} vectors are missing, the first is"
            f" {missing[0]}; keys have to be those of the original vectors"
        )
    if len(vectors) > len(original):
        known = set(original.keys)
        extra = [key for key in vectors.keys if key not in known]
        raise UsageError(
            f"{name}: {len(extra)} vectors have no original, the first is {extra[0]}; keys have to"
            " be those of the original vectors"
        )
    if vectors.vectors.shape[1] != original.vectors.shape[1]:
        raise UsageError(
            f"{name}: has vectors of {vectors.vectors.shape[1]} numbers, and the original ones have"
            f" {original.vectors.shape[1]}; they cannot be compared"
        )
    whose = dict(zip(original.keys, original.speakers, strict=True))
    for key, speaker in zip(vectors.keys, vectors.speakers, strict=True):
        if speaker and whose[key] and speaker != whose[key]:
            raise UsageError(f"{name}: {key} is of {speaker}; the original is of {whose[key]}")
    return vectors.vectors[[place[key] for key in original.keys]]


def _require_sound(name: str, arrays: FloatArray, keys: Sequence[str]) -> None:
    for wrong, what in (
        (~np.isfinite(arrays).all(axis=2), "hold NaN or infinity"),
        (~arrays.any(axis=2), "have length 0"),
    ):
        if wrong.any():
            first = keys[int(wrong.any(axis=0).argmax())]
            raise UsageError(f"{name}: {int(wrong.sum())} vectors {what}, the first is {first}")


def _speakers(original: Vectors, table: AttributeTable | None) -> Names:
    speakers = original.speakers
    if table is not None and table.by_key and "speaker" in table.columns:
        listed = table.values("speaker", original.keys, speakers)
        speakers = tuple(own or other for own, other in zip(speakers, listed, strict=True))
    return np.array(speakers, dtype=np.str_)
