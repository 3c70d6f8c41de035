"""Cepstra, against a tone's known spectrum and the words of their definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.fft import idct

from sordino.errors import AudioError
from sordino.federated.features.mfcc import mel_filters, mfcc, spoken


def _noise(samples: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=samples)


def test_a_frame_every_ten_milliseconds() -> None:
    assert mfcc(_noise(400)).shape == (1, 26)
    assert mfcc(_noise(16000)).shape == (98, 26)


def test_how_loud_it_is_does_not_matter() -> None:
    wave = _noise(8000)
    assert np.allclose(mfcc(wave), mfcc(1e-3 * wave), atol=1e-9)


def test_a_tone_stands_out_in_its_band() -> None:
    tone = np.sin(2 * np.pi * 1000 * np.arange(16000) / 16000)
    cepstra = np.zeros((98, 40))
    cepstra[:, :26] = mfcc(tone)
    bands = idct(cepstra, type=2, norm="ortho", axis=1)
    frequencies = np.fft.rfftfreq(512, 1 / 16000)
    centres = [frequencies[row.argmax()] for row in mel_filters()]
    assert abs(centres[int(bands.mean(axis=0).argmax())] - 1000) < 80


def test_a_filter_does_only_what_its_band_does() -> None:
    # Linear filtering adds to the cepstrum: what a recording channel does is the same all the time.
    wave = _noise(16000)
    filtered = wave - 0.9 * np.concatenate([[0.0], wave[:-1]])
    shift = mfcc(filtered) - mfcc(wave)
    assert shift[:, 1:4].std(axis=0).max() < 0.4 * np.abs(shift[:, 1:4].mean(axis=0)).max()


def test_pauses_are_not_spoken() -> None:
    wave = np.concatenate([_noise(16000), 1e-3 * _noise(16000, 1)])
    kept = spoken(mfcc(wave))
    assert 98 <= len(kept) <= 102


@pytest.mark.parametrize(
    ("wave", "message"),
    [
        (np.ones(399), "too short"),
        (np.zeros(800), "silence"),
        (np.full(800, np.nan), "NaN"),
    ],
)
def test_refuses_what_has_no_voice(wave: np.ndarray, message: str) -> None:
    with pytest.raises(AudioError, match=message):
        mfcc(wave)
