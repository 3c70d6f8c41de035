"""The back ends together on real speech, with plain spectral averages as speaker vectors."""

from __future__ import annotations

import csv

import numpy as np
import pytest
import soundfile

from sordino.speaker.scoring.backend import CosineBackend
from sordino.speaker.scoring.calibration import fit_affine
from sordino.speaker.scoring.lda import fit_lda
from sordino.speaker.scoring.plda import fit_plda
from sordino.speaker.scoring.threshold import threshold_for_false_accepts

SECONDS = 3


def spectral_averages(samples):
    """Mean and deviation over time of log energies in 40 bands, wider towards high ones."""
    frames = samples[: samples.size // 400 * 400].reshape(-1, 400) * np.hanning(400)
    power = np.abs(np.fft.rfft(frames, 512)) ** 2
    edges = np.unique(np.geomspace(4, 257, 41).round().astype(int))
    bands = np.log(np.add.reduceat(power, edges[:-1], axis=1) + 1e-8)
    bands -= bands.mean(axis=1, keepdims=True)
    return np.concatenate([bands.mean(axis=0), bands.std(axis=0)])


@pytest.fixture(scope="module")
def speech(speech_root):
    """Vectors, speakers and splits of one corpus of many speakers."""
    with (speech_root / "manifest.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["corpus"] == "speechocean762"]
    vectors = [
        spectral_averages(soundfile.read(speech_root / row["path"], frames=16000 * SECONDS)[0])
        for row in rows
    ]
    speakers, splits = (np.array([row[key] for row in rows]) for key in ("speaker", "split"))
    return np.array(vectors), speakers, splits


def scores_of(backend, vectors, speakers):
    """Targets and non-targets: each speaker enrols with two utterances, all others are tried."""
    targets, nontargets = [], []
    for speaker in np.unique(speakers):
        own = np.flatnonzero(speakers == speaker)
        scores = backend.score(vectors[own[:2]], vectors)
        targets.append(scores[own[2:]])
        nontargets.append(scores[speakers != speaker])
    return np.concatenate(targets), np.concatenate(nontargets)


def confused(targets, nontargets):
    """Share of pairs of a target and a non-target that are in the wrong order."""
    return float(np.mean(targets[:, None] <= nontargets))


def test_back_ends_of_other_speakers_tell_speakers_apart_better(speech):
    vectors, speakers, splits = speech
    known, fresh = splits == "dev", splits == "test"
    assert not set(speakers[known]) & set(speakers[fresh])
    learn = vectors[known], speakers[known]
    shares = {
        name: confused(*scores_of(backend, vectors[fresh], speakers[fresh]))
        for name, backend in {
            "cosine": CosineBackend(),
            "lda": CosineBackend(fit_lda(*learn, 30)),
            "plda": fit_plda(*learn),
        }.items()
    }
    assert shares["plda"] < shares["lda"] < 0.6 * shares["cosine"]


def test_calibration_and_threshold_hold_on_other_speakers(speech):
    vectors, speakers, splits = speech
    known, fresh = splits == "dev", splits == "test"
    plda = fit_plda(vectors[known], speakers[known])
    half = np.isin(speakers, np.unique(speakers[fresh])[::2])
    tuning = scores_of(plda, vectors[fresh & half], speakers[fresh & half])
    testing = scores_of(plda, vectors[fresh & ~half], speakers[fresh & ~half])
    calibrate = fit_affine(*tuning)
    targets, nontargets = (calibrate(scores) for scores in testing)
    cost = 0.5 * (np.logaddexp(0, -targets).mean() + np.logaddexp(0, nontargets).mean())
    raw = 0.5 * (np.logaddexp(0, -testing[0]).mean() + np.logaddexp(0, testing[1]).mean())
    assert cost < min(raw, 0.9 * np.log(2))
    threshold = threshold_for_false_accepts(tuning[1], 0.05)
    assert 0.02 < np.mean(testing[1] >= threshold) < 0.1
