"""A corpus of voices that are nobody's, and a recipe that learns to tell them apart in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from sordino.corpus.corpus import Corpus
from sordino.corpus.utterance import Utterance
from sordino.training.speaker.recipe import SpeakerRecipe
from tests.helpers import voice

RATE = 16000
TINY: Mapping[str, Any] = {
    "architecture": "ecapa",
    "filterbank": {"bands": 24},
    "sizes": {
        "channels": 32,
        "aggregated": 48,
        "attention": 16,
        "squeeze": 16,
        "dimension": 24,
    },
}


def tiny_recipe(**sections: Mapping[str, Any] | int) -> SpeakerRecipe:
    """A recipe of 8 steps for a tiny network; sections are merged into it."""
    values: dict[str, Any] = {
        "name": "tiny",
        "network": dict(TINY),
        "data": {"validation": 0.25, "crop_seconds": [0.5, 0.5], "seed": 3},
        "augmentation": {"rooms": 2},
        "optimisation": {"steps": 8, "batch": 8, "warmup": 2, "learning_rate": 2e-3},
        "validate_every": 4,
    }
    for name, section in sections.items():
        values[name] = (
            {**values.get(name, {}), **section} if isinstance(section, Mapping) else section
        )
    return SpeakerRecipe.from_values(values)


def talkers(
    folder: Path, *, speakers: int = 8, utterances: int = 3, seconds: float = 1.0
) -> Corpus:
    """Voices in FLAC at 16 kHz, always the same."""
    found = []
    for number in range(speakers):
        long = voice(utterances * seconds, RATE, seed=number)[:, 0]
        for part, samples in enumerate(np.split(long, utterances)):
            path = folder / f"v{number}" / f"{part}.flac"
            path.parent.mkdir(parents=True, exist_ok=True)
            soundfile.write(path, samples, RATE)
            found.append(
                Utterance(
                    f"v{number}-{part}", path, f"v{number}", sex="FM"[number % 2], corpus="made"
                )
            )
    return Corpus(tuple(found))
