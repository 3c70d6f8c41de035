from __future__ import annotations

import csv
from collections import defaultdict

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("swift_f0", reason="the tracker swift needs the package swift-f0")

from sordino.dsp.pitch.swift import Swift, resampled, voicing

RATE, HOP = 16_000, 160


@pytest.mark.parametrize("frequency", [60, 90, 140, 220, 350, 580, 800])
def test_a_steady_pitch_is_found(buzz, frequency):
    wave, f0 = buzz(np.full(RATE, float(frequency)))
    track = Swift().track(wave)
    assert track.shape == f0.shape
    assert (track[5:-5] > 0).all()
    assert track[5:-5] == pytest.approx(frequency, rel=0.02)


def test_a_glide_is_followed_in_time(buzz):
    time = np.arange(2 * RATE) / RATE
    wave, f0 = buzz(170 * 2 ** (0.5 * np.sin(2 * np.pi * time)))
    track = Swift().track(wave)
    inner = slice(10, -10)
    assert track[inner] == pytest.approx(f0[inner], rel=0.03)
    # A frame earlier or later fits worse: the track is on the grid that it says.
    errors = [np.abs(np.log(np.roll(track, lag)[inner] / f0[inner])).mean() for lag in (-1, 0, 1)]
    assert errors[1] < min(errors[0], errors[2])


def test_pauses_noise_and_silence_are_unvoiced(buzz):
    frequency = np.full(3 * RATE, 130.0)
    frequency[RATE : 2 * RATE] = 0
    wave, _ = buzz(frequency)
    track = Swift().track(wave)
    assert (track[5:95] > 0).all()
    assert not track[106:194].any()
    assert (track[205:-5] > 0).all()
    rng = np.random.default_rng(0)
    for level in (1e-5, 1e-3, 0.1):
        noise = level * rng.standard_normal(2 * RATE)
        assert (Swift().track(noise) > 0).mean() < 0.03
    for frames in (0, 1, 2, 3, 100):
        assert not Swift().track(np.zeros(frames * HOP)).any()


@pytest.mark.parametrize("frames", [1, 2, 3, 5, 10])
def test_the_shortest_signals_have_a_track(speech_like, frames):
    track = Swift().track(speech_like(RATE, 1)[0, : frames * HOP])
    assert track.shape == (frames,)
    assert np.isfinite(track).all()


def test_windows_give_what_the_whole_gives(speech_root):
    path = sorted((speech_root / "librispeech").rglob("*.flac"))[0]
    wave, _ = soundfile.read(path, dtype="float32")
    wave = wave[: wave.size // 1280 * 1280]
    tracker = Swift()
    whole = tracker.track(wave)
    assert (whole > 0).mean() > 0.3
    for keep in (1280, 6 * 1280, 25 * 1280):
        for start in range(0, wave.size, 7 * keep):
            stop = min(start + keep, wave.size)
            left, right = max(0, start - tracker.context), min(wave.size, stop + tracker.context)
            part = tracker.track(wave[left:right])[(start - left) // HOP : (stop - left) // HOP]
            expected = whole[start // HOP : stop // HOP]
            assert np.array_equal(part > 0, expected > 0)
            assert part == pytest.approx(expected, rel=1e-3)


def test_it_agrees_with_another_tracker_on_real_speech(speech_root):
    pyworld = pytest.importorskip("pyworld", reason="the reference needs pyworld-prebuilt")
    with (speech_root / "manifest.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if 1.5 < float(row["duration_s"]) < 4]
    by_language = defaultdict(list)
    for row in rows:
        by_language[row["language"]].append(row["path"])
    assert len(by_language) >= 8
    tracks, references = [], []
    for _, paths in sorted(by_language.items()):
        wave, _ = soundfile.read(speech_root / paths[len(paths) // 2])
        wave = wave[: wave.size // HOP * HOP]
        tracks.append(Swift().track(wave))
        # Frames of 5 ms from the first sample on: every second is on the tracker's grid.
        rough, times = pyworld.dio(wave, RATE, f0_floor=50, f0_ceil=800, frame_period=5)
        fine = pyworld.stonemask(wave, rough, times, RATE)
        periodic = pyworld.d4c(wave, fine, times, RATE, threshold=0.85)[:, 0] < 0.999
        references.append(np.where(periodic, fine, 0)[1::2][: tracks[-1].size])
    track, reference = np.concatenate(tracks), np.concatenate(references)
    both = (track > 0) & (reference > 0)
    assert both.sum() > 700
    off = np.abs(np.log2(track[both] / reference[both]))
    assert np.mean(off > np.log2(1.2)) < 0.06
    assert np.median(off) < 0.02
    assert np.mean((track > 0) == (reference > 0)) > 0.75


def test_voicing_grows_over_likely_frames_whose_pitch_runs_on():
    pitch = np.full(12, 100.0)
    confidence = np.array([0.3] * 6 + [0.9] * 2 + [0.3, 0.1, 0.3, 0.3])
    assert voicing(pitch, confidence).tolist() == [False] * 2 + [True] * 7 + [False] * 3
    pitch[4] = 150
    assert voicing(pitch, confidence).tolist() == [False] * 5 + [True] * 4 + [False] * 3


def test_octave_errors_and_lonely_frames_are_no_voice():
    pitch = np.array([100.0, 100, 100, 200, 100, 100, 50, 100, 100, 100])
    sure = np.full(10, 0.9)
    expected = np.ones(10, dtype=bool)
    expected[[3, 6]] = False
    assert voicing(pitch, sure).tolist() == expected.tolist()
    alone = np.array([0, 0, 0, 0.9, 0, 0, 0, 0, 0, 0])
    assert not voicing(np.full(10, 100.0), alone).any()


@given(st.lists(st.tuples(st.floats(60, 900), st.floats(0, 1)), min_size=2, max_size=20))
def test_resampling_to_its_own_places_changes_nothing(frames):
    pitch, confidence = np.array(frames).T
    voiced = voicing(pitch, confidence)
    places = np.arange(pitch.size, dtype=float)
    track = resampled(pitch, confidence, voiced, places)
    assert track == pytest.approx(np.where(voiced, pitch, 0))
    between = resampled(pitch, confidence, voiced, places[:-1] + 0.3)
    neither = ~(voiced[:-1] | voiced[1:])
    assert not between[neither].any()
    assert (between[voiced[:-1] & voiced[1:]] > 0).all()
