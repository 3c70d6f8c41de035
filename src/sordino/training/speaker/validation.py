"""The equal error rate on speakers that training does not hear."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from sordino.corpus.utterance import Utterance
from sordino.evaluate.metrics.eer import equal_error_rate
from sordino.speaker.scoring.cosine import unit
from sordino.training.waves import read_crop

FloatArray = npt.NDArray[np.float32]

_LONGEST_SECONDS = 10.0


def embed_utterances(
    encoder: nn.Module, utterances: Sequence[Utterance], sample_rate: int, device: torch.device
) -> FloatArray:
    """Vectors of the first 10 s of each utterance, shape (utterances, dimension)."""
    training = encoder.training
    encoder.eval()
    longest = round(_LONGEST_SECONDS * sample_rate)
    rows = []
    with torch.inference_mode():
        for utterance in utterances:
            samples = read_crop(utterance, sample_rate, longest, 0.0)
            wave = torch.from_numpy(samples).unsqueeze(0).to(device)
            rows.append(encoder(wave).float().cpu().numpy()[0])
    encoder.train(training)
    return np.stack(rows)


def trial_scores(
    vectors: FloatArray, utterances: Sequence[Utterance]
) -> tuple[FloatArray, FloatArray]:
    """Cosines of all pairs of utterances inside each collection: same speaker, and not."""
    rows = unit(vectors)
    groups: dict[str, list[int]] = defaultdict(list)
    for index, utterance in enumerate(utterances):
        groups[utterance.corpus or ""].append(index)
    targets: list[FloatArray] = []
    others: list[FloatArray] = []
    for group in groups.values():
        names = np.array([utterances[index].speaker for index in group])
        upper = np.triu_indices(len(group), 1)
        scores = (rows[group] @ rows[group].T)[upper].astype(np.float32)
        same = names[upper[0]] == names[upper[1]]
        targets.append(scores[same])
        others.append(scores[~same])
    return np.concatenate(targets), np.concatenate(others)


def trial_error(vectors: FloatArray, utterances: Sequence[Utterance]) -> float | None:
    """Equal error rate over all pairs inside each collection, 0 to 0.5.

    None where there are no pairs of one speaker, or none of two.
    """
    targets, others = trial_scores(vectors, utterances)
    if not targets.size or not others.size:
        return None
    return float(equal_error_rate(targets, others).rate)


def validation_error(
    encoder: nn.Module, utterances: Sequence[Utterance], sample_rate: int, device: torch.device
) -> float | None:
    """`trial_error` of an encoder in training."""
    return trial_error(embed_utterances(encoder, utterances, sample_rate, device), utterances)
