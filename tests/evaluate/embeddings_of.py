"""Made vectors of made people."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sordino.evaluate.attributes.table import AttributeTable
from sordino.speaker.vectors import Vectors


def made(
    speakers: int = 40, takes: int = 4, *, distance: float = 5.0, dimension: int = 8, seed: int = 0
) -> Vectors:
    """People with a place each; every other one is moved along the first direction."""
    rng = np.random.default_rng(seed)
    names = [f"s{number:03}" for number in range(speakers)]
    places = rng.normal(0, 1, (speakers, dimension))
    places[:, 0] += distance * (np.arange(speakers) % 2)
    vectors = np.repeat(places, takes, axis=0) + rng.normal(0, 0.3, (speakers * takes, dimension))
    keys = tuple(f"{name}/{take}" for name in names for take in range(takes))
    return Vectors(
        keys, keys, tuple(key[:4] for key in keys), vectors.astype(np.float32), "made", "0"
    )


def noisy(vectors: Vectors, deviation: float, seed: int) -> Vectors:
    """The same with fresh Laplace noise."""
    noise = np.random.default_rng(seed).laplace(0, deviation / np.sqrt(2), vectors.vectors.shape)
    return replace(vectors, vectors=(vectors.vectors + noise).astype(np.float32))


def table_of(vectors: Vectors, **more: dict[str, str]) -> AttributeTable:
    """Sex of the people: F, M, F, M, ...; and further columns."""
    rows = {
        name: {"speaker": name, "sex": "FM"[int(name[1:]) % 2]}
        | {column: values[name] for column, values in more.items()}
        for name in sorted(set(vectors.speakers))
    }
    return AttributeTable("table.csv", False, ("speaker", "sex", *more), rows, {})
