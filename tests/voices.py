"""A speaker encoder for tests, and vectors that need no encoder."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from scipy.fft import dct

from sordino.audio.recording import Recording
from sordino.audio.resample import resample
from sordino.errors import AudioError
from sordino.privacy.keys import SecretKey
from sordino.speaker.base import SpeakerEncoder
from sordino.speaker.store import EncoderIdentity, Enrolment

KEY = SecretKey(b"a key for the tests, 32 bytes...")
OTHER_KEY = SecretKey(b"another key for them, 32 bytes..")
ENCODER = EncoderIdentity("test-encoder", "0123456789abcdef")


def enrolments(count: int = 1, *, seed: int = 0, dimension: int = 16) -> list[Enrolment]:
    """Some that are always the same."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(count, dimension)).astype(np.float32)
    return [Enrolment(vector, speech=2.0 + number) for number, vector in enumerate(vectors)]


class CepstralEncoder(SpeakerEncoder):
    """Mean and deviation of a few cepstral coefficients: tells voices apart, though not well."""

    name = "cepstral"
    dimension = 38
    sample_rate = 16000
    digest = "c0ffee" * 8
    shortest = 4000

    def __init__(self, verification: dict[str, object] | None = None) -> None:
        known = {} if verification is None else {"verification": verification}
        self.bundle = SimpleNamespace(metadata=known)

    def embed(self, recording: Recording) -> np.ndarray:
        wave = resample(recording.samples, recording.sample_rate, self.sample_rate).mean(axis=0)
        if wave.size < self.shortest:
            raise AudioError("is too short")
        frames = np.lib.stride_tricks.sliding_window_view(wave, 512)[::256] * np.hanning(512)
        power = np.abs(np.fft.rfft(frames)) ** 2
        loud = power.sum(axis=1) > np.median(power.sum(axis=1))
        edges = np.round(np.geomspace(3, 256, 31)).astype(int)
        bands = np.add.reduceat(power[loud], edges[:-1], axis=1)
        coefficients = dct(np.log(bands + 1e-9), axis=1, norm="ortho")[:, 1:20]
        found = np.concatenate([coefficients.mean(axis=0), coefficients.std(axis=0) - 1])
        return found.astype(np.float32)
