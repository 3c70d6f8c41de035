from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.training.augment.chain import AugmentationSettings, Augmenter
from sordino.training.augment.codec import telephone
from sordino.training.augment.reverberation import reverberate
from tests.helpers import voice

RATE = 16000
NOTHING = AugmentationSettings(
    rooms=0, reverberation=0, noise=0, babble=0, telephone=0, lossy=0, level_db=0
)
ROOM = np.array([1.0, 0.0, 0.4, 0.2, 0.0, -0.3], dtype=np.float32)


def other(length: int, generator: np.random.Generator) -> np.ndarray:
    return np.resize(voice(0.3, RATE, seed=int(generator.integers(5)))[:, 0], length).astype(
        np.float32
    )


def augmenter(recorded=None, **changes: object) -> Augmenter:
    return Augmenter(replace(NOTHING, **changes), RATE, [ROOM], other, recorded)


@pytest.fixture(scope="module")
def speech():
    return voice(0.5, RATE)[:, 0].astype(np.float32)


def test_nothing_is_done_when_nothing_is_asked_for(speech):
    assert np.array_equal(augmenter().apply(speech, np.random.default_rng(0)), speech)


def test_level_alone_is_a_gain_within_its_range(speech):
    gains = []
    for seed in range(50):
        quiet = 0.2 * speech
        heard = augmenter(level_db=6.0).apply(quiet, np.random.default_rng(seed))
        gain = float(heard @ quiet / (quiet @ quiet))
        assert np.allclose(heard, gain * quiet, atol=1e-6)
        gains.append(20 * np.log10(gain))
    assert -6 <= min(gains) < -4
    assert 4 < max(gains) <= 6


def test_level_does_not_clip(speech):
    loud = speech / np.abs(speech).max()
    heard = augmenter(level_db=12.0).apply(loud, np.random.default_rng(3))
    assert np.corrcoef(heard, loud)[0, 1] == pytest.approx(1, abs=1e-6)
    assert np.abs(heard).max() <= 1


def test_effects_are_those_of_their_functions(speech):
    generator = np.random.default_rng
    heard = augmenter(reverberation=1).apply(speech, generator(0))
    assert np.allclose(heard, reverberate(speech, ROOM), atol=1e-6)
    heard = augmenter(telephone=1).apply(speech, generator(0))
    assert np.allclose(heard, telephone(speech, RATE), atol=1e-6)


@pytest.mark.parametrize("effect", ["noise", "babble"])
def test_what_is_added_has_the_asked_ratio(speech, effect):
    chosen = augmenter(**{effect: 1, "noise_db": (10.0, 10.0)})
    added = chosen.apply(0.3 * speech, np.random.default_rng(0)) - 0.3 * speech
    ratio = np.square(0.3 * speech).mean() / np.square(added).mean()
    assert 10 * np.log10(ratio) == pytest.approx(10, abs=0.05)


def test_recorded_noise_is_used_where_there_is_any(speech):
    tone = np.sin(2 * np.pi * 1000 * np.arange(speech.size) / RATE).astype(np.float32)
    chosen = augmenter(recorded=lambda length, _: tone[:length], noise=1, noise_db=(0.0, 0.0))
    share = np.mean(
        [
            np.corrcoef(chosen.apply(0.3 * speech, np.random.default_rng(s)) - 0.3 * speech, tone)[
                0, 1
            ]
            > 0.99
            for s in range(60)
        ]
    )
    assert 0.5 < share < 0.9


@pytest.mark.parametrize("effect", ["reverberation", "noise", "babble", "telephone", "lossy"])
def test_effects_come_as_often_as_asked_for(effect):
    chosen = augmenter(**{effect: 0.3})
    crop = voice(0.05, RATE)[:, 0].astype(np.float32)
    changed = [
        not np.array_equal(chosen.apply(crop, np.random.default_rng(seed)), crop)
        for seed in range(200)
    ]
    assert np.mean(changed) == pytest.approx(0.3, abs=0.1)


ALL = AugmentationSettings(
    reverberation=0.5, noise=0.5, babble=0.5, telephone=0.5, lossy=0.5, noise_db=(-5.0, 20.0)
)


@given(
    seed=st.integers(0, 2**32),
    length=st.integers(1, 4000),
    gain=st.sampled_from([0.0, 1e-5, 0.1, 1.0]),
)
@settings(max_examples=60, deadline=None)
def test_any_crop_stays_finite_whole_and_within_full_scale(seed, length, gain):
    crop = (gain * np.resize(voice(0.2, RATE)[:, 0], length)).astype(np.float32)
    before = crop.copy()
    chosen = Augmenter(ALL, RATE, [ROOM], other)
    heard = chosen.apply(crop, np.random.default_rng(seed))
    assert heard.shape == crop.shape
    assert heard.dtype == np.float32
    assert np.isfinite(heard).all()
    assert np.abs(heard).max() <= 1
    assert np.array_equal(crop, before)
    assert np.array_equal(heard, chosen.apply(crop, np.random.default_rng(seed)))
