"""Speakers whose class shows in their vectors, made up."""

from __future__ import annotations

import numpy as np

from sordino.evaluate.attributes.table import AttributeTable
from sordino.speaker.vectors import Vectors


def made_up(
    speakers: int = 24, takes: int = 5, inputs: int = 12, seed: int = 0
) -> tuple[Vectors, AttributeTable]:
    """Vectors of speakers of two classes, and a table; every second pair of speakers is "test"."""
    generator = np.random.default_rng(seed)
    rows, keys, names = [], [], []
    table: dict[str, dict[str, str]] = {}
    for speaker in range(speakers):
        name = f"s{speaker:02}"
        label = speaker % 2
        voice = generator.normal(size=inputs)
        voice[0] = 3.0 * (2 * label - 1)
        table[name] = {
            "speaker": name,
            "sex": "FM"[label],
            "age": f"{20 + speaker}",
            "corpus": "one" if speaker % 4 < 2 else "two",
            "split": "test" if speaker % 8 >= 4 else "dev",
        }
        for take in range(takes):
            keys.append(f"{name}-{take}")
            names.append(name)
            rows.append(voice + 0.5 * generator.normal(size=inputs))
    vectors = Vectors(
        tuple(keys), ("",) * len(keys), tuple(names), np.array(rows, dtype=np.float32), "toy", "0"
    )
    columns = ("speaker", "sex", "age", "corpus", "split")
    return vectors, AttributeTable("toy", False, columns, table, {})
