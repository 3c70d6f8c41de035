"""The GE2E encoder's windows and vectors against resemblyzer's arithmetic said again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from sordino.training.networks.ge2e import Ge2e, window_starts
from tests.training.resemblyzer_by_hand import embed_utterance, starts
from tests.training.waves import RATE, cosine

# Where the frames, the windows or the coverage of the last window change.
EDGES = sorted(
    {
        max(1, edge + shift)
        for step in range(14)
        for edge in (step * 77 * 160, step * 77 * 160 + 19200, (160 + 77 * step) * 160)
        for shift in (-161, -160, -159, -1, 0, 1, 159, 160, 161)
    }
)


def test_windows_at_the_edges():
    for samples in EDGES:
        assert window_starts(torch.tensor(samples)).tolist() == starts(samples), samples


@given(st.integers(1, 200_000))
def test_windows_of_any_length(samples):
    assert window_starts(torch.tensor(samples)).tolist() == starts(samples)


@pytest.mark.parametrize("seconds", [0.3, 1.6, 2.0, 4.7])
def test_vectors(speech_like, seconds):
    torch.manual_seed(0)
    network = Ge2e().eval()
    state = {k: v for k, v in network.state_dict().items() if k.startswith(("lstm", "linear"))}
    waves = 0.1 * speech_like(RATE, seconds, channels=2)
    waves[1] *= 0.01
    with torch.inference_mode():
        vectors = network(torch.from_numpy(waves)).numpy()
    for wave, vector in zip(waves, vectors, strict=True):
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
        assert cosine(vector, embed_utterance(wave, state)) > 0.99999


def test_quiet_recordings_are_raised_and_loud_ones_stay(speech_like):
    torch.manual_seed(1)
    network = Ge2e().eval()
    wave = torch.from_numpy(speech_like(RATE, 2))
    wave = wave / wave.square().mean().sqrt() * 10 ** (-30 / 20)
    with torch.inference_mode():
        at, below, above = (network(gain * wave) for gain in (1, 0.05, 4))
    torch.testing.assert_close(below, at, rtol=0, atol=1e-4)
    assert (above - at).abs().max() > 1e-3


def test_silence_has_a_finite_vector():
    assert torch.isfinite(Ge2e().eval()(torch.zeros(1, 16000))).all()
