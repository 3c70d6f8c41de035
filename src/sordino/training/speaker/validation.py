"""The equal error rate on speakers that training does not hear."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from sordino.corpus.corpus import Corpus
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError
from sordino.evaluate.metrics.eer import equal_error_rate
from sordino.speaker.scoring.cosine import unit
from sordino.training.speaker.data import read_crop

FloatArray = npt.NDArray[np.float32]

_LONGEST_SECONDS = 10.0


def hold_out(corpus: Corpus, share: float, seed: int) -> tuple[Corpus, Corpus]:
    """Part a corpus by speakers into training and validation.

    The share is taken from each collection and sex, by a hash of the speaker's id: another order of
    the utterances changes nothing, and each speaker that is added moves at most one other.

    Args:
        corpus: at least two speakers.
        share: of the speakers, for validation.
        seed: other seeds choose others.

    Raises:
        UsageError: no speaker would be left on one of the sides.
    """
    strata: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, utterances in corpus.by_speaker().items():
        strata[utterances[0].corpus or "", utterances[0].sex or ""].append(name)
    chosen: set[str] = set()
    for names in strata.values():
        ranked = sorted(names, key=lambda name: zlib.crc32(f"{seed}/{name}".encode()))
        chosen.update(ranked[: round(share * len(ranked))])
    sides = [
        tuple(utterance for utterance in corpus if (utterance.speaker in chosen) is held)
        for held in (False, True)
    ]
    if not all(sides):
        raise UsageError(
            f"{len(corpus.speakers)} speakers cannot be parted into training and a share of"
            f" {share:g} for validation"
        )
    return Corpus(sides[0]), Corpus(sides[1])


def thinned(utterances: Sequence[Utterance], most: int, seed: int) -> list[Utterance]:
    """At most so many utterances, drawn by a hash of their ids, in their order.

    Example:
        >>> thinned([Utterance("a", Path("a.wav"), "anna")], 10, 0)[0].id
        'a'
    """
    ranked = sorted(utterances, key=lambda u: zlib.crc32(f"{seed}/{u.id}".encode()))
    chosen = {utterance.id for utterance in ranked[:most]}
    return [utterance for utterance in utterances if utterance.id in chosen]


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
