from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from sordino.audio.recording import Recording
from sordino.errors import UsageError
from sordino.evaluate.utility.transcriber import Transcriber
from sordino.evaluate.utility.units import (
    UnitListener,
    Units,
    found_units,
    spread_frames,
    steadied,
)
from sordino.evaluate.utility.whisper_models import WhisperFiles

SHIFT = 30.0


def clouds(kinds: int, each: int) -> tuple[np.ndarray, np.ndarray]:
    """Frames around directions that are orthogonal, and which frame is around which."""
    rng = np.random.default_rng(0)
    kind = np.repeat(np.arange(kinds), each)
    rng.shuffle(kind)
    lengths = rng.uniform(5, 50, kind.size)
    frames = lengths[:, None] * np.eye(kinds)[kind] + rng.standard_normal((kind.size, kinds))
    return frames.astype(np.float32), kind


def whole(units: Units, frames: np.ndarray) -> list[int]:
    return [unit for frame in frames for unit in units.of(frame[None])]


def test_kinds_of_frames_are_found_however_long_and_wherever_they_are() -> None:
    frames, kind = clouds(8, 60)
    units = found_units(SHIFT + 4 * frames, 8)
    assert units.centroids.shape == (8, 8)
    assert adjusted_rand_score(kind, whole(units, SHIFT + 4 * frames)) > 0.98
    assert units.mean == pytest.approx((SHIFT + 4 * frames).mean(axis=0), rel=1e-5)
    assert units.deviation == pytest.approx((4 * frames).std(axis=0), rel=1e-4)


def test_a_frame_belongs_to_the_nearest_centroid() -> None:
    frames, _ = clouds(5, 40)
    units = found_units(frames, 20)
    standard = normalize((frames - units.mean) / units.deviation)
    distances = np.linalg.norm(standard[:, None] - units.centroids[None], axis=2)
    assert whole(units, frames) == distances.argmin(axis=1).tolist()


def test_repetitions_are_one_unit() -> None:
    frames, _ = clouds(4, 30)
    units = found_units(frames, 4)
    every = whole(units, frames)
    once = [unit for place, unit in enumerate(every) if place == 0 or unit != every[place - 1]]
    assert len(once) < len(every)
    assert list(units.of(frames)) == once
    assert units.of(np.repeat(frames, 3, axis=0)) == units.of(frames)


def test_the_same_frames_give_the_same_units() -> None:
    frames, _ = clouds(6, 50)
    first, again = found_units(frames, 6), found_units(frames.copy(), 6)
    assert first.key == again.key
    assert first.key != found_units(frames[:-1], 6).key


def test_numbers_that_never_change_do_no_harm() -> None:
    frames, kind = clouds(4, 30)
    still = np.concatenate([frames, np.full((len(frames), 1), 7, np.float32)], axis=1)
    units = found_units(still, 4)
    assert adjusted_rand_score(kind, whole(units, still)) > 0.98
    # The mean itself has no direction.
    assert len(units.of(units.mean[None])) == 1


@pytest.mark.parametrize("frames", [np.zeros((9, 3)), np.zeros((50, 3))])
def test_too_little_speech_is_refused(frames) -> None:
    with pytest.raises(UsageError, match="frames of speech are too few, or too much alike, for 10"):
        found_units(frames.astype(np.float32), 10)


def test_a_missing_package_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    with pytest.raises(UsageError, match="units of speech need the package scikit-learn"):
        found_units(clouds(3, 9)[0], 3)


@settings(max_examples=25)
@given(st.integers(1, 40), st.floats(-1000, 1000))
def test_what_stays_the_same_in_an_utterance_does_not_matter(count, constant) -> None:
    frames = np.random.default_rng(count).standard_normal((count, 3)).astype(np.float32)
    assert steadied(frames + np.float32(constant)) == pytest.approx(steadied(frames), abs=1e-3)


def test_each_frame_becomes_the_mean_of_those_around_it() -> None:
    frames = np.random.default_rng(1).standard_normal((30, 2)).astype(np.float32)
    centred = frames - frames.mean(axis=0)
    expected = [np.convolve(column, np.ones(5) / 5, "valid") for column in centred.T]
    assert steadied(frames)[2:-2] == pytest.approx(np.transpose(expected), abs=1e-5)
    assert steadied(frames).shape == frames.shape


def test_frames_are_taken_from_everywhere() -> None:
    frames = np.arange(100, dtype=np.float32)[:, None]
    assert spread_frames(frames, 100) is frames
    some = spread_frames(frames, 12).ravel()
    assert (some.size, some[0], some[-1]) == (12, 0, 99)
    assert set(np.diff(some)) == {9}


def test_silence_has_no_units_and_a_listener_goes_to_other_processes(tmp_path) -> None:
    # There is no model in this folder.
    encoder = Transcriber(WhisperFiles("none", tmp_path, "0" * 64))
    listener = UnitListener(encoder, found_units(clouds(3, 9)[0], 3))
    assert listener.heard(Recording(np.zeros((1, 1600), np.float32), 16_000)) == ()
    again = pickle.loads(pickle.dumps(listener))  # noqa: S301
    assert again.key == listener.key
    other = UnitListener(encoder, found_units(clouds(3, 8)[0], 3))
    assert other.key != listener.key
    longer = Transcriber(encoder.files, pad=2)
    assert UnitListener(longer, listener.units).key != listener.key
