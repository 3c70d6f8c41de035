"""Vectors with what is known of them, and which of them a step learns from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from torch.utils.data import Dataset
from tqdm import tqdm

from sordino.corpus.corpus import Corpus
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError
from sordino.evaluate.attributes.table import AttributeTable
from sordino.speaker.base import SpeakerEncoder
from sordino.speaker.vectors import Vectors
from sordino.training.concealer.losses import UNKNOWN
from sordino.training.hold_out import hold_out
from sordino.training.speaker.teacher import teacher_vectors

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Names = npt.NDArray[np.str_]

_COLLECTIONS = "corpus"


@dataclass(frozen=True)
class Attribute:
    """What is concealed.

    Attributes:
        name: of the attribute.
        values: sorted, at least two.
    """

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Vectors with their speakers and attributes.

    Attributes:
        vectors: float64, shape (n, dimension).
        speakers: whose they are, shape (n,).
        collections: where each comes from, or "", shape (n,).
        attributes: what is concealed.
        labels: numbers of values, -1 where nobody knows, shape (n, attributes).
    """

    vectors: FloatArray
    speakers: Names
    collections: Names
    attributes: tuple[Attribute, ...]
    labels: IntArray

    def __len__(self) -> int:
        return len(self.vectors)

    def rows(self, chosen: npt.NDArray[np.generic]) -> Labelled:
        """Some of the vectors."""
        return Labelled(
            self.vectors[chosen],
            self.speakers[chosen],
            self.collections[chosen],
            self.attributes,
            self.labels[chosen],
        )

    @property
    def speaker_numbers(self) -> IntArray:
        """Speakers counted in the order of their names, shape (n,)."""
        return np.unique(self.speakers, return_inverse=True)[1].astype(np.int64)

    @property
    def by_speaker(self) -> FloatArray:
        """What each vector counts, so that speakers count the same; of mean 1, shape (n,)."""
        numbers = self.speaker_numbers
        shares = 1.0 / np.bincount(numbers)[numbers]
        return np.asarray(shares / shares.mean())

    @property
    def utterances(self) -> tuple[Utterance, ...]:
        """The vectors as utterances of a collection, for trials."""
        return tuple(
            Utterance(str(row), Path(str(row)), str(speaker), corpus=str(collection) or None)
            for row, (speaker, collection) in enumerate(
                zip(self.speakers, self.collections, strict=True)
            )
        )

    def facts(self) -> dict[str, object]:
        """What tells these vectors from others, for `record.settle`."""
        digest = hashlib.sha256()
        digest.update(repr((self.speakers.tolist(), self.collections.tolist())).encode())
        digest.update(self.labels.tobytes())
        digest.update(np.ascontiguousarray(self.vectors).tobytes())
        return {
            "vectors": len(self),
            "speakers": int(np.unique(self.speakers).size),
            "attributes": {known.name: list(known.values) for known in self.attributes},
            "digest": digest.hexdigest(),
        }


def labelled(vectors: Vectors, table: AttributeTable, attributes: Sequence[str]) -> Labelled:
    """Vectors with the attributes that a table knows.

    Args:
        vectors: with speakers.
        table: the attributes; where it has a column `corpus`, trials stay inside a collection.
        attributes: names of columns, at least one, each once.

    Raises:
        UsageError: a vector has no speaker or no direction, the table has no such column, or an
            attribute has fewer than two values.
    """
    if not attributes or len(set(attributes)) < len(attributes):
        raise UsageError("name at least one attribute, each once")
    silent = [key for key, who in zip(vectors.keys, vectors.speakers, strict=True) if not who]
    if silent:
        raise UsageError(f"{silent[0]}: nobody says who speaks")
    rows = vectors.vectors.astype(np.float64)
    odd = ~np.isfinite(rows).all(axis=1) | ~rows.any(axis=1)
    if odd.any():
        raise UsageError(f"{vectors.keys[int(odd.argmax())]}: its vector is zero, NaN or infinite")
    columns = [table.values(name, vectors.keys, vectors.speakers) for name in attributes]
    known = tuple(
        Attribute(name, tuple(sorted(set(column) - {""})))
        for name, column in zip(attributes, columns, strict=True)
    )
    for attribute in known:
        if len(attribute.values) < 2:
            raise UsageError(
                f"attribute {attribute.name}: {table.name} has"
                f" {len(attribute.values) or 'no'} value for these vectors; two are needed"
            )
    labels = [
        [attribute.values.index(value) if value else UNKNOWN for value in column]
        for attribute, column in zip(known, columns, strict=True)
    ]
    collections = ("",) * len(vectors)
    if _COLLECTIONS in table.columns:
        collections = table.values(_COLLECTIONS, vectors.keys, vectors.speakers)
    return Labelled(
        rows,
        np.array(vectors.speakers, dtype=np.str_),
        np.array(collections, dtype=np.str_),
        known,
        np.array(labels, dtype=np.int64).T.copy(),
    )


def chosen(vectors: Vectors, table: AttributeTable, only: Sequence[tuple[str, str]]) -> Vectors:
    """Vectors of which a table says what is asked for.

    Args:
        vectors: to choose from.
        table: by key or speaker.
        only: columns with values; several values of one column add up.

    Raises:
        UsageError: the table has no such column, or nothing is left.
    """
    kept = np.ones(len(vectors), dtype=bool)
    for column in dict.fromkeys(column for column, _ in only):
        wanted = {value for name, value in only if name == column}
        found = table.values(column, vectors.keys, vectors.speakers)
        kept &= np.array([value in wanted for value in found], dtype=bool)
    if not kept.any():
        raise UsageError("no vector is left: the table says of none what is asked for")
    keys, paths, speakers = (
        tuple(text for text, keep in zip(texts, kept.tolist(), strict=True) if keep)
        for texts in (vectors.keys, vectors.paths, vectors.speakers)
    )
    return Vectors(
        keys,
        paths,
        speakers,
        vectors=vectors.vectors[kept],
        encoder=vectors.encoder,
        digest=vectors.digest,
    )


def without(
    table: AttributeTable, attributes: Sequence[str], unknown: Sequence[tuple[str, str]]
) -> AttributeTable:
    """A table that does not know attributes where it says something that makes them doubtful.

    Args:
        table: as it is.
        attributes: columns that become "" in such rows.
        unknown: columns with values; a row with any of them is such a row.

    Raises:
        UsageError: the table has no such column.
    """
    for column, _ in unknown:
        table.values(column, (), ())
    silent = dict.fromkeys(attributes, "")
    rows = {
        name: {**row, **silent}
        if any(row.get(column) == value for column, value in unknown)
        else row
        for name, row in table.rows.items()
    }
    return replace(table, rows=rows)


def embedded(corpus: Corpus, encoder: SpeakerEncoder, folder: Path, *, quiet: bool) -> Vectors:
    """Vectors of a corpus; those that are there from an earlier call stay.

    Args:
        corpus: the speech.
        encoder: what makes them.
        folder: where they are kept; it is made where there is none.
        quiet: show no progress.

    Raises:
        AudioError: a recording cannot be read.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tqdm(total=len(corpus), desc="vectors", unit="utt", disable=quiet) as bar:
        rows = teacher_vectors(
            encoder, corpus.utterances, cache=folder / "vectors.npz", tick=bar.update
        )
    return Vectors(
        tuple(utterance.id for utterance in corpus),
        ("",) * len(corpus),
        tuple(utterance.speaker for utterance in corpus),
        rows,
        encoder.name,
        encoder.digest,
    )


def parted(data: Labelled, share: float, seed: int) -> tuple[Labelled, Labelled]:
    """Training and validation: other speakers, with as much of each collection and value.

    Raises:
        UsageError: there are too few speakers, or a value is of none that training sees.
    """
    kinds = [
        f"{collection} {labels.tolist()}"
        for collection, labels in zip(data.collections, data.labels, strict=True)
    ]
    corpus = Corpus(
        tuple(
            Utterance(str(row), Path(str(row)), str(speaker), corpus=kind)
            for row, (speaker, kind) in enumerate(zip(data.speakers, kinds, strict=True))
        )
    )
    sides = hold_out(corpus, share, seed)
    training, validation = (
        data.rows(np.array([int(utterance.id) for utterance in side])) for side in sides
    )
    for number, attribute in enumerate(data.attributes):
        for label, value in enumerate(attribute.values):
            if not (training.labels[:, number] == label).any():
                raise UsageError(
                    f"attribute {attribute.name}: no speaker of training has the value {value};"
                    " use more speakers of each value"
                )
    return training, validation


class Rows(Dataset[int]):
    """Which vector is item number so and so of a run; a function of the seed and the number.

    Args:
        data: to choose from.
        draw: "template": all vectors once in each pass, shuffled; "speaker": all speakers once in
            each pass, and of each a vector by chance.
        seed: other seeds, other passes.
    """

    def __init__(self, data: Labelled, draw: str, seed: int) -> None:
        self._seed = seed
        numbers = data.speaker_numbers
        self._groups = (
            [np.flatnonzero(numbers == number) for number in range(int(numbers.max()) + 1)]
            if draw == "speaker"
            else [np.array([row]) for row in range(len(data))]
        )
        self._pass: tuple[int, IntArray] = (-1, np.zeros(0, np.int64))

    def __getitem__(self, number: int) -> int:
        turn, place = divmod(number, len(self._groups))
        if self._pass[0] != turn:
            generator = np.random.default_rng([self._seed, turn])
            order = [
                int(self._groups[group][generator.integers(self._groups[group].size)])
                for group in generator.permutation(len(self._groups))
            ]
            self._pass = (turn, np.array(order, dtype=np.int64))
        return int(self._pass[1][place])
