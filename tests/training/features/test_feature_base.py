"""Pieces and batches of waves, on a source whose features can be told by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sordino.errors import AudioError, UsageError
from sordino.training.features.base import FeatureSource, load_features

REACH = 40


class Sums(FeatureSource):
    """Sums of the samples of each frame, and of all that is up to 40 frames away."""

    dimension = 2
    key = "sums"

    def __init__(self) -> None:
        self.seen: list[tuple[int, ...]] = []

    @property
    def description(self) -> dict[str, Any]:
        return {}

    def batch(self, waves: np.ndarray) -> np.ndarray:
        self.seen.append(waves.shape)
        own = waves.reshape(len(waves), -1, 320).astype(np.float64).sum(axis=2)
        far = [np.convolve(row, np.ones(2 * REACH + 1))[REACH:-REACH] for row in own]
        return np.stack([own, np.array(far)], axis=2).astype(np.float32)


def steps(samples: int, seed: int = 0) -> np.ndarray:
    # Whole numbers, so that sums are exact.
    return np.random.default_rng(seed).integers(-4, 5, samples).astype(np.float32)


@pytest.mark.parametrize("frames", [1, 1499, 1500, 1501, 1549, 1551, 3100, 4200])
def test_long_speech_is_that_of_the_whole(frames):
    source = Sums()
    wave = steps(320 * frames + 17)
    expected = Sums().batch(wave[None, : 320 * frames])[0]
    np.testing.assert_array_equal(source.features(wave), expected)
    assert max(shape[1] for shape in source.seen) <= 30 * 16000
    assert len(source.seen) == 1 or frames > 1500


def test_waves_of_one_length_are_computed_together():
    source = Sums()
    waves = [steps(320 * 5 + extra, seed=extra) for extra in (0, 3, 319)] + [steps(320 * 7)]
    found = source.features_many(waves)
    assert sorted(source.seen) == [(1, 2240), (3, 1600)]
    for wave, rows in zip(waves, found, strict=True):
        np.testing.assert_array_equal(rows, Sums().features(wave))


def test_a_wave_without_a_frame():
    with pytest.raises(AudioError, match="shorter than 320 samples"):
        Sums().features(steps(319))


def test_features_that_are_no_numbers():
    with pytest.raises(AudioError, match="NaN or infinity"):
        Sums().features(np.full(640, np.nan, np.float32))


def test_another_number_of_frames_than_expected():
    class Short(Sums):
        def batch(self, waves: np.ndarray) -> np.ndarray:
            return super().batch(waves)[:, 1:]

    with pytest.raises(UsageError, match=r"frames of shape \(1, 1, 2\); expected \(1, 2, 2\)"):
        Short().features(steps(640))


@pytest.mark.parametrize(
    ("description", "told"),
    [
        ({}, "cannot come from None; expected ssl or whisper"),
        ({"source": "mfcc"}, "cannot come from 'mfcc'"),
        ({"source": "whisper", "layer": 3}, "no setting 'layer'"),
        ({"source": "ssl", "model": "base"}, "no setting 'model'"),
    ],
)
def test_descriptions_of_nothing(description, told):
    pytest.importorskip("torch", reason="needs the extra train")
    with pytest.raises(UsageError, match=told):
        load_features(description)
