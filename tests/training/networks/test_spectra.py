"""Log mel spectra against transformers' and NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from sordino.errors import UsageError
from sordino.training.networks.spectra import LogMel, MelSettings, magnitudes
from tests.training.waves import speech


def reference(wave, settings):
    """By transformers.audio_utils, which follows librosa."""
    audio = pytest.importorskip("transformers.audio_utils", reason="needs the extra ssl")
    filters = audio.mel_filter_bank(
        num_frequency_bins=settings.fft // 2 + 1,
        num_mel_filters=settings.bands,
        min_frequency=0.0,
        max_frequency=8000.0,
        sampling_rate=16000,
        norm="slaney",
        mel_scale="slaney",
    )
    margin = (settings.fft - settings.hop) // 2
    window = np.zeros(settings.fft)
    start = (settings.fft - settings.window) // 2
    window[start : start + settings.window] = np.hanning(settings.window + 1)[:-1]
    mel = audio.spectrogram(
        np.pad(wave.astype(np.float64), margin, mode="reflect"),
        window,
        frame_length=settings.fft,
        hop_length=settings.hop,
        power=1.0,
        center=False,
        mel_filters=filters,
        mel_floor=1e-5,
    )
    return np.log(mel)


@pytest.mark.parametrize(
    "settings",
    [MelSettings(), MelSettings(hop=160), MelSettings(bands=40, fft=512, window=400, hop=128)],
)
def test_real_speech_against_transformers(speech_root, settings):
    wave = speech(speech_root, 2.4)[: 38400 // settings.hop * settings.hop]
    mel = LogMel(settings)(torch.from_numpy(wave)[None])[0].numpy()
    assert mel.shape == (settings.bands, wave.size // settings.hop)
    # The least power keeps the root's slope finite; it shows where a band is all but silent.
    np.testing.assert_allclose(mel, reference(wave, settings), rtol=0, atol=2e-2)
    np.testing.assert_allclose(np.exp(mel), np.exp(reference(wave, settings)), rtol=0, atol=2e-5)


def test_frames_lie_on_those_of_the_pitch():
    """With a hop of 160, a click is strongest in the frame whose middle it lies at."""
    wave = torch.zeros(1, 8000)
    wave[0, 160 * 20 + 80] = 1.0
    mel = LogMel(MelSettings(hop=160))(wave)
    assert mel.shape == (1, 80, 50)
    loudness = mel[0].sum(dim=0)
    assert loudness.argmax() == 20
    # And the frames beside it hear it equally.
    torch.testing.assert_close(loudness[19], loudness[21], rtol=1e-4, atol=0)


def test_silence_is_at_the_floor_and_has_a_slope():
    wave = torch.zeros(1, 4096, requires_grad=True)
    mel = LogMel(MelSettings())(wave)
    assert mel.min().item() >= np.log(1e-5) - 1e-4
    mel.sum().backward()
    assert torch.isfinite(wave.grad).all()


def test_in_32_bits_whatever_the_precision_around():
    wave = torch.randn(1, 4096)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mel = LogMel(MelSettings())(wave)
    assert mel.dtype == torch.float32
    assert torch.equal(mel, LogMel(MelSettings())(wave))


def test_magnitudes_against_numpy():
    rng = np.random.default_rng(0)
    wave = rng.standard_normal(900)
    window = np.hanning(301)[:-1]
    found = magnitudes(torch.from_numpy(wave)[None], 400, 70, torch.from_numpy(window))[0]
    for frame in range(8):
        piece = wave[70 * frame : 70 * frame + 400]
        spectrum = np.fft.rfft(piece * np.pad(window, 50))
        expected = np.sqrt(np.abs(spectrum) ** 2 + 1e-9)
        np.testing.assert_allclose(found[:, frame], expected, rtol=1e-9)
    assert found.shape == (201, 8)


@pytest.mark.parametrize(
    "settings",
    [{"window": 2000}, {"hop": 0}, {"hop": 255}, {"fft": 400, "window": 400, "hop": 401}],
)
def test_settings_that_are_refused(settings):
    with pytest.raises(UsageError):
        MelSettings(**settings)
