from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from sordino.audio.recording import Recording
from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError, UsageError
from sordino.evaluate.utility import pitch
from sordino.evaluate.utility.extra import installed_folder
from sordino.evaluate.utility.pitch import FRAME_S, PitchTracker, intonation, intonation_rows

needs_network = pytest.mark.skipif(
    installed_folder("swift_f0") is None, reason="pitch tracks need the extra evaluate"
)


def harmonics(frequency, rate=16_000, level=0.3):
    """A buzz whose pitch is given for each sample."""
    phase = 2 * np.pi * np.cumsum(frequency) / rate
    wave = sum(np.cos(number * phase) / number for number in range(1, 12))
    return Recording((level * wave / np.abs(wave).max())[None].astype(np.float32), rate)


@needs_network
@pytest.mark.parametrize("frequency", [70, 120, 210, 330, 480])
@pytest.mark.parametrize("rate", [16_000, 44_100])
def test_a_steady_pitch_is_found(frequency, rate):
    track = PitchTracker().track(harmonics(np.full(rate, float(frequency)), rate))
    assert track.size == pytest.approx(1 / FRAME_S, abs=1.5)
    inner = track[5:-5]
    assert (inner > 0).all()
    assert inner == pytest.approx(frequency, rel=0.02)


@needs_network
def test_a_glide_is_followed_and_pauses_are_unvoiced():
    time = np.arange(32_000) / 16_000
    frequency = 160 * 2 ** (0.4 * np.sin(2 * np.pi * time))
    recording = harmonics(frequency)
    samples = recording.samples.copy()
    samples[:, 12_000:18_000] = 0
    track = PitchTracker().track(Recording(samples, 16_000))
    centres = np.minimum(np.arange(track.size) * 256, frequency.size - 1)
    silent = (centres > 13_000) & (centres < 17_000)
    sounding = (centres < 11_000) | (centres > 19_000)
    assert not track[silent].any()
    assert track[sounding][3:-3] == pytest.approx(frequency[centres][sounding][3:-3], rel=0.04)


@needs_network
def test_noise_and_silence_have_no_pitch():
    rng = np.random.default_rng(0)
    noise = Recording((0.1 * rng.standard_normal((1, 16_000))).astype(np.float32), 16_000)
    assert (PitchTracker().track(noise) > 0).mean() < 0.1
    silence = Recording(np.zeros((1, 16_000), dtype=np.float32), 16_000)
    assert not PitchTracker().track(silence).any()


@needs_network
def test_speech_keeps_its_intonation_under_gain_and_not_under_another_sentence(speech_root):
    paths = sorted((speech_root / "vctk" / "p228").glob("*.flac"))[:2]
    first, second = (Recording.read(path) for path in paths)
    tracker = PitchTracker()
    track = tracker.track(first)
    louder = Recording((0.5 * first.samples).astype(np.float32), 16_000)
    assert intonation(track, tracker.track(louder)) > 0.97
    assert intonation(track, tracker.track(second)) < 0.5
    assert 80 < np.median(track[track > 0]) < 350


def test_too_little_voice_is_an_error():
    with pytest.raises(AudioError, match="0 frames are voiced before and after"):
        intonation(np.zeros(50), np.full(50, 100.0))
    with pytest.raises(AudioError, match="does not move"):
        intonation(np.full(50, 100.0), np.full(50, 100.0))


def test_a_missing_package_and_a_wrong_setting_are_named(monkeypatch, speech_like):
    def missing(module, what, package):
        raise UsageError(f"{what} need {package}")

    monkeypatch.setattr(pitch, "load_extra", missing)
    pitch._network.cache_clear()
    with pytest.raises(UsageError, match="pitch tracks need swift-f0"):
        PitchTracker().track(Recording(speech_like(16_000, 1), 16_000))
    with pytest.raises(UsageError, match="0 threads"):
        PitchTracker(threads=0)


def test_it_goes_to_other_processes():
    assert pickle.loads(pickle.dumps(PitchTracker(2))) == PitchTracker(2)  # noqa: S301


def test_rows_are_means():
    utterances = [Utterance(name, Path(name), name) for name in ("a", "b")]
    row = intonation_rows("x", utterances, [0.5, 0.9])[0]
    assert (row.measure, row.unit, row.group) == ("f0-correlation", "", "all")
    assert row.value.value == pytest.approx(0.7)
