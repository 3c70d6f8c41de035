"""Crops: what is heard at a time is what the teacher says of that time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import soundfile

torch = pytest.importorskip("torch", reason="needs the extra train")

from sordino.corpus.utterance import Utterance
from sordino.training.augment.chain import AugmentationSettings, Augmenter
from sordino.training.content.data import NO_UNIT, ContentCrops, times
from sordino.training.content.recipe import PerturbationSettings
from sordino.training.features.cache import RowCache

FRAMES = 20


@pytest.fixture
def numbered(tmp_path):
    """Utterances in which every frame is a level that tells which it is, and so is its unit."""
    units, features = RowCache(tmp_path / "units"), RowCache(tmp_path / "features")
    found = []
    for number, frames in enumerate((60, 37, 8)):
        path = tmp_path / f"{number}.wav"
        labels = np.arange(frames) + 100 * number
        soundfile.write(path, np.repeat(labels, 320) / 1000, 16000, subtype="FLOAT")
        found.append(Utterance(str(number), path, f"speaker {number}"))
        units.store(found[-1], labels.astype(np.uint16))
        features.store(found[-1], np.stack([labels, -labels], axis=1).astype(np.float16))
    return found, units, features


def crops(numbered, *, speed=0.0, voices=(), share=0.0, seed=0, tilt=0.0, features=True):
    utterances, units, of_features = numbered
    return ContentCrops(
        utterances,
        voices=voices,
        units=units,
        features=of_features if features else None,
        frames=FRAMES,
        seed=seed,
        perturbation=PerturbationSettings(speed_octaves=speed, tilt_db=tilt),
        voice_share=share,
    )


def heard(crop) -> np.ndarray:
    """Which frames the middles of a crop's frames are of."""
    middles = crop.waves.numpy().reshape(-1, 320)[:, 140:180].mean(axis=1)
    return np.round(1000 * middles).astype(int)


def test_units_are_of_what_is_heard(numbered):
    items = crops(numbered)
    speakers, firsts = set(), set()
    for number in range(60):
        crop = items[number]
        assert crop.waves.shape == (320 * FRAMES,)
        known = crop.units.numpy() != NO_UNIT
        np.testing.assert_array_equal(heard(crop)[known], crop.units.numpy()[known])
        np.testing.assert_array_equal(crop.features.numpy()[known, 0], crop.units.numpy()[known])
        np.testing.assert_array_equal(crop.features[:, 0], -crop.features[:, 1])
        speakers.add(int(crop.units[0]) // 100)
        firsts.add(int(crop.units[0]))
    assert speakers == {0, 1, 2}
    assert len(firsts) > 20
    assert firsts <= {*range(60 - FRAMES + 1), *range(100, 100 + 37 - FRAMES + 1), 200}


def test_what_comes_after_the_end_has_no_target(numbered):
    short = next(
        crop for crop in map(crops(numbered).__getitem__, range(50)) if crop.units[0] == 200
    )
    assert short.units.tolist() == [*range(200, 208), *[NO_UNIT] * 12]
    assert not short.waves[8 * 320 :].any()
    assert not short.features[8:].any()


def test_at_another_speed_each_target_is_of_the_moment(numbered):
    items = crops(numbered, speed=1.0)
    slopes = []
    for number in range(60):
        crop = items[number]
        units = crop.units.numpy()
        known = units != NO_UNIT
        if units[0] >= 200:
            continue
        # Where a change of level falls into the middle of a frame, either is right.
        assert (np.abs(heard(crop)[known] - units[known]) <= 1).all()
        assert (heard(crop)[known] == units[known]).mean() > 0.7
        slopes.append((units[known][-1] - units[0]) / max(1, known.sum() - 1))
    assert min(slopes) < 0.65
    assert max(slopes) > 1.5


@pytest.mark.parametrize("speed", [0.5, 0.83, 1.0, 1.31, 2.0])
def test_times_are_of_the_middles(speed):
    found = times(50, speed)
    expected = [int((k + 0.5) * 320 * speed // 320) for k in range(50)]
    np.testing.assert_array_equal(found, expected)


def test_further_voices_say_the_same_at_the_same_time(numbered, tmp_path):
    voices = []
    for utterance in numbered[0]:
        samples, _ = soundfile.read(utterance.path)
        path = tmp_path / f"voice{utterance.id}.wav"
        soundfile.write(path, -samples, 16000, subtype="FLOAT")
        voices.append((replace(utterance, id=f"{utterance.id}~1", path=path),))
    items = crops(numbered, voices=voices, share=0.5)
    others = 0
    for number in range(60):
        crop = items[number]
        known = crop.units.numpy() != NO_UNIT
        said = heard(crop)[known]
        others += bool((said < 0).any())
        np.testing.assert_array_equal(np.abs(said), crop.units.numpy()[known])
    assert 20 < others < 40
    assert not any((heard(crops(numbered, voices=voices)[n]) < 0).any() for n in range(20))


def test_crops_are_a_function_of_seed_and_number(numbered):
    def same(first, second) -> bool:
        return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))

    loud = AugmentationSettings(rooms=0, noise=1.0, babble=1.0, telephone=0, lossy=0)
    sets = [crops(numbered, speed=0.5, tilt=3.0, seed=seed) for seed in (0, 0, 1)]
    for items in sets:
        items.augmenter = Augmenter(loud, 16000, (), items.other_speech)
    assert all(same(sets[0][n], sets[1][n]) for n in (7, 3, 7))
    assert not same(sets[0][3], sets[2][3])
    assert not same(sets[0][3], sets[0][4])


def test_without_features(numbered):
    assert crops(numbered, features=False)[0].features.shape == (FRAMES, 0)
