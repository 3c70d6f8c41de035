from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.anonymize.base import Draws
from sordino.anonymize.input_level import levelled
from sordino.anonymize.neural import Neural
from sordino.anonymize.pseudo.base import Source
from sordino.anonymize.systems import load
from sordino.anonymize.voice import Voice
from sordino.anonymize.windows import WAVE, cells
from sordino.dsp.excitation import harmonic, noise
from sordino.dsp.pitch import Swift
from sordino.errors import UsageError
from sordino.privacy.keys import SecretKey
from tests import encoders
from tests.helpers import voice as speech
from tests.neural_voices import (
    CHANNELS,
    DIMENSION,
    archive,
    content_graph,
    generator_graph,
    pool,
    write_models,
    write_voice,
)

KEY = SecretKey(b"a key of 32 bytes for all tests.")
SIGNAL = speech(6.3, 16000, seed=3)[:, 0]


def neural(**changes: object) -> Neural:
    system = load("neural", **{"voice": "tiny-voice", "voices": 0, "lookahead": 0.5, **changes})
    assert isinstance(system, Neural)
    return system


def run(
    system: Neural,
    signal: np.ndarray,
    rate: int = 16000,
    *,
    cuts: Sequence[int] = (),
    **draws: object,
) -> np.ndarray:
    wave = np.atleast_2d(signal)
    edges = [0, *sorted(min(cut, wave.shape[1]) for cut in cuts), wave.shape[1]]
    blocks = [wave[:, start:end] for start, end in pairwise(edges)]
    given: Draws = system.draws(KEY, "alice", **draws)  # type: ignore[arg-type]
    return np.concatenate(list(system.transform(blocks, rate, given)), axis=1)


def odd_speech(kind: str, rate: int = 16000) -> np.ndarray:
    """Two seconds of speech that is hard to take apart."""
    rng, time = np.random.default_rng(1), np.arange(2 * rate) / rate
    plain = speech(2.0, rate, seed=5)[:, 0]
    if kind == "whispered":  # the envelope of speech on noise
        envelope = np.convolve(np.abs(plain), np.ones(400) / 400, mode="same")
        return envelope * rng.normal(size=time.size)
    if kind == "noisy":  # 0 dB
        return plain + plain.std() * rng.normal(size=time.size)
    pitch = {
        "creaky": 35 * 2 ** (0.5 * rng.normal(size=time.size).cumsum() / rate**0.5),
        "sung": 440 * 2 ** (np.sin(2 * np.pi * 5.5 * time) / 24),
        "child-like": 380 + 120 * np.sin(2 * np.pi * 1.1 * time),
    }[kind]
    tones = harmonic(np.repeat(pitch[80::160], 1), hop=160, sample_rate=rate)[0]
    return 0.1 * tones * np.clip(np.sin(2 * np.pi * 1.7 * time), 0.0, 1.0)


@pytest.mark.parametrize("kind", ["whispered", "creaky", "sung", "child-like", "noisy"])
@pytest.mark.parametrize("prosody", ["normalise", "quantise"])
def test_odd_speech_comes_out_complete(kind: str, prosody: str) -> None:
    signal = odd_speech(kind)
    output = run(neural(prosody=prosody), signal)
    assert output.shape == (1, signal.size)
    assert np.isfinite(output).all()
    assert output.std() > 1e-3


@pytest.mark.parametrize(
    ("mode", "settings"),
    [("quantise", {"steps": 3.0, "jitter": 0.2}), ("flatten", {"drift": 0.5})],
)
def test_settings_of_the_prosody_reach_it(mode: str, settings: dict[str, float]) -> None:
    told = neural(prosody=mode, **settings).parameters()
    assert {name: told[name] for name in settings} == settings


@pytest.fixture(scope="module")
def whole() -> np.ndarray:
    return run(neural(window=60, duration=0.06), SIGNAL)


@pytest.mark.parametrize("window", [0.16, 0.3, 1.0, 2.56, 5])
def test_the_result_is_the_same_for_any_window(whole, window):
    output = run(neural(window=window, duration=0.06), SIGNAL)
    np.testing.assert_allclose(output, whole, atol=1e-5)


@pytest.fixture(scope="module")
def uncut() -> np.ndarray:
    return run(neural(window=0.7, duration=0.06), SIGNAL[:40000])


@settings(max_examples=10)
@given(cuts=st.lists(st.integers(0, 40000), max_size=9))
def test_the_result_is_exactly_the_same_for_any_cutting(uncut, cuts):
    system = neural(window=0.7, duration=0.06)
    np.testing.assert_array_equal(run(system, SIGNAL[:40000], cuts=cuts), uncut)


def test_it_is_what_the_networks_give_for_the_whole_signal():
    system = neural(prosody="copy", window=0.5)
    draws = system.draws(KEY, "alice")
    pieces = levelled(cells([SIGNAL[None]], 100), ahead=6)
    wave = np.concatenate([piece.tracks[WAVE] for piece in pieces], axis=1)[0]
    voice = Voice.load("tiny-voice")
    f0 = Swift().track(wave)
    expected = voice.speech(
        {
            "content": voice.content(wave),
            "f0": f0,
            "speaker": system.pseudo_speaker(draws, None),
            "harmonic": harmonic(f0, hop=160, sample_rate=16000)[0],
            "noise": noise(0, wave.size, int(draws.uniform("noise") * 2**53)),
        }
    )
    assert (f0 > 0).mean() > 0.2
    np.testing.assert_allclose(run(system, SIGNAL)[0], expected[: SIGNAL.size], atol=1e-4)


def test_equal_channels_go_through_the_networks_once(monkeypatch):
    calls: list[int] = []
    content = Voice.content

    def counted(self: Voice, wave: np.ndarray) -> np.ndarray:
        calls.append(wave.size)
        return content(self, wave)

    monkeypatch.setattr(Voice, "content", counted)
    system = neural(window=60)
    mono = run(system, SIGNAL)
    assert len(calls) == 1
    both = run(system, np.stack([SIGNAL, SIGNAL]))
    assert len(calls) == 2
    np.testing.assert_array_equal(both, np.concatenate([mono, mono]))
    other = SIGNAL.copy()
    other[50000:] *= 0.5
    three = run(system, np.stack([SIGNAL, other, SIGNAL]))
    assert len(calls) == 4
    np.testing.assert_array_equal(three[[0, 2]], both)
    assert np.abs(three[1] - three[0]).max() > 0


def test_a_second_of_speech_does_not_change_what_was_said_before_it():
    louder = SIGNAL.copy()
    louder[80000:] = np.random.default_rng(0).normal(0, 0.3, louder.size - 80000)
    before, after = run(neural(window=1.0), SIGNAL), run(neural(window=1.0), louder)
    # 0.5 s of look-ahead for level and pitch each, and what the networks see.
    same = 80000 - 16000 - 5 * 1280
    np.testing.assert_allclose(after[:, :same], before[:, :same], atol=1e-6)
    assert np.abs(after - before).max() > 1e-3


@pytest.fixture(scope="module")
def unbounded(voice_models: Path) -> str:
    content = {"hop": 320, "channels": CHANNELS, "context": None}
    generator = {"hop": 160, "context": None}
    write_voice(
        voice_models / "unbounded",
        {
            "content.onnx": content_graph(bounded=False),
            "generator.onnx": generator_graph(("content", "noise")),
        },
        name="unbounded",
        content=content,
        generator=generator,
    )
    return "unbounded"


def test_networks_without_bounds_hear_fixed_windows(unbounded):
    signal = np.tile(SIGNAL, 6)
    system = neural(voice=unbounded, window=2)
    expected = run(system, signal)
    assert expected.shape == (1, signal.size)
    np.testing.assert_array_equal(run(system, signal, cuts=[1, 300, 99999, 210001]), expected)
    other = run(neural(voice=unbounded, window=7), signal)
    np.testing.assert_allclose(other, expected, atol=1e-5)


def test_joins_of_networks_without_bounds_cannot_be_seen(unbounded):
    system = neural(voice=unbounded)
    rng = np.random.default_rng(0)
    output = run(system, rng.normal(0, 0.1, 40 * 16000))[0]
    power = (output[: output.size // 1280 * 1280].reshape(-1, 1280) ** 2).mean(axis=1)
    joins = np.arange(150, power.size, 150)
    assert joins.size == 3
    around = power[np.concatenate([joins - 2, joins - 1, joins, joins + 1])]
    lowest, highest = np.quantile(power, [0.01, 0.99])
    assert lowest / 2 < around.min() < np.median(power) < around.max() < 2 * highest


@pytest.mark.parametrize("samples", [1, 2, 159, 160, 161, 1279, 1280, 1600, 10241])
@pytest.mark.parametrize("rate", [8000, 16000, 48000])
def test_short_signals_come_out_as_long_and_finite(samples, rate):
    signal = speech(1.5, rate)[-samples:, 0]
    output = run(neural(), signal, rate)
    assert output.shape == (1, samples)
    assert np.isfinite(output).all()


def test_eight_channels():
    signal = speech(1.0, 48000, channels=8).T
    output = run(neural(), signal, 48000)
    assert output.shape == signal.shape
    assert np.isfinite(output).all()
    assert (output.std(axis=1) > 1e-3).all()


@pytest.mark.parametrize("samples", [1, 1600, 40000])
def test_silence_stays_silent(samples):
    assert not run(neural(), np.zeros(samples)).any()
    hiss = np.random.default_rng(0).normal(0, 1e-4, samples)
    assert not run(neural(), hiss).any()


def test_silence_around_speech_stays_silent():
    signal = np.concatenate([np.zeros(16000), SIGNAL[:32000], np.zeros(48000), SIGNAL[:32000]])
    output = run(neural(), signal)[0]
    assert not output[: 16000 - 1120].any()
    assert not output[48000 + 1120 : 96000 - 1120].any()
    assert output[20000:40000].std() > 1e-3


def test_the_level_of_the_source_does_not_come_through():
    rng = np.random.default_rng(0)
    quiet = run(neural(), rng.normal(0, 0.02, 48000))
    loud = run(neural(), np.random.default_rng(0).normal(0, 0.2, 48000))
    np.testing.assert_allclose(quiet, loud, atol=1e-3)


@pytest.mark.parametrize(
    "signal",
    [
        np.sign(np.sin(np.arange(32000) / 20)),
        np.full(32000, 0.9),
        np.eye(1, 32000, 16000)[0],
        100 * np.random.default_rng(0).normal(size=32000),
        1e-30 * np.ones(32000),
    ],
    ids=["square", "offset", "click", "huge", "tiny"],
)
def test_odd_signals_come_out_finite(signal):
    output = run(neural(), signal)
    assert output.shape == (1, 32000)
    assert np.isfinite(output).all()


@pytest.mark.parametrize("clip", ["emodb", "fsdd", "speechocean762", "vctk"])
def test_real_speech(speech_root, clip):
    path = sorted((speech_root / clip).rglob("*.flac"))[0]
    samples, rate = soundfile.read(path, dtype="float32")
    output = neural().anonymize(samples, rate, speaker="alice", key=KEY)
    assert output.shape == samples.shape
    assert np.isfinite(output).all()
    assert 0.5 < output.std() / samples.std() < 2


def test_speakers_and_keys_get_voices_of_their_own():
    system = neural()
    outputs = [
        system.anonymize(SIGNAL, 16000, speaker=speaker, key=key)
        for speaker, key in (("alice", KEY), ("alice", KEY), ("bob", KEY), ("alice", b"k" * 32))
    ]
    np.testing.assert_array_equal(outputs[0], outputs[1])
    assert np.abs(outputs[0] - outputs[2]).max() > 1e-3
    assert np.abs(outputs[0] - outputs[3]).max() > 1e-3


@pytest.mark.parametrize("wants", [("content",), ("content", "noise"), ("content", "f0")])
def test_what_a_generator_does_not_want_is_not_computed(voice_models, wants, monkeypatch):
    name = "-".join(wants)
    if not (voice_models / name).exists():
        write_voice(voice_models / name, {"generator.onnx": generator_graph(wants)}, name=name)
    tracks: list[int] = []
    track = Swift._track
    monkeypatch.setattr(Swift, "_track", lambda self, x: tracks.append(1) or track(self, x))
    output = run(neural(voice=name, duration=0.06), SIGNAL[:32000])
    assert output.shape == (1, 32000)
    assert bool(tracks) == ("f0" in wants)


def test_a_source_is_heard_where_a_strategy_needs_one(voice_models):
    system = neural(strategy="average", voices=None, gender="any", candidates=20, averaged=3)
    assert system.needs_source
    assert not neural(gender="F").needs_source
    vector = system.source_encoder().embed_blocks([SIGNAL[None].astype("f4")], 16000)
    known = run(system, SIGNAL, source=Source(vector))
    np.testing.assert_array_equal(run(system, SIGNAL), known)
    np.testing.assert_array_equal(run(system, SIGNAL, cuts=[1, 2000, 50000]), known)
    other = run(system, SIGNAL, source=Source(-vector))
    assert np.abs(other - known).max() > 1e-3


def test_no_more_than_the_first_minute_is_heard(monkeypatch):
    heard = []

    class Ear:
        def embed_blocks(self, blocks: list[np.ndarray], rate: int) -> np.ndarray:
            heard.append(sum(block.shape[1] for block in blocks) / rate)
            return np.ones(DIMENSION)

    monkeypatch.setattr(Voice, "encoder", lambda self: Ear())
    monkeypatch.setattr(Voice, "content", lambda self, x: np.zeros((x.size // 320, 4)))
    monkeypatch.setattr(Swift, "_track", lambda self, x: np.zeros(x.size // 160))
    system = neural(strategy="average", voices=None, averaged=3, candidates=20)
    taken = 0

    def arriving() -> Iterator[np.ndarray]:
        nonlocal taken
        for _ in range(130):
            taken += 1
            yield np.zeros((1, 16000))

    output = system.transform(arriving(), 16000, system.draws(KEY, "alice"))
    first = next(output)
    assert heard == [60]
    assert taken <= 70
    assert first.shape[1] + sum(block.shape[1] for block in output) == 130 * 16000


@pytest.mark.parametrize("signal", [np.zeros(20000), SIGNAL[:100]], ids=["silence", "short"])
def test_who_cannot_be_heard_is_no_error(signal):
    system = neural(strategy="average", voices=None, averaged=3, candidates=20)
    assert run(system, signal).shape == (1, signal.size)
    assert run(system.resynthesis(), signal).shape == (1, signal.size)


def test_resynthesis_speaks_with_the_speakers_own_vector_and_pitch(monkeypatch):
    given: list[dict[str, np.ndarray]] = []
    speak = Voice.speech

    def noted(self: Voice, inputs: dict[str, np.ndarray]) -> np.ndarray:
        given.append(inputs)
        return speak(self, inputs)

    monkeypatch.setattr(Voice, "speech", noted)
    own = neural(prosody="flatten", duration=0.06, window=60).resynthesis()
    assert own.needs_source
    assert own.parameters()["prosody"] == "copy"
    assert own.parameters()["duration"] == 0
    vector = Source(own.source_encoder().embed_blocks([SIGNAL[None].astype("f4")], 16000)).vector
    run(own, SIGNAL)
    np.testing.assert_allclose(given[0]["speaker"], vector)
    assert (given[0]["f0"] > 0).mean() > 0.2
    assert np.unique(given[0]["f0"]).size > 100


def test_parameters_tell_all_that_decides():
    system = neural(gender="F", prosody="flatten", window=2.0)
    told = system.parameters()
    assert told["voice"] == "tiny-voice"
    assert told["digest"] == Voice.load("tiny-voice").digest
    assert (told["strategy"], told["gender"], told["voices"]) == ("density", "F", 0)
    assert (told["candidates"], told["turn"]) == (None, None)
    assert (told["prosody"], told["window"], told["level"]) == ("flatten", 2.0, "speaker")


def test_numbers_from_the_command_line_are_decimals():
    system = neural(strategy="average", voices=None, candidates=20.0, averaged=3.0)
    assert system.parameters()["candidates"] == 20


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"voice": None}, r"voice None is not the name .*sordino models list"),
        ({"voice": ""}, r"voice '' is not the name or folder of a voice"),
        ({"voice": 3.0}, r"voice 3.0 is not the name"),
        ({"voice": "nobody"}, r"there is no model 'nobody'; there are: .*tiny-voice"),
        ({"voice": encoders.NAME}, r"is a speaker-encoder, not a voice"),
        ({"digest": "f" * 64}, r"voice tiny-voice: is another than the one wanted"),
        ({"strategy": "farthest"}, r"there is no pseudo-speaker strategy 'farthest'"),
        ({"averaged": 3}, r"strategy density has no setting 'averaged'"),
        ({"strategy": "average", "voices": None, "candidates": 2.5}, r"candidates 2.5"),
        ({"gender": "x"}, r"gender 'x' is not one of"),
        ({"window": 0.1}, r"window 0.1 is not a number from 0.16 to 60"),
        ({"window": "long"}, r"window 'long' is not a number"),
        ({"lookahead": -1}, r"lookahead -1 is not a number from 0 to 60"),
        ({"duration": 2.0}, r"duration 2.0 is not a number from 0 to 0.5"),
        ({"level": "word"}, r"level 'word' is not one of"),
    ],
)
def test_odd_settings_are_one_line(changes, message):
    with pytest.raises(UsageError, match=message) as caught:
        neural(**changes)
    assert "\n" not in str(caught.value)


def test_a_pool_that_is_too_small_is_one_line(voice_models):
    few = {"pool.npz": archive(pool(speakers=4))}
    if not (voice_models / "few").exists():
        write_voice(voice_models / "few", few, name="few")
    system = neural(voice="few", strategy="average", voices=None, gender="F", proximity="random")
    with pytest.raises(UsageError, match="pool"):
        run(system, SIGNAL[:16000])
    with pytest.raises(UsageError, match="pool has 2 voices of women, 100 are needed"):
        system.check()
    neural(voice="few", strategy="pool", voices=None).check()


def test_a_missing_encoder_is_one_line(tmp_path, monkeypatch):
    write_voice(tmp_path / "v")
    monkeypatch.setenv("SORDINO_MODELS", str(tmp_path / "nothing"))
    system = neural(voice=str(tmp_path / "v"))
    assert run(system, SIGNAL[:16000]).shape == (1, 16000)
    message = f"its speaker encoder is needed .* there is no model '{encoders.NAME}'"
    with pytest.raises(UsageError, match=message):
        run(system.resynthesis(), SIGNAL[:16000])


def test_memory_does_not_grow(monkeypatch):
    """What is held at any time is bounded, for a stream of any length."""
    monkeypatch.setattr(Swift, "_track", lambda self, x: np.zeros(x.size // 160))
    waiting = largest = 0
    system = neural(window=1.0)

    def arriving() -> Iterator[np.ndarray]:
        nonlocal waiting
        for _ in range(200):
            waiting += 16000
            yield np.zeros((1, 16000))

    for block in system.transform(arriving(), 16000, system.draws(KEY, "alice")):
        waiting -= block.shape[1]
        largest = max(largest, waiting)
    assert waiting == 0
    assert largest < 5 * 16000


def test_works_without_torch(tmp_path):
    write_models(tmp_path)
    script = (
        "import sys, numpy as np\n"
        "from sordino.anonymize.systems import load\n"
        "assert 'onnxruntime' not in sys.modules\n"
        "system = load('neural', voice='tiny-voice', voices=0)\n"
        "system.anonymize(np.ones(99), 16000, speaker='a', key=b'k' * 32)\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
