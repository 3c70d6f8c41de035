"""Users who exist only while they are looked at: any number of them, in no memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.federated.populations.base import HeldOut, Population
from sordino.federated.task import Examples, Ints

_GOLDEN = 0x9E3779B97F4A7C15
_HELD_OUT_USERS = 2000
_MOST_USERS = 10**10


class SyntheticPopulation(Population):
    """Speakers of several classes: a vector is its class, its speaker and its utterance added up.

    All that a user holds follows from the seed and the number of the user, whoever else is asked
    for: a cohort of a million users costs what its own vectors cost.

    Args:
        users: how many, from 1 to 10 ** 10.
        inputs: components of a vector.
        classes: how many; each user is of one.
        separation: length of the mean of a class, whose direction is random.
        between: standard deviation of speakers of a class, in each component.
        within: standard deviation of utterances of a speaker, in each component.
        least: fewest examples of a user.
        most: most examples of a user.
        seed: from 0.

    Raises:
        UsageError: a setting is out of range.

    Example:
        >>> population = SyntheticPopulation(users=1_000_000, inputs=8, classes=3)
        >>> alone, among = population.cohort(np.array([7])), population.cohort(np.array([3, 7]))
        >>> bool((alone.vectors[0, : alone.counts[0]] == among.vectors[1, : among.counts[1]]).all())
        True
    """

    def __init__(
        self,
        users: int,
        inputs: int = 40,
        classes: int = 6,
        *,
        separation: float = 3.5,
        between: float = 0.8,
        within: float = 0.6,
        least: int = 3,
        most: int = 8,
        seed: int = 0,
    ) -> None:
        if not 1 <= users <= _MOST_USERS:
            raise UsageError(f"{users:,} users are not from 1 to {_MOST_USERS:,}")
        if inputs < 1 or classes < 2 or not 1 <= least <= most:
            raise UsageError("a user has at least 1 example of at least 1 component, of 2 classes")
        if seed < 0:
            raise UsageError(f"seed {seed} is below 0")
        self.users, self.inputs = users, inputs
        self.classes = tuple(f"class {number}" for number in range(1, classes + 1))
        self._spread = between, within
        self._counts = least, most
        self._seed, self._separation = seed, separation
        means = _normals(_key(seed, "means"), np.arange(classes), inputs)
        self._means = separation * means / np.linalg.norm(means, axis=1, keepdims=True)
        others = self._examples(np.arange(_HELD_OUT_USERS), "held out")
        real = np.arange(most) < others.counts[:, None]
        weights = np.broadcast_to(1 / others.counts[:, None], real.shape)
        self.held_out = HeldOut(others.vectors[real], others.labels[real], weights[real])

    def cohort(self, chosen: Ints) -> Examples:
        """What some users hold; see `Population`."""
        return self._examples(chosen, "users")

    def facts(self) -> dict[str, Any]:
        """What it is made of."""
        return {
            "kind": "synthetic",
            "users": self.users,
            "inputs": self.inputs,
            "classes": len(self.classes),
            "separation": self._separation,
            "between": self._spread[0],
            "within": self._spread[1],
            "examples": list(self._counts),
            "seed": self._seed,
            "held_out_users": _HELD_OUT_USERS,
        }

    def _examples(self, chosen: Ints, who: str) -> Examples:
        least, most = self._counts
        drawn = _words(_key(self._seed, who, "kind"), chosen, 2)
        label = (drawn[:, 0] % np.uint64(len(self.classes))).astype(np.int64)
        counts = least + (drawn[:, 1] % np.uint64(most - least + 1)).astype(np.int64)
        between, within = self._spread
        speaker = self._means[label]
        speaker += between * _normals(_key(self._seed, who, "speaker"), chosen, self.inputs)
        noise = _normals(_key(self._seed, who, "utterances"), chosen, most * self.inputs)
        vectors = noise.reshape(len(chosen), most, self.inputs)
        vectors *= within
        vectors += speaker[:, None]
        longest = int(counts.max())
        labels = np.repeat(label[:, None], longest, axis=1)
        return Examples(vectors[:, :longest].astype(np.float32), labels, counts)


def _key(seed: int, *labels: str) -> int:
    """A number of 64 bits that depends on all of them."""
    import hashlib

    text = "/".join((str(seed), *labels)).encode("utf-8")
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "little")


def _words(key: int, rows: Ints, count: int) -> npt.NDArray[np.uint64]:
    """Words that depend on the key, the row's number and their place, shape (rows, count).

    Source: G. Steele, D. Lea and C. Flood, "Fast splittable pseudorandom number generators", 2014.
    """
    start = _mixed(np.asarray(rows).astype(np.uint64) * np.uint64(_GOLDEN) + np.uint64(key))
    steps = (np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_GOLDEN))[None]
    return _mixed(start[:, None] + steps)


def _mixed(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = words ^ (words >> np.uint64(31))
    return mixed


def _normals(key: int, rows: Ints, count: int) -> npt.NDArray[np.float64]:
    """Standard normal numbers, shape (rows, count)."""
    half = (count + 1) // 2
    words = _words(key, rows, 2 * half) >> np.uint64(12)
    uniforms = (words.astype(np.float64) + 0.5) * 2.0**-52
    radius = np.sqrt(-2 * np.log(uniforms[:, :half]))
    angle = 2 * np.pi * uniforms[:, half:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)[:, :count]
