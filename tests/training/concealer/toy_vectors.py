"""Vectors of people who are nobody, and recipes that train in a second."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sordino.evaluate.attributes.table import AttributeTable
from sordino.speaker.vectors import Vectors
from sordino.training.concealer.recipe import ConcealerRecipe

DIMENSION = 12
DIGEST = "ab" * 32


def people(speakers: int = 40, each: int = 3, seed: int = 0) -> Vectors:
    """Speakers in turn F and M: apart in their mean, and F vary more than M in one direction."""
    rng = np.random.default_rng(seed)
    female = np.arange(speakers) % 2 == 0
    middle = rng.normal(size=(speakers, DIMENSION))
    middle[:, 0] += np.where(female, 3.0, -3.0)
    middle[:, 1] *= np.where(female, 3.0, 0.5)
    rows = np.repeat(middle, each, axis=0) + 0.3 * rng.normal(size=(speakers * each, DIMENSION))
    names = [f"p{number:03}" for number in range(speakers) for _ in range(each)]
    keys = tuple(f"{name}/{row}" for row, name in enumerate(names))
    return Vectors(keys, ("",) * len(keys), tuple(names), rows.astype(np.float32), "tiny", DIGEST)


def table_of(vectors: Vectors, path: Path, unknown: frozenset[str] = frozenset()) -> AttributeTable:
    """Sex, age group (of three), collection and split of the people, as a file and a table."""
    lines = ["speaker,sex,age,corpus,split,label_check"]
    for number, name in enumerate(sorted(set(vectors.speakers))):
        sex = "" if name in unknown else "FM"[number % 2]
        age = ("young", "middle", "old")[number // 2 % 3]
        check = "doubtful" if number % 10 == 9 else ""
        lines.append(
            f"{name},{sex},{age},c{number // 20 % 2},{'dev' if number < 30 else 'test'},{check}"
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return AttributeTable.read(path)


GATED = {
    "network": {"architecture": "gated"},
    "data": {"unit_length": True, "draw": "speaker"},
    "start": {"networks": "barycentre"},
    "noise": {"mechanism": "privunit"},
}


def toy(*bases: Mapping[str, object], **sections: object) -> ConcealerRecipe:
    """A recipe of 6 steps for tiny networks; bases and sections are merged into it."""
    values: dict[str, object] = {
        "name": "toy",
        "network": {"architecture": "autoencoder", "latent": 5},
        "data": {"validation": 0.2, "seed": 3},
        "adversary": {"hidden": [4]},
        "optimisation": {"steps": 6, "batch": 16},
        "validate_every": 3,
    }
    for given in (*bases, sections):
        for name, section in given.items():
            old = values.get(name)
            both = isinstance(section, Mapping) and isinstance(old, Mapping)
            values[name] = {**old, **section} if both else section  # type: ignore[dict-item]
    return ConcealerRecipe.from_values(values)
