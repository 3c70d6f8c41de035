from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyloudnorm
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import correlate

from sordino.anonymize.base import CEILING, Anonymizer, Blocks, Draws
from sordino.anonymize.systems import SYSTEMS, load
from sordino.errors import AudioError, SordinoError, UsageError
from sordino.privacy.keys import SecretKey
from tests.clips import CORPORA, clips
from tests.helpers import voice
from tests.systems import make

KEY = SecretKey(b"a key of 32 bytes for all tests.")


class Gain(Anonymizer):
    """Changes nothing but the level; what is left is the base's own work."""

    name, version, protection = "gain", 1, "None."

    def __init__(self, gain: float) -> None:
        super().__init__()
        self._gain = gain

    def parameters(self) -> Mapping[str, object]:
        return {}

    def transform(self, blocks: Blocks, sample_rate: int, draws: Draws) -> Iterator[np.ndarray]:
        for block in blocks:
            yield self._gain * block


@pytest.fixture(params=SYSTEMS)
def system(request: pytest.FixtureRequest) -> Anonymizer:
    return make(request.param)


def streamed(
    system: Anonymizer, signal: np.ndarray, rate: int, cuts: list[int]
) -> list[np.ndarray]:
    edges = [0, *sorted(min(cut, signal.shape[-1]) for cut in cuts), signal.shape[-1]]
    blocks = [signal[..., start:end] for start, end in pairwise(edges)]
    return list(system.stream(blocks, rate, speaker="alice", key=KEY))


@pytest.mark.parametrize("shape", [(1,), (5000,), (1, 5000), (2, 5000), (5, 3000), (2, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("rate", [8000, 16000, 48000])
def test_shape_is_kept_and_samples_are_single_precision(
    system: Anonymizer, shape: tuple[int, ...], dtype: type, rate: int
) -> None:
    signal = np.random.default_rng(0).uniform(-0.5, 0.5, shape).astype(dtype)
    output = system.anonymize(signal, rate, speaker="alice", key=KEY)
    assert output.shape == shape
    assert output.dtype == np.float32
    assert np.isfinite(output).all()


def test_the_input_is_left_as_it_is(system: Anonymizer) -> None:
    signal = voice(0.3, 16000).T
    copy = signal.copy()
    system.anonymize(signal, 16000, speaker="alice", key=KEY)
    np.testing.assert_array_equal(signal, copy, strict=True)


def test_memory_layout_does_not_matter(system: Anonymizer) -> None:
    signal = voice(0.3, 16000, channels=2)
    expected = system.anonymize(signal.T.copy(), 16000, speaker="alice", key=KEY)
    output = system.anonymize(signal.T, 16000, speaker="alice", key=KEY)
    np.testing.assert_array_equal(output, expected)
    every_second = system.anonymize(signal[::2, 0], 8000, speaker="alice", key=KEY)
    copied = system.anonymize(signal[::2, 0].copy(), 8000, speaker="alice", key=KEY)
    np.testing.assert_array_equal(every_second, copied)


@pytest.mark.parametrize("corpus", CORPORA)
def test_loudness_is_kept(speech_root: Path, system: Anonymizer, corpus: str) -> None:
    meter = pyloudnorm.Meter(16000)
    for speech in clips(speech_root, corpus, seconds=3.0):
        # Far enough from full scale that no peak is held down.
        signal = 0.2 * speech
        output = system.anonymize(signal, 16000, speaker="alice", key=KEY)
        assert np.abs(output).max() < 0.9
        change = meter.integrated_loudness(output) - meter.integrated_loudness(signal)
        # At 16 kHz pyloudnorm's filters differ from the standard's by up to 0.2 dB.
        assert abs(change) < 0.4


@pytest.mark.parametrize("gain", [0.1, 0.5, 30.0])
@pytest.mark.parametrize("channels", [1, 2])
def test_loudness_is_restored_exactly(gain: float, channels: int) -> None:
    signal = voice(1.0, 16000, channels=channels).T
    output = Gain(gain).anonymize(signal, 16000, speaker="alice", key=KEY)
    np.testing.assert_allclose(output, signal, atol=1e-6)


@pytest.mark.parametrize("level", [1.0, 4.0, 1000.0])
def test_peaks_are_held_under_the_ceiling(system: Anonymizer, level: float) -> None:
    signal = level * voice(1.0, 16000)[:, 0] / 0.3
    output = system.anonymize(signal, 16000, speaker="alice", key=KEY)
    live = np.concatenate(streamed(system, signal, 16000, [1000, 5000]))
    for changed in (output, live):
        assert 0.5 < np.abs(changed).max() <= np.float32(CEILING)


@pytest.mark.parametrize("rate", [8000, 16000, 48000])
@pytest.mark.parametrize("shape", [(1,), (9000,), (2, 9000)])
def test_silence_stays_silent(system: Anonymizer, shape: tuple[int, ...], rate: int) -> None:
    assert not system.anonymize(np.zeros(shape), rate, speaker="alice", key=KEY).any()
    assert not np.concatenate(streamed(system, np.zeros(shape), rate, [100]), axis=-1).any()


@pytest.mark.parametrize("rate", [8000, 16000, 44100])
@pytest.mark.parametrize(
    "signal",
    [
        np.ones(6000),
        np.where(np.arange(6000) // 40 % 2, 1.0, -1.0),
        (np.arange(6000) == 3000).astype(float),
        np.sin(0.1 * np.arange(6000)),
        np.full(6000, 1e-30),
        np.full(6000, 1e10),
    ],
    ids=["constant", "square", "impulse", "sine", "next to nothing", "largest"],
)
def test_odd_signals_come_out_finite_and_bounded(
    system: Anonymizer, signal: np.ndarray, rate: int
) -> None:
    output = system.anonymize(signal, rate, speaker="alice", key=KEY)
    live = np.concatenate(streamed(system, signal, rate, [1, 2, 3000]))
    for changed in (output, live):
        assert changed.shape == signal.shape
        assert np.isfinite(changed).all()
        assert np.abs(changed).max() <= np.float32(CEILING)
        # What no converter could tell from silence is silence to the networks.
        assert changed.any() or (system.name == "neural" and signal.max() < 1e-9)


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize(("alpha", "limit"), [(0.5, 0.5), (0.8, 0.8)])
def test_the_result_is_not_the_speech_that_went_in(
    speech_root: Path, corpus: str, alpha: float, limit: float
) -> None:
    system = load("mcadams", alpha=alpha)
    for speech in clips(speech_root, corpus, seconds=3.0):
        output = system.anonymize(speech, 16000, speaker="alice", key=KEY).astype(np.float64)
        similar = np.abs(correlate(output, speech, method="fft")).max()
        assert similar < limit * np.sqrt((output @ output) * (speech @ speech))


REFUSED = {
    "integers": (np.ones(100, dtype=np.int16), "samples are int16; expected floating point"),
    "booleans": (np.ones(100, dtype=bool), "samples are bool; expected floating point"),
    "complex": (np.ones(100, dtype=complex), "samples are complex128; expected floating point"),
    "empty": (np.zeros(0), "samples have shape \\(0,\\); expected"),
    "no samples": (np.zeros((2, 0)), "samples have shape \\(2, 0\\); expected"),
    "a number": (np.array(0.5), "samples have shape \\(\\); expected"),
    "three dimensions": (np.zeros((1, 1, 9)), "samples have shape \\(1, 1, 9\\); expected"),
    "samples x channels": (np.zeros((900, 2)), "samples have shape \\(900, 2\\); expected"),
    "samples x one": (np.zeros((900, 1)), "samples have shape \\(900, 1\\); expected"),
    "not a number": (np.array([0.0, np.nan]), "samples hold NaN, infinity or numbers far"),
    "infinity": (np.array([0.0, -np.inf]), "samples hold NaN, infinity or numbers far"),
    "too large": (np.array([0.0, 1e11]), "samples hold NaN, infinity or numbers far"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_samples_that_cannot_be_processed_are_refused(system: Anonymizer, name: str) -> None:
    samples, message = REFUSED[name]
    with pytest.raises(AudioError, match=f"^{message}") as caught:
        system.anonymize(samples, 16000, speaker="alice", key=KEY)
    assert "\n" not in str(caught.value)
    if samples.size:
        with pytest.raises(AudioError, match=f"^{message}"):
            list(system.stream([np.zeros(10), samples], 16000, speaker="alice", key=KEY))


@pytest.mark.parametrize(
    "rate", [0, -16000, 7999, 192001, float("nan"), float("inf"), 16000.5, "16000", None]
)
def test_rates_outside_the_range_are_refused(system: Anonymizer, rate: int) -> None:
    message = r"^sample rate .* (Hz is outside 8000 to 192000 Hz|is not a whole number)$"
    with pytest.raises(AudioError, match=message):
        system.anonymize(np.ones(100), rate, speaker="alice", key=KEY)
    with pytest.raises(AudioError, match=message):
        list(system.stream([np.ones(100)], rate, speaker="alice", key=KEY))


@pytest.mark.parametrize(
    ("level", "arguments", "message"),
    [
        ("speaker", {"speaker": "alice", "key": b""}, "the key has 0 bytes; it needs at least 16"),
        ("speaker", {"speaker": "alice", "key": b"short"}, "the key has 5 bytes"),
        ("speaker", {"speaker": "", "key": KEY}, "the speaker's id is empty"),
        ("utterance", {"speaker": "alice", "key": KEY}, "level .utterance. needs the utterance"),
        ("utterance", {"speaker": "alice", "key": KEY, "utterance": ""}, "level .utterance."),
        ("utterance", {"speaker": "", "key": KEY, "utterance": "1"}, "the speaker's id is empty"),
    ],
)
def test_ids_and_keys_that_are_missing_are_refused(
    level: str, arguments: dict, message: str
) -> None:
    system = load("mcadams", level=level)
    with pytest.raises(UsageError, match=f"^{message}") as caught:
        system.anonymize(np.ones(100), 16000, **arguments)
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match=f"^{message}"):
        list(system.stream([np.ones(100)], 16000, **arguments))


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^level 'group' is not one of: speaker, utterance$"):
        load("mcadams", level="group")


def test_a_key_may_be_given_as_its_secret(system: Anonymizer) -> None:
    signal, secret = voice(0.2, 16000)[:, 0], b"a secret of more than sixteen bytes"
    expected = system.anonymize(signal, 16000, speaker="alice", key=SecretKey.from_secret(secret))
    output = system.anonymize(signal, 16000, speaker="alice", key=secret)
    np.testing.assert_array_equal(output, expected)


def test_draws_follow_from_key_system_level_and_ids() -> None:
    # Raise the system's version if this has to change: everybody gets another voice.
    by_speaker, by_utterance = load("mcadams"), load("mcadams", level="utterance")
    draws = by_speaker.draws(KEY, "alice", "first")
    assert draws.uniform("alpha") == KEY.uniform("voice", "mcadams", "speaker", "alice", "alpha")
    draws = by_utterance.draws(KEY, "alice", "first")
    labels = ("voice", "mcadams", "utterance", "alice", "first", "alpha")
    assert draws.uniform("alpha") == KEY.uniform(*labels)


def test_draws_depend_on_the_system_the_level_and_the_purpose() -> None:
    gain, mcadams = Gain(1.0), load("mcadams")
    by_utterance = load("mcadams", level="utterance")
    values = [
        gain.draws(KEY, "alice").uniform("alpha"),
        mcadams.draws(KEY, "alice").uniform("alpha"),
        mcadams.draws(KEY, "alice").uniform("pitch"),
        by_utterance.draws(KEY, "alice", "1").uniform("alpha"),
        by_utterance.draws(KEY, "alice1", "1").uniform("alpha"),
        by_utterance.draws(KEY, "alice", "11").uniform("alpha"),
    ]
    assert len(set(values)) == len(values)
    assert mcadams.draws(KEY, "alice") == mcadams.draws(KEY, "alice", "1")


@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(0, 4000), max_size=12))
@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize(("rate", "channels"), [(16000, 1), (16000, 2), (44100, 1)])
def test_a_stream_does_not_depend_on_its_cutting(
    name: str, rate: int, channels: int, cuts: list[int]
) -> None:
    system = make(name)
    signal = voice(0.25, 16000, channels=channels).T[:, :4000]
    whole = np.concatenate(streamed(system, signal, rate, []), axis=1)
    output = np.concatenate(streamed(system, signal, rate, cuts), axis=1)
    assert whole.shape == signal.shape
    np.testing.assert_allclose(output, whole, atol=1e-6)


@pytest.mark.parametrize("samples", [1, 2, 159, 160, 161])
@pytest.mark.parametrize("rate", [8000, 16000, 44100])
def test_streams_of_a_few_samples_keep_their_length(
    system: Anonymizer, samples: int, rate: int
) -> None:
    signal = voice(0.25, 16000)[1000 : 1000 + samples, 0]
    output = np.concatenate(streamed(system, signal, rate, list(range(samples))))
    assert output.shape == signal.shape
    assert output.dtype == np.float32


@pytest.mark.parametrize("shape", [(4000,), (1, 4000), (2, 4000)])
def test_a_stream_has_the_dimensions_of_its_blocks(
    system: Anonymizer, shape: tuple[int, ...]
) -> None:
    signal = np.random.default_rng(0).normal(0, 0.1, shape)
    blocks = streamed(system, signal, 16000, [7, 7, 1000])
    assert {block.ndim for block in blocks} == {len(shape)}
    assert {block.dtype for block in blocks} == {np.dtype(np.float32)}
    assert all(block.size for block in blocks)
    assert np.concatenate(blocks, axis=-1).shape == shape


def test_no_blocks_give_no_output(system: Anonymizer) -> None:
    assert list(system.stream([], 16000, speaker="alice", key=KEY)) == []
    assert list(system.stream([np.zeros(0)] * 3, 16000, speaker="alice", key=KEY)) == []


def test_the_number_of_channels_cannot_change_midway(system: Anonymizer) -> None:
    with pytest.raises(AudioError, match=r"^2 channels follow 1$"):
        list(system.stream([np.ones(9), np.ones((2, 9))], 16000, speaker="alice", key=KEY))


@pytest.mark.parametrize("corpus", CORPORA)
def test_a_stream_is_about_as_loud_as_its_source(
    speech_root: Path, system: Anonymizer, corpus: str
) -> None:
    for speech in clips(speech_root, corpus, seconds=3.0):
        signal = 0.2 * speech
        output = np.concatenate(streamed(system, signal, 16000, list(range(0, 48000, 1600))))
        change = 10 * np.log10(np.mean(output.astype(np.float64) ** 2) / np.mean(signal**2))
        assert abs(change) < 3.0


def test_a_stream_follows_the_level_of_its_source() -> None:
    signal = 0.1 * np.random.default_rng(0).normal(size=32000)
    output = np.concatenate(streamed(Gain(7.0), signal, 16000, list(range(0, 32000, 500))))
    np.testing.assert_allclose(output[4000:], signal[4000:], rtol=1e-3)


def test_a_stream_holds_back_only_what_the_system_does() -> None:
    received = sent = 0

    def arriving() -> Iterator[np.ndarray]:
        nonlocal received
        for _ in range(200):
            received += 400
            yield np.full(400, 0.1)

    for block in Gain(2.0).stream(arriving(), 16000, speaker="alice", key=KEY):
        sent += block.size
        assert received - sent <= 400 + 16 * 16
    assert sent == 80000


def test_every_refusal_is_one_of_ours(system: Anonymizer) -> None:
    for samples in (np.ones(3, dtype=int), np.zeros(0), np.full(3, np.nan)):
        with pytest.raises(SordinoError):
            system.anonymize(samples, 16000, speaker="alice", key=KEY)


def test_whole_numbers_of_any_kind_are_rates(system: Anonymizer) -> None:
    signal = voice(0.2, 44100)[:, 0]
    expected = system.anonymize(signal, 44100, speaker="alice", key=KEY)
    for rate in (44100.0, np.float64(44100), np.int32(44100)):
        np.testing.assert_array_equal(
            system.anonymize(signal, rate, speaker="alice", key=KEY), expected
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"key": "a key that is text, not bytes"}, "the key is str; give bytes"),
        ({"speaker": 7}, "the speaker's id is empty or not text"),
        ({"source": np.ones(3)}, r"the source is ndarray; give a sordino\..*\.Source"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(
    system: Anonymizer, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=f"^{message}$"):
        system.anonymize(np.ones(100), 16000, **{"speaker": "alice", "key": KEY, **arguments})
