"""Thresholds and calibration of a new encoder, from speakers that it has not heard."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError
from sordino.speaker.scoring.calibration import fit_affine
from sordino.speaker.scoring.cosine import cosine_to_mean
from sordino.speaker.scoring.threshold import threshold_for_false_accepts

FloatArray = npt.NDArray[np.float32]

RATES = (0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
ENROLMENTS = 3

_RIDGE = 1e-3


def verification_facts(
    vectors: FloatArray,
    utterances: Sequence[Utterance],
    unheard: frozenset[str],
    *,
    enrolled: FloatArray | None = None,
) -> dict[str, Any]:
    """What `sordino verify` needs to know of an encoder.

    Trials are utterances of unheard speakers. Targets are compared with up to three other
    utterances of theirs; impostors with up to three utterances of every other speaker of the same
    collection, heard or not.

    Args:
        vectors: shape (utterances, dimension).
        utterances: of heard and unheard speakers.
        unheard: the speakers that training did not hear.
        enrolled: the vectors that utterances are enrolled with, where they are others than those
            that they are tried with, shape (utterances, dimension).

    Returns:
        "thresholds" by false-accept rate, for the rates that there are trials enough for;
        "calibration" to natural-log likelihood ratios, with "slope" and "offset"; and counts.
    """
    models = vectors if enrolled is None else enrolled
    targets, others = _scores(models, vectors, utterances, unheard)
    thresholds: dict[str, float] = {}
    for rate in RATES:
        try:
            thresholds[f"{rate:g}"] = float(threshold_for_false_accepts(others, rate))
        except UsageError:
            # Too few impostors for so low a rate, and so for all lower ones.
            break
    facts: dict[str, Any] = {
        "scoring": "cosine",
        "thresholds": thresholds,
        "target_trials": int(targets.size),
        "nontarget_trials": int(others.size),
    }
    if targets.size and others.size:
        affine = fit_affine(targets, others, ridge=_RIDGE)
        facts["calibration"] = {"slope": affine.slope, "offset": affine.offset}
    return facts


def _scores(
    enrolled: FloatArray,
    vectors: FloatArray,
    utterances: Sequence[Utterance],
    unheard: frozenset[str],
) -> tuple[FloatArray, FloatArray]:
    collections: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for index, utterance in enumerate(utterances):
        collections[utterance.corpus or ""][utterance.speaker].append(index)
    targets: list[FloatArray] = []
    others: list[FloatArray] = []
    for speakers in collections.values():
        trials = _rows(speakers, unheard)
        for name, own in speakers.items():
            strangers = [index for index in trials if utterances[index].speaker != name]
            if strangers:
                others.append(cosine_to_mean(enrolled[own[:ENROLMENTS]], vectors[strangers]))
            if name in unheard and len(own) > 1:
                for index in own:
                    rest = [other for other in own if other != index][:ENROLMENTS]
                    targets.append(cosine_to_mean(enrolled[rest], vectors[[index]]))
    return _joined(targets), _joined(others)


def _rows(speakers: Mapping[str, Sequence[int]], unheard: frozenset[str]) -> list[int]:
    return [index for name, rows in speakers.items() if name in unheard for index in rows]


def _joined(parts: Sequence[npt.NDArray[np.floating]]) -> FloatArray:
    return np.concatenate([*parts, np.zeros(0)]).astype(np.float32)
