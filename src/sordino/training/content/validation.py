"""How well units and features are guessed for speakers that training does not hear."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from sordino.corpus.utterance import Utterance
from sordino.training.content.data import HOP
from sordino.training.content.task import ContentTask
from sordino.training.features.cache import RowCache
from sordino.training.waves import part_of_wave

_MOST_FRAMES = 500

MEASURES = ("unit", "feature", "accuracy")


def validate(
    task: ContentTask,
    utterances: Sequence[Utterance],
    units: RowCache,
    features: RowCache | None,
    device: torch.device,
) -> dict[str, float]:
    """Losses on the first 10 s of utterances as they are, a mean over all frames.

    Args:
        task: left in the mode that it is in.
        utterances: of speakers that are set aside.
        units: the teacher's.
        features: the teacher's, or None where they are not learned.
        device: that the task is on.

    Returns:
        "valid_unit", "valid_feature" and "valid_accuracy"; see `ContentLosses`.
    """
    training = task.training
    task.eval()
    sums, frames = np.zeros(len(MEASURES)), 0
    with torch.inference_mode():
        for utterance in utterances:
            labels = units.read(utterance, 0, _MOST_FRAMES).astype(np.int64)
            rows = (
                np.zeros((len(labels), 0), np.float32)
                if features is None
                else features.read(utterance, 0, _MOST_FRAMES).astype(np.float32)
            )
            wave = part_of_wave(utterance, 0, HOP * len(labels))
            losses = task(
                *(torch.from_numpy(array).unsqueeze(0).to(device) for array in (wave, labels, rows))
            )
            found = [float(getattr(losses, name)) for name in MEASURES]
            sums += len(labels) * np.array(found)
            frames += len(labels)
    task.train(training)
    return {
        f"valid_{name}": float(value) for name, value in zip(MEASURES, sums / frames, strict=True)
    }
