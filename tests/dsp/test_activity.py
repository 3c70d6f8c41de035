from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import toeplitz
from scipy.signal import lfilter

from sordino.dsp import activity
from sordino.dsp.activity import LOWEST_SNR, signal_to_noise

FRAME = 512
FRAMES = 250


def bursts(
    rng: np.random.Generator, frames: int = FRAMES, share: float = 0.6
) -> tuple[np.ndarray, np.ndarray]:
    """Resonant noise that comes and goes, of power 1 while it is there."""
    active = np.repeat(rng.random(frames // 5 + 1) < share, 5)[:frames]
    active[:5] = True
    wave = lfilter([1], [1, -1.6, 0.8], rng.normal(size=frames * FRAME))
    wave *= np.repeat(active, FRAME)
    return wave / np.sqrt((wave**2).mean() / active.mean()), active


@pytest.mark.parametrize("snr", [40, 25, 10, 0])
@pytest.mark.parametrize("rate", [8000, 16000, 48000])
def test_known_ratio(snr, rate):
    rng = np.random.default_rng(snr)
    wave, active = bursts(rng, 1000, share=0.1)
    noise = rng.normal(0, 10 ** (-snr / 20), wave.size)
    assert signal_to_noise(wave + noise, active, rate) == pytest.approx(snr, abs=1.0)


def test_with_more_speech_it_reads_low_but_rises():
    wave, active = bursts(np.random.default_rng(0))
    found = []
    for snr in (0, 10, 20, 30, 40):
        noise = np.random.default_rng(1).normal(0, 10 ** (-snr / 20), wave.size)
        found.append(signal_to_noise(wave + noise, active, 16000) - snr)
    assert all(-4 < offset < 0 for offset in found)


def test_the_correction_is_that_of_averaged_bins():
    weights = np.linalg.eigvalsh(toeplitz([1, -2 / 3, 1 / 6, 0])) / 4
    others = [np.delete(weights, index) for index in range(4)]
    terms = [np.prod(w / (w - rest)) for w, rest in zip(weights, others, strict=True)]
    below = 1 - np.exp(-activity._QUANTILE_SHARE / weights) @ terms
    assert below == pytest.approx(activity._QUANTILE, abs=1e-4)
    noise = np.random.default_rng(0).normal(size=FRAME * 4000).reshape(-1, FRAME).T
    bands = activity._band_powers(noise, 16000)
    assert bands.mean() == pytest.approx(1, rel=0.01)
    expected = (bands < activity._QUANTILE_SHARE).mean()
    assert expected == pytest.approx(activity._QUANTILE, rel=0.03)


@settings(max_examples=20, deadline=None)
@given(gain=st.floats(1e-3, 10), offset=st.floats(-0.2, 0.2), seed=st.integers(0, 5))
def test_level_and_offset_do_not_count(gain, offset, seed):
    rng = np.random.default_rng(seed)
    wave, active = bursts(rng, 60)
    wave += rng.normal(0, 0.1, wave.size)
    plain = signal_to_noise(wave, active, 16000)
    assert signal_to_noise(gain * (wave + offset), active, 16000) == pytest.approx(plain, abs=0.2)


def test_rumble_below_the_voice_does_not_count():
    rng = np.random.default_rng(0)
    wave, active = bursts(rng)
    wave += rng.normal(0, 0.1, wave.size)
    rumble = np.sin(2 * np.pi * 40 * np.arange(wave.size) / 16000)
    plain = signal_to_noise(wave, active, 16000)
    assert signal_to_noise(wave + rumble, active, 16000) == pytest.approx(plain, abs=0.5)


def test_digital_silence_between_words_is_not_taken_for_a_clean_background():
    rng = np.random.default_rng(1)
    wave, active = bursts(rng)
    noisy = wave + rng.normal(0, 0.3, wave.size)
    gated = noisy * np.repeat(active | (rng.random(active.size) < 0.5), FRAME)
    assert (gated == 0).mean() > 0.1
    plain = signal_to_noise(noisy, active, 16000)
    assert signal_to_noise(gated, active, 16000) == pytest.approx(plain, abs=1.5)


def test_pieces_are_as_good_as_the_whole(monkeypatch):
    rng = np.random.default_rng(2)
    wave, active = bursts(rng)
    wave += rng.normal(0, 0.1, wave.size)
    whole = signal_to_noise(wave, active, 16000)
    monkeypatch.setattr(activity, "_FRAMES_AT_ONCE", 7)
    assert signal_to_noise(wave, active, 16000) == pytest.approx(whole, abs=1e-4)


def test_edges():
    active = np.ones(10, dtype=bool)
    assert signal_to_noise(np.zeros(5120), active, 16000) == LOWEST_SNR
    steady = np.random.default_rng(0).normal(size=51200)
    assert signal_to_noise(steady, np.arange(100) % 2 == 0, 16000) < -5
    with pytest.raises(ValueError, match="no frame is speech"):
        signal_to_noise(np.zeros(5120), np.zeros(10, dtype=bool), 16000)
    with pytest.raises(ValueError, match="no frame is speech"):
        signal_to_noise(np.zeros(0), np.zeros(0, dtype=bool), 16000)
    with pytest.raises(ValueError, match="too short"):
        signal_to_noise(np.zeros(50), active, 16000)
    assert np.isfinite(signal_to_noise(np.ones(160), active, 48000))
