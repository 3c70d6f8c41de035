"""The concealers that come with the package."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from sordino.conceal import load
from sordino.conceal.choose import concealer_for
from sordino.speaker.encoders import load_encoder

NAMES = ("conceal-sex-ecapa-small", "conceal-sex-ge2e")


@pytest.mark.parametrize("name", NAMES)
def test_small_described_and_ready_to_release(name):
    concealer = load(name)
    about = concealer.description
    assert (about.attributes, about.mechanism, about.latent) == (("sex",), "privunit", 16)
    assert concealer.bundle.size < 100_000
    for part in ("Licence of the weights", "## Figures", "## Limits", "Made again by"):
        assert part in concealer.bundle.card
    rows = np.random.default_rng(0).normal(size=(50, about.dimension)).astype(np.float32)
    protected = concealer.conceal(rows, epsilon=15)
    assert protected.shape == rows.shape
    # The decoder keeps angles, and PrivUnit gives all the same length.
    lengths = np.linalg.norm(protected, axis=1)
    assert lengths == pytest.approx(lengths.mean(), rel=1e-3)
    for sides in ("both", "one"):
        for epsilon in (15, math.inf):
            assert concealer.verification(sides, epsilon)["thresholds"]


def test_the_default_encoder_has_one(tmp_path):
    encoder = load_encoder("ecapa-small")
    nobody = {"SORDINO_MODELS": str(tmp_path)}
    assert concealer_for(encoder.digest, environment=nobody) == NAMES[0]


def test_on_people_it_did_not_learn_from(speech_root: Path):
    """Forty test speakers: the sex goes, the two halves of each recording stay close."""
    with (speech_root / "manifest.csv").open(encoding="utf-8") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if (row["corpus"], row["split"]) == ("librispeech_1utt", "test")
        ]
    halves: dict[str, list[str]] = {}
    sexes = {row["speaker"]: row["sex"] for row in rows}
    for row in rows:
        halves.setdefault(row["speaker"], []).append(row["path"])
    people = [
        speaker
        for sex in "FM"
        for speaker in [s for s in halves if sexes[s] == sex and len(halves[s]) == 2][:20]
    ]
    encoder = load_encoder("ecapa-small")
    vectors = np.array([encoder.embed_file(speech_root / p) for s in people for p in halves[s]])
    protected = load(NAMES[0]).conceal(vectors)
    female = np.repeat([sexes[speaker] == "F" for speaker in people], 2)
    learnt = np.arange(len(vectors)) // 2 % 2 == 0

    def area(templates):
        means = [templates[learnt & (female == side)].mean(axis=0) for side in (True, False)]
        return roc_auc_score(female[~learnt], templates[~learnt] @ (means[0] - means[1]))

    assert area(vectors) > 0.95
    assert abs(area(protected) - 0.5) < 0.25
    units = protected / np.linalg.norm(protected, axis=1, keepdims=True)
    cosines = units[::2] @ units[1::2].T
    assert np.diag(cosines).mean() > cosines.mean() + 0.5
