from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is in the extra train, not installed")

from torch import nn

from sordino.corpus.utterance import Utterance
from sordino.training.speaker.validation import (
    embed_utterances,
    trial_error,
    trial_scores,
    validation_error,
)
from tests.talkers import RATE
from tests.training.many_speakers import many, named

CPU = torch.device("cpu")


class TestTrials:
    def test_scores_are_those_of_all_pairs_inside_a_collection(self):
        rng = np.random.default_rng(0)
        utterances = [*many(3), *named("none", "F", "A")]
        utterances[-1] = replace(utterances[-1], corpus=None)
        rng.shuffle(utterances)
        vectors = rng.standard_normal((len(utterances), 5)).astype(np.float32)
        targets, others = [], []
        for i, one in enumerate(utterances):
            for j, other in enumerate(utterances[:i]):
                if one.corpus == other.corpus:
                    a, b = vectors[i].astype(float), vectors[j].astype(float)
                    score = a @ b / np.sqrt((a @ a) * (b @ b))
                    (targets if one.speaker == other.speaker else others).append(score)
        found = trial_scores(vectors, utterances)
        assert np.allclose(np.sort(found[0]), np.sort(targets), atol=1e-6)
        assert np.allclose(np.sort(found[1]), np.sort(others), atol=1e-6)

    def test_separated_speakers_have_no_error(self):
        utterances = many(3, "A")
        names = sorted({utterance.speaker for utterance in utterances})
        vectors = np.eye(6, dtype=np.float32)[[names.index(u.speaker) for u in utterances]]
        assert trial_error(vectors, utterances) == 0

    def test_vectors_without_meaning_err_half_the_time(self):
        utterances = many(20, "A")
        vectors = np.random.default_rng(0).standard_normal((len(utterances), 16))
        assert trial_error(vectors.astype(np.float32), utterances) == pytest.approx(0.5, abs=0.07)

    @pytest.mark.parametrize("chosen", [slice(0, 3), slice(0, None, 3)])
    def test_without_pairs_of_a_kind_there_is_no_error_to_tell(self, chosen):
        utterances = many(3, "A")[chosen]
        vectors = np.random.default_rng(0).standard_normal((len(utterances), 4))
        assert trial_error(vectors.astype(np.float32), utterances) is None


class Loudest(nn.Module):
    """A toy encoder: the spectrum in 64 bands, behind dropout and batch normalisation."""

    def __init__(self) -> None:
        super().__init__()
        self.dropout = nn.Dropout(0.9)
        self.norm = nn.BatchNorm1d(64)
        self.lengths: list[int] = []

    def forward(self, wave: torch.Tensor) -> torch.Tensor:
        self.lengths.append(wave.shape[1])
        spectrum = torch.fft.rfft(wave, 4096).abs()[:, :2048].reshape(len(wave), 64, 32)
        return self.norm(self.dropout(spectrum.sum(dim=2)))


@pytest.fixture(scope="module")
def tones(tmp_path_factory):
    import soundfile

    folder = tmp_path_factory.mktemp("tones")
    found = []
    for number in range(4):
        for part in range(2):
            path = folder / f"{number}-{part}.wav"
            time = np.arange(RATE * (12 if number == 3 else 1)) / RATE
            tone = 0.3 * np.sin(2 * np.pi * (500 + 700 * number) * time + part)
            soundfile.write(path, tone, RATE)
            found.append(Utterance(path.name, path, f"s{number}"))
    return found


def test_perfect_encoder_has_no_validation_error(tones):
    assert validation_error(Loudest(), tones, RATE, CPU) == 0


def test_encoder_is_in_evaluation_and_comes_back_in_training(tones):
    encoder = Loudest().train()
    before = encoder.norm.running_mean.clone()
    first = embed_utterances(encoder, tones, RATE, CPU)
    assert encoder.training
    assert torch.equal(encoder.norm.running_mean, before)
    assert np.array_equal(first, embed_utterances(encoder, tones, RATE, CPU))
    embed_utterances(encoder.eval(), tones, RATE, CPU)
    assert not encoder.training


def test_at_most_ten_seconds_are_heard(tones):
    encoder = Loudest()
    embed_utterances(encoder, tones, RATE, CPU)
    assert encoder.lengths == [RATE] * 6 + [10 * RATE] * 2
