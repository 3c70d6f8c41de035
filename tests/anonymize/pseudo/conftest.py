"""A pool of real voices."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from sordino.anonymize.pseudo.pool import Pool
from sordino.speaker.encoders import load_encoder

OF_EACH_SEX = 30


@pytest.fixture(scope="session")
def real_pool(speech_root: Path) -> Pool:
    """30 women and 30 men, one short recording of each, by the encoder that ships."""
    with (speech_root / "manifest.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["corpus"] == "librispeech_1utt"]
    with (speech_root / "speakers.csv").open(encoding="utf-8", newline="") as file:
        pitch = {row["speaker"]: row["median_f0_hz"] for row in csv.DictReader(file)}
    first = {row["speaker"]: row for row in reversed(rows) if row["split"] == "dev"}
    chosen = [
        first[speaker]
        for sex in "FM"
        for speaker in sorted(name for name, row in first.items() if row["sex"] == sex)[
            :OF_EACH_SEX
        ]
    ]
    encoder = load_encoder("ecapa-small")
    vectors = np.stack([encoder.embed_file(speech_root / row["path"]) for row in chosen])
    means = np.log([float(pitch[row["speaker"]]) for row in chosen])
    return Pool(vectors, np.array([row["sex"] for row in chosen]), means, np.full(len(means), 0.2))
