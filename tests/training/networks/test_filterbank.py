"""Filterbanks against SpeechBrain's, and against SciPy's transform with triangles by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sordino.training.networks.filterbank import (
    Filterbank,
    FilterbankSettings,
    mel_weights,
    stretched_weights,
)
from tests.training.resemblyzer_by_hand import power, slaney_weights
from tests.training.speechbrain_models import speechbrain
from tests.training.waves import RATE, speech


def htk_weights(bands, window=400, rate=RATE):
    """Triangles of height 1; both slopes are as wide as the band below the centre."""
    top = 2595 * math.log10(1 + rate / 2 / 700)
    edges = [700 * (10 ** (top * i / (bands + 1) / 2595) - 1) for i in range(bands + 2)]
    weights = np.zeros((bands, window // 2 + 1))
    for band in range(bands):
        centre, width = edges[band + 1], edges[band + 1] - edges[band]
        for index in range(window // 2 + 1):
            weights[band, index] = max(0.0, 1 - abs(index * rate / window - centre) / width)
    return weights


def decibels(energies, dynamic_range=80):
    values = 10 * np.log10(np.maximum(energies, 1e-10))
    return np.maximum(values, values.max() - dynamic_range)


def run(settings, wave):
    with torch.inference_mode():
        return Filterbank(settings)(torch.from_numpy(wave)[None])[0].double().numpy()


@pytest.mark.parametrize("bands", [24, 40, 80])
def test_weights(bands):
    htk = mel_weights(FilterbankSettings(bands=bands))
    np.testing.assert_allclose(htk, htk_weights(bands), atol=1e-9)
    slaney = mel_weights(FilterbankSettings(bands=bands, scale="slaney"))
    np.testing.assert_allclose(slaney, slaney_weights(bands), atol=1e-9)


def test_weights_against_librosa():
    librosa = pytest.importorskip("librosa", reason="librosa is not installed")
    expected = librosa.filters.mel(sr=RATE, n_fft=400, n_mels=40)
    found = mel_weights(FilterbankSettings(bands=40, scale="slaney"))
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("bands", [24, 80])
@pytest.mark.parametrize("seconds", [0.3, 4])
def test_against_speechbrain(speech_root, bands, seconds):
    wave = torch.from_numpy(speech(speech_root, seconds, seed=5)[None])
    with torch.inference_mode():
        expected = speechbrain().Fbank(n_mels=bands).eval()(wave).transpose(1, 2)
        found = Filterbank(FilterbankSettings(bands=bands))(wave)
    # In dB; the quietest bands lie 80 dB below the loudest, at the edge of single precision.
    torch.testing.assert_close(found, expected, rtol=0, atol=0.02)
    assert (found - expected).abs().mean() < 1e-4


def test_decibels_against_scipy(speech_root):
    wave = speech(speech_root, 2, seed=7)
    expected = decibels(htk_weights(80) @ power(wave, "hamming"))
    found = run(FilterbankSettings(), wave)
    assert found.shape == (80, 1 + wave.size // 160) == expected.shape
    np.testing.assert_allclose(found, expected, atol=0.02)
    assert np.abs(found - expected).mean() < 1e-4


def test_energies_and_logarithms_against_scipy(speech_root):
    wave = speech(speech_root, 2, seed=9)
    expected = slaney_weights(40) @ power(wave, "hann")
    settings = {"bands": 40, "taper": "hann", "scale": "slaney"}
    energies = run(FilterbankSettings(**settings, compression="none"), wave)
    np.testing.assert_allclose(energies, expected, rtol=1e-3, atol=1e-6 * expected.max())
    logarithms = run(FilterbankSettings(**settings, compression="log"), wave)
    np.testing.assert_allclose(logarithms, np.log(np.maximum(expected, 1e-6)), atol=1e-2)


def test_the_dynamic_range_is_that_of_each_utterance(speech_like):
    loud = torch.from_numpy(speech_like(RATE, 1))
    batch = torch.cat([loud, 0.001 * loud, torch.zeros_like(loud)])
    frames = Filterbank(FilterbankSettings(dynamic_range=30.0))(batch)
    spread = frames.amax(dim=(1, 2)) - frames.amin(dim=(1, 2))
    torch.testing.assert_close(spread, torch.tensor([30.0, 30.0, 0.0]))
    assert frames[2].unique().item() == pytest.approx(-100)
    torch.testing.assert_close(
        frames[:1] - frames[1:2], torch.full_like(frames[:1], 60), atol=0.01, rtol=0
    )


@pytest.mark.parametrize("samples", [1, 159, 160, 161, 400, 16000])
def test_number_of_frames(samples):
    assert Filterbank(FilterbankSettings())(torch.zeros(2, samples)).shape == (
        2,
        80,
        1 + samples // 160,
    )


@pytest.mark.parametrize("factor", [0.78, 0.95, 1.1, 1.28])
def test_stretched_weights_hear_a_stretched_spectrum(factor):
    found = stretched_weights(FilterbankSettings(bands=64), factor)
    # The same by hand: where each bin is read from, then triangles over what is read there.
    power = np.random.default_rng(0).random(201)
    stretched = np.zeros(201)
    for index in range(201):
        heard = 40.0 * index
        knee = 6400 * min(1, 1 / factor)
        source = heard / factor
        if source > knee:
            share = (heard - knee * factor) / (8000 - knee * factor)
            source = knee + share * (8000 - knee)
        low = min(int(source / 40), 199)
        part = source / 40 - low
        stretched[index] = (1 - part) * power[low] + part * power[low + 1]
    np.testing.assert_allclose(found @ power, htk_weights(64) @ stretched, atol=1e-9)
    # A band that stays silent would tell the factor.
    assert (found.sum(axis=1) > 0.3 * htk_weights(64).sum(axis=1)).all()


def test_a_tone_is_heard_where_the_stretch_puts_it():
    settings = FilterbankSettings(bands=40, compression="none")
    time = torch.arange(RATE) / RATE
    banks = torch.stack(
        [torch.from_numpy(stretched_weights(settings, f)).float() for f in (0.8, 1.0, 1.25)]
    )
    tones = {hertz: torch.sin(2 * torch.pi * hertz * time) for hertz in (800, 1000, 1250)}
    bank = Filterbank(settings)
    with torch.inference_mode():
        heard = bank(tones[1000].expand(3, -1), banks).mean(dim=2).argmax(dim=1)
        plain = bank(torch.stack(list(tones.values()))).mean(dim=2).argmax(dim=1)
        own = bank(tones[1000][None])
        assert torch.equal(bank(tones[1000][None], bank.mel), own)
    assert torch.equal(heard, plain)
    assert heard.unique().numel() == 3


def test_nothing_of_it_is_kept_with_the_weights():
    bank = Filterbank(FilterbankSettings())
    assert list(bank.state_dict()) == []
    assert list(bank.parameters()) == []
