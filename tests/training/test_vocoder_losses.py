"""Losses of vocoders against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from sordino.training.networks.spectra import LogMel, MelSettings
from sordino.training.vocoder_losses import (
    MelLoss,
    SpectralLoss,
    adversarial_loss,
    discriminator_loss,
    feature_loss,
)
from tests.training.waves import speech


def scores(seed):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in ((2, 5), (2, 11))]


def test_least_squares():
    natural, generated = scores(0), scores(1)
    right, wrong = ([score.double().numpy() for score in each] for each in (natural, generated))
    expected = sum(
        np.mean((1 - one) ** 2) + np.mean(other**2) for one, other in zip(right, wrong, strict=True)
    )
    assert discriminator_loss(natural, generated).item() == pytest.approx(expected)
    expected = sum(np.mean((1 - other) ** 2) for other in wrong)
    assert adversarial_loss(generated).item() == pytest.approx(expected)


def test_the_best_of_both_sides():
    ones, zeros = [torch.ones(2, 3)], [torch.zeros(2, 3)]
    assert discriminator_loss(ones, zeros) == 0
    assert discriminator_loss(zeros, ones) == 2
    assert adversarial_loss(ones) == 0


def test_features():
    natural = [scores(2), scores(3)]
    generated = [scores(4), scores(5)]
    expected = sum(
        np.abs(one.double().numpy() - other.double().numpy()).mean()
        for ones, others in zip(natural, generated, strict=True)
        for one, other in zip(ones, others, strict=True)
    )
    assert feature_loss(natural, generated).item() == pytest.approx(expected)
    leaf, target = torch.zeros(3, requires_grad=True), torch.ones(3, requires_grad=True)
    feature_loss([[target]], [[leaf]]).backward()
    assert leaf.grad is not None
    assert target.grad is None


def test_both_sides_need_the_same_discriminators():
    with pytest.raises(ValueError, match="zip"):
        discriminator_loss(scores(0), scores(1)[:1])
    with pytest.raises(ValueError, match="zip"):
        feature_loss([scores(0)], [scores(1)[:1]])


def test_mel_loss(speech_root):
    natural = torch.from_numpy(speech(speech_root, 1.0)[:15872])[None]
    generated = 0.5 * natural
    mel = LogMel(MelSettings())
    expected = (mel(generated) - mel(natural)).abs().mean().item()
    assert MelLoss()(generated, natural).item() == pytest.approx(expected)
    # Half the amplitude is ln 2 less in every band above the floor.
    assert 0.9 * np.log(2) < expected < np.log(2) + 1e-4
    fine = MelLoss(MelSettings(hop=160))
    assert fine(natural, natural) == 0


def test_spectral_loss_against_numpy():
    rng = np.random.default_rng(1)
    natural, generated = rng.standard_normal((2, 2, 1200))
    resolutions = ((256, 64, 200), (512, 100, 512))
    expected = []
    for fft, hop, window in resolutions:
        taper = np.pad(np.hanning(window + 1)[:-1], (fft - window) // 2)
        spectra = []
        for waves in (generated, natural):
            frames = np.lib.stride_tricks.sliding_window_view(waves, fft, axis=1)[:, ::hop]
            spectra.append(np.sqrt(np.abs(np.fft.rfft(frames * taper)) ** 2 + 1e-9))
        found, wanted = spectra
        convergence = np.sqrt(((wanted - found) ** 2).sum() / (wanted**2).sum())
        expected.append(convergence + np.abs(np.log(wanted) - np.log(found)).mean())
    loss = SpectralLoss(resolutions)(torch.from_numpy(generated), torch.from_numpy(natural))
    assert loss.item() == pytest.approx(np.mean(expected), rel=1e-4)


def test_spectral_loss_of_silence_is_finite():
    wave = torch.zeros(1, 4096, requires_grad=True)
    loss = SpectralLoss()(wave, torch.zeros(1, 4096))
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(wave.grad).all()


def test_losses_have_no_weights_to_keep():
    assert not SpectralLoss().state_dict()
    assert not MelLoss().state_dict()
