"""Vectors with speakers and side information, and who is heard where."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sordino.corpus.corpus import Corpus
from sordino.corpus.partition import split_speakers
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError
from sordino.evaluate.attributes.table import AttributeTable
from sordino.speaker.vectors import Vectors

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

UNKNOWN = -1

_COLLECTIONS = "corpus"
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, eq=False)
class SideData:
    """Vectors, whose they are, and what the users keep private.

    Attributes:
        keys: of the vectors, shape (n,).
        speakers: whose they are, shape (n,).
        collections: where each comes from, or "", shape (n,).
        vectors: float32, shape (n, inputs).
        classes: of the side information, sorted, at least two.
        labels: numbers of classes, -1 where nobody knows, shape (n,).
        tried: whether the speaker is one of those that verification is measured with, shape (n,).
    """

    keys: tuple[str, ...]
    speakers: npt.NDArray[np.str_]
    collections: npt.NDArray[np.str_]
    vectors: Floats
    classes: tuple[str, ...]
    labels: Ints
    tried: Bools

    @property
    def users(self) -> Bools:
        """Rows of those who can take part in federated training, shape (n,)."""
        mine: Bools = ~self.tried & (self.labels != UNKNOWN)
        return mine

    def standardised(self) -> tuple[SideData, Floats, Floats]:
        """Vectors of mean 0 and deviation 1 over the training speakers, and both as they were.

        Training speakers are known centrally, so that users reveal nothing by it.
        """
        heard = self.vectors[self.training(None, 0)]
        mean = heard.mean(axis=0)
        deviation = np.maximum(heard.std(axis=0), 1e-6).astype(np.float32)
        return replace(self, vectors=(self.vectors - mean) / deviation), mean, deviation

    def corpus_of(self, chosen: Bools) -> Corpus:
        """Some of the rows as utterances, for trials and partitions."""
        return Corpus(
            tuple(
                Utterance(
                    self.keys[row],
                    Path(self.keys[row]),
                    str(self.speakers[row]),
                    corpus=str(self.collections[row]) or None,
                )
                for row in np.flatnonzero(chosen)
            )
        )

    def training(self, most: int | None, seed: int) -> Bools:
        """Rows of the speakers that speaker networks are trained on: those with two or more.

        Args:
            most: how many speakers at most, drawn by the seed; None for all.
            seed: of the draw.

        Raises:
            UsageError: there are fewer than two.
        """
        counts = Counter(self.speakers[~self.tried].tolist())
        several = sorted(name for name, count in counts.items() if count > 1)
        if len(several) < 2:
            raise UsageError("a speaker network needs two speakers with two vectors each")
        if most is not None and most < len(several):
            drawn = np.random.default_rng([seed, 1]).choice(len(several), most, replace=False)
            several = [several[number] for number in drawn]
        return ~self.tried & np.isin(self.speakers, several)

    def held_back(self, rows: Bools) -> Bools:
        """The last vector of each speaker with three or more, to count who is told rightly."""
        back = np.zeros(len(rows), dtype=bool)
        places = np.flatnonzero(rows)
        _, first, counts = np.unique(
            self.speakers[places][::-1], return_index=True, return_counts=True
        )
        back[places[::-1][first[counts > 2]]] = True
        return back


def side_data(
    vectors: Vectors,
    table: AttributeTable,
    side: Sequence[str],
    tried: tuple[str, str] | None = None,
    *,
    least: int = 4,
    seed: int = 0,
) -> SideData:
    """Put vectors and side information together.

    Args:
        vectors: with speakers.
        table: what is known of keys or speakers; a column `corpus` keeps trials inside collections.
        side: columns of it, at least one; several make one class for each combination. A name
            followed by ":" and numbers cuts a column of numbers, or of ranges such as 20-29, of
            which the lower end counts, into bands: "age:30,50".
        tried: a column and the value of those speakers that verification is measured with; None
            for half of the speakers, parted by the seed.
        least: classes with fewer speakers outside the tried ones count as not known.
        seed: of the partition.

    Raises:
        UsageError: a column is missing or has no numbers, fewer than two classes are left, or
            nobody is left on a side.
    """
    if not side:
        raise UsageError("name at least one column of side information")
    silent = [key for key, who in zip(vectors.keys, vectors.speakers, strict=True) if not who]
    if silent:
        raise UsageError(f"{silent[0]}: nobody says who speaks")
    odd = ~np.isfinite(vectors.vectors).all(axis=1)
    if odd.any():
        raise UsageError(f"{vectors.keys[int(odd.argmax())]}: its vector holds NaN or infinity")
    parts = [_column(vectors, table, name) for name in side]
    said = [" ".join(words) if all(words) else "" for words in zip(*parts, strict=True)]
    speakers = np.array(vectors.speakers, dtype=np.str_)
    collections = ("",) * len(vectors)
    if _COLLECTIONS in table.columns:
        collections = table.values(_COLLECTIONS, vectors.keys, vectors.speakers)
    names = np.array(collections, dtype=np.str_)
    apart = _tried(vectors, table, names, tried, seed)
    heard = {
        (word, name)
        for word, name, away in zip(said, vectors.speakers, apart.tolist(), strict=True)
        if word and not away
    }
    counts = Counter(word for word, _ in heard)
    classes = tuple(sorted(word for word, count in counts.items() if count >= least))
    if len(classes) < 2:
        raise UsageError(
            f"{' and '.join(side)}: {len(classes)} class has {least} speakers or more outside the"
            " tried ones; two are needed"
        )
    labels = [classes.index(word) if word in classes else UNKNOWN for word in said]
    return SideData(
        vectors.keys,
        speakers,
        names,
        vectors.vectors.astype(np.float32),
        classes,
        np.array(labels, dtype=np.int64),
        apart,
    )


def band(value: str, cuts: Sequence[float]) -> str:
    """Which of the bands between cuts a number lies in; "" where there is no number.

    Args:
        value: text that begins with a number.
        cuts: rising.

    Example:
        >>> band("24", [30, 50]), band("50-69", [30, 50]), band("", [30])
        ('below 30', 'from 50', '')
    """
    found = _NUMBER.match(value.strip())
    if not found:
        return ""
    place = int(np.searchsorted(cuts, float(found[0]), "right"))
    if place == 0:
        return f"below {cuts[0]:g}"
    if place == len(cuts):
        return f"from {cuts[-1]:g}"
    return f"{cuts[place - 1]:g} to {cuts[place]:g}"


def _column(vectors: Vectors, table: AttributeTable, side: str) -> tuple[str, ...]:
    name, colon, limits = side.partition(":")
    values = table.values(name, vectors.keys, vectors.speakers)
    if not colon:
        return values
    try:
        cuts = [float(cut) for cut in limits.split(",")]
    except ValueError:
        raise UsageError(f"{side!r}: after the column come numbers, as in age:30,50") from None
    if cuts != sorted(set(cuts)):
        raise UsageError(f"{side!r}: the numbers should rise")
    return tuple(band(value, cuts) for value in values)


def _tried(
    vectors: Vectors,
    table: AttributeTable,
    collections: npt.NDArray[np.str_],
    tried: tuple[str, str] | None,
    seed: int,
) -> Bools:
    if tried is not None:
        column, value = tried
        found = table.values(column, vectors.keys, vectors.speakers)
        apart = np.array([one == value for one in found], dtype=bool)
    else:
        corpus = Corpus(
            tuple(
                Utterance(key, Path(key), speaker, corpus=str(collection) or None)
                for key, speaker, collection in zip(
                    vectors.keys, vectors.speakers, collections, strict=True
                )
            )
        )
        _, others = split_speakers(corpus, 0.5, seed)
        apart = np.isin(np.array(vectors.speakers, dtype=np.str_), others.speakers)
    if tried is not None and (apart.all() or not apart.any()):
        whose = "every" if apart.any() else "no"
        raise UsageError(
            f"--held-out {tried[0]}={tried[1]}: {table.name} says this of {whose} speaker; both"
            " such and others are needed"
        )
    if apart.all() or not apart.any():
        raise UsageError(
            "speakers are needed for training and others to be tried: one side is empty"
        )
    both = set(np.array(vectors.speakers)[apart]) & set(np.array(vectors.speakers)[~apart])
    if both:
        raise UsageError(f"speaker {min(both)} is on both sides; a speaker belongs to one")
    return apart
