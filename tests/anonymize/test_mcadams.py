from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soxr
from scipy.signal import lfilter, resample_poly, welch
from scipy.stats import kstest

from benchmarks.plain_mcadams import plain_mcadams, plain_mcadams_frame
from sordino.anonymize.mcadams import McAdams, mcadams_frames
from sordino.dsp.frames import sqrt_hann
from sordino.errors import UsageError
from sordino.privacy.keys import SecretKey
from tests.clips import CORPORA, clips
from tests.helpers import voice

KEY = SecretKey(b"a key of 32 bytes for all tests.")
OTHER_KEY = SecretKey(b"another key of 32 bytes, no more")


def transformed(
    system: McAdams, signal: np.ndarray, rate: int, speaker: str = "alice"
) -> np.ndarray:
    """What `transform` makes of (channels, samples) or (samples,), before levels are restored."""
    blocks = system.transform([np.atleast_2d(signal)], rate, system.draws(KEY, speaker))
    return np.concatenate(list(blocks), axis=1).reshape(signal.shape)


def noise_through(formants: tuple[int, ...], rate: int) -> np.ndarray:
    """A whispered vowel: noise through resonators at 48 kHz, then brought to the rate."""
    noise = np.random.default_rng(0).normal(size=4 * 48000)
    radius = math.exp(-math.pi * 60 / 48000)
    signal = np.zeros_like(noise)
    for formant in formants:
        slope = -2.0 * radius * math.cos(2 * math.pi * formant / 48000)
        signal += lfilter([1.0], [1.0, slope, radius**2], noise)
    common = math.gcd(rate, 48000)
    return resample_poly(0.5 * signal / np.abs(signal).max(), rate // common, 48000 // common)


def peak_near(signal: np.ndarray, rate: int, expected: float) -> float:
    frequency, power = welch(signal, rate, nperseg=rate // 20)
    near = (frequency > 0.75 * expected) & (frequency < 1.3 * expected)
    return float(frequency[near][power[near].argmax()])


@pytest.mark.parametrize("alpha", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("rate", [16000, 8000])
@pytest.mark.parametrize("corpus", CORPORA)
def test_samples_equal_the_plain_implementation(
    speech_root: Path, corpus: str, rate: int, alpha: float
) -> None:
    (speech,) = clips(speech_root, corpus, speakers=1, seconds=1.5)
    signal = soxr.resample(speech, 16000, rate)
    expected = plain_mcadams(signal, rate, alpha)
    output = transformed(McAdams(alpha=alpha), signal, rate)
    assert np.abs(output - signal).max() > 0.01
    np.testing.assert_allclose(output, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("corpus", CORPORA)
def test_frames_equal_the_plain_implementation(speech_root: Path, corpus: str) -> None:
    signal = np.concatenate(clips(speech_root, corpus, speakers=2, seconds=1.0))
    frames = signal[: signal.size // 320 * 320].reshape(-1, 320).T * sqrt_hann(160)[:, None]
    output = mcadams_frames(frames, 16000, 0.6)
    for frame, changed in zip(frames.T, output.T, strict=True):
        expected = plain_mcadams_frame(frame, 16000, 0.6)
        limit = 1e-6 * np.abs(expected).max()
        np.testing.assert_allclose(changed, expected, rtol=0, atol=limit)


@pytest.mark.parametrize("rate", [8000, 8001, 11025, 12000, 15999])
@pytest.mark.parametrize("samples", [1, 79, 80, 81, 12345])
def test_any_rate_and_length_equals_the_plain_implementation(rate: int, samples: int) -> None:
    signal = voice(2.0, rate)[:samples, 0]
    expected = plain_mcadams(signal, rate, 0.7)
    output = transformed(McAdams(alpha=0.7), signal, rate)
    np.testing.assert_allclose(output, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("rate", [8000, 16000, 44100, 48000])
@pytest.mark.parametrize("alpha", [0.6, 0.8, 0.9])
def test_formants_move_alike_at_every_rate(rate: int, alpha: float) -> None:
    output = transformed(McAdams(alpha=alpha), noise_through((700, 1800), rate), rate)
    for formant in (700, 1800):
        # The angle that the frequency has at 16 kHz, to the power of alpha.
        moved = (2 * math.pi * formant / 16000) ** alpha * 16000 / (2 * math.pi)
        assert peak_near(output, rate, moved) == pytest.approx(moved, rel=0.035)


def test_the_test_of_formants_sees_unmoved_ones() -> None:
    signal = noise_through((700, 1800), 16000)
    for formant in (700, 1800):
        assert peak_near(signal, 16000, formant) == pytest.approx(formant, rel=0.035)


@pytest.mark.parametrize("rate", [44100, 48000, 96000])
def test_nothing_of_what_lies_above_eight_khz_comes_through(rate: int) -> None:
    tone = 0.5 * np.sin(2 * np.pi * 12000 * np.arange(4 * rate) / rate)
    signal = 0.2 * noise_through((700, 1800), rate) + tone
    system = McAdams(alpha=0.8)
    output = system.anonymize(signal, rate, speaker="alice", key=KEY)
    frequency, before = welch(signal, rate, nperseg=4096)
    _, after = welch(output.astype(np.float64), rate, nperseg=4096)
    high = frequency > 8200
    assert before[high].sum() > 0.001
    assert after[high].sum() < 1e-6 * before[high].sum()


def test_resynthesis_leaves_the_voice_as_it_is() -> None:
    signal = voice(2, 16000, seed=4)[:, 0]
    own = transformed(McAdams(alpha=0.6).resynthesis(), signal, 16000)
    moved = transformed(McAdams(alpha=0.6), signal, 16000)
    scale = np.abs(signal).max()
    assert np.abs(own - signal).max() < 0.01 * scale
    assert np.abs(moved - signal).max() > 0.2 * scale


def test_silent_frames_stay_silent_among_others() -> None:
    signal = voice(1.0, 16000)[:, 0].copy()
    signal[4000:8000] = 0.0
    output = transformed(McAdams(alpha=0.5), signal, 16000)
    assert not output[4160:7840].any()
    assert output[:4000].any()
    assert output[8000:].any()


ODD = {
    "constant": np.ones(4000),
    "sine": np.sin(0.3 * np.arange(4000)),
    "two close sines": np.sin(0.3 * np.arange(4000)) + np.sin(0.31 * np.arange(4000)),
    "full-scale square": np.where(np.arange(4000) // 31 % 2, 1.0, -1.0),
    "impulse": (np.arange(4000) == 2000).astype(float),
    "noise": np.random.default_rng(0).normal(size=4000),
    "soft": 1e-6 * np.random.default_rng(0).normal(size=4000),
}


@pytest.mark.parametrize("rate", [8000, 16000, 48000])
@pytest.mark.parametrize("alpha", [0.5, 0.95])
@pytest.mark.parametrize("name", ODD)
def test_odd_signals_come_out_finite_and_not_silent(name: str, alpha: float, rate: int) -> None:
    signal = ODD[name]
    output = transformed(McAdams(alpha=alpha), signal, rate)
    assert output.shape == signal.shape
    assert np.isfinite(output).all()
    assert np.mean(output**2) > 0.1 * np.mean((signal if rate <= 16000 else signal / 2) ** 2)


@pytest.mark.parametrize("rate", [16000, 48000])
def test_channels_are_changed_alike_and_apart(rate: int) -> None:
    signal = voice(0.5, rate, channels=2).T.copy()
    signal[1] = signal[1, ::-1]
    system = McAdams(alpha=0.6)
    alone = [transformed(system, channel, rate) for channel in signal]
    np.testing.assert_allclose(transformed(system, signal, rate), np.stack(alone), atol=1e-9)


@pytest.mark.parametrize("rate", [8000, 16000, 48000])
def test_the_same_call_gives_the_same_samples(
    rate: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    signal = voice(0.5, rate)[:, 0]
    first = McAdams().anonymize(signal, rate, speaker="alice", key=KEY)
    np.random.seed(1)
    monkeypatch.setenv("SORDINO_KEY", "some other secret than that one")
    monkeypatch.chdir(tmp_path)
    used = McAdams()
    used.anonymize(voice(0.3, rate, seed=7)[:, 0], rate, speaker="bob", key=KEY)
    again = used.anonymize(signal, rate, speaker="alice", key=KEY, utterance="ignored")
    np.testing.assert_array_equal(again, first, strict=True)


@pytest.mark.parametrize(("rate", "delay"), [(8000, 0.02), (16000, 0.02), (48000, 0.1)])
def test_a_stream_comes_out_soon(rate: int, delay: float) -> None:
    received = sent = 0
    signal = voice(0.5, rate)[:, 0]

    def arriving() -> Iterator[np.ndarray]:
        nonlocal received
        for block in np.split(signal, 25):
            received += block.size
            yield block
            assert received - sent <= delay * rate

    for block in McAdams().stream(arriving(), rate, speaker="alice", key=KEY):
        sent += block.size
    assert sent == signal.size


@pytest.mark.parametrize("low_high", [(0.5, 0.9), (0.5, 0.95), (0.8, 0.8)])
def test_coefficients_are_uniform_over_the_range(low_high: tuple[float, float]) -> None:
    low, high = low_high
    system = McAdams(low=low, high=high)
    drawn = np.array(
        [system.coefficient(system.draws(KEY, f"speaker {index}")) for index in range(2000)]
    )
    assert low <= drawn.min() <= drawn.max() <= high
    if low < high:
        assert kstest((drawn - low) / (high - low), "uniform").pvalue > 0.01


def test_a_pseudo_speaker_follows_from_key_and_speaker() -> None:
    system = McAdams()

    def drawn(key: SecretKey, speaker: str, utterance: str | None = None) -> float:
        return system.coefficient(system.draws(key, speaker, utterance))

    alice = drawn(KEY, "alice")
    assert alice == drawn(KEY, "alice", "first") == drawn(KEY, "alice", "second")
    assert alice != drawn(KEY, "bob")
    assert alice != drawn(OTHER_KEY, "alice")


def test_at_level_utterance_each_has_its_own() -> None:
    system = McAdams(level="utterance")

    def drawn(key: SecretKey, speaker: str, utterance: str) -> float:
        return system.coefficient(system.draws(key, speaker, utterance))

    first = drawn(KEY, "alice", "first")
    assert first == drawn(KEY, "alice", "first")
    others = {drawn(KEY, "alice", f"number {index}") for index in range(50)}
    assert len(others) == 50
    assert first not in others
    assert first != drawn(KEY, "bob", "first")
    assert first != drawn(OTHER_KEY, "alice", "first")
    assert first != McAdams().coefficient(McAdams().draws(KEY, "alice"))


def test_another_coefficient_is_another_voice() -> None:
    signal = voice(0.5, 16000)[:, 0]
    alice = transformed(McAdams(), signal, 16000, "alice")
    bob = transformed(McAdams(), signal, 16000, "bob")
    assert np.abs(alice - bob).max() > 0.01
    fixed = McAdams(alpha=0.8)
    np.testing.assert_array_equal(
        transformed(fixed, signal, 16000, "alice"), transformed(fixed, signal, 16000, "bob")
    )


@pytest.mark.parametrize("alpha", [0.5, 0.8, 0.95])
def test_a_fixed_coefficient_is_everybodys(alpha: float) -> None:
    system = McAdams(alpha=alpha)
    assert system.coefficient(system.draws(KEY, "alice")) == alpha
    assert system.parameters()["alpha"] == alpha


@pytest.mark.parametrize("value", [0.49, 0.96, 1.0, 0.0, -0.5, 2.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["alpha", "low", "high"])
def test_coefficients_outside_the_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=r"^McAdams coefficient .* is outside 0\.5 to 0\.95$"):
        McAdams(**{name: value})


def test_an_empty_range_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^McAdams range 0\.9 to 0\.5 is empty$"):
        McAdams(low=0.9, high=0.5)


@pytest.mark.parametrize("level", ["utterance", "speaker"])
def test_parameters_tell_the_settings_and_nothing_drawn(level: str) -> None:
    system = McAdams(low=0.6, high=0.7, level=level)
    expected = {"alpha": None, "low": 0.6, "high": 0.7, "level": level}
    assert system.parameters() == expected
    system.anonymize(voice(0.1, 16000)[:, 0], 16000, speaker="a", utterance="b", key=KEY)
    assert system.parameters() == expected


def test_nothing_secret_stays_in_the_system_or_shows_in_its_draws() -> None:
    system = McAdams()
    before = dict(vars(system))
    draws = system.draws(KEY, "alice")
    system.anonymize(voice(0.1, 16000)[:, 0], 16000, speaker="alice", key=KEY)
    assert vars(system) == before
    shown = repr(draws) + repr(system)
    assert KEY.material.hex() not in shown
    assert repr(KEY.material)[2:-1] not in shown
    assert str(system.coefficient(draws)) not in shown
