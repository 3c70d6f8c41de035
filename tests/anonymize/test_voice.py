from __future__ import annotations

import multiprocessing
import pickle
from pathlib import Path
from shutil import rmtree

import numpy as np
import pytest
from onnx import TensorProto, helper

from sordino.anonymize.voice import Voice
from sordino.errors import UsageError
from tests import encoders
from tests.neural_voices import (
    CHANNELS,
    DIMENSION,
    EVERYTHING,
    archive,
    content_graph,
    generator_graph,
    metadata,
    pool,
    write_models,
    write_voice,
)


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SORDINO_MODELS", str(tmp_path))
    write_models(tmp_path)
    return tmp_path


def inputs(frames: int = 8) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "content": rng.normal(size=(frames, CHANNELS)),
        "f0": rng.uniform(80, 300, 2 * frames),
        "speaker": rng.normal(size=DIMENSION),
        "harmonic": rng.normal(size=320 * frames),
        "noise": rng.normal(size=320 * frames),
    }


def test_a_voice_by_name_or_folder(models):
    voice = Voice.load("tiny-voice")
    assert Voice.load(str(models / "tiny-voice")) == voice
    assert (voice.name, voice.hop, voice.channels, voice.dimension) == ("tiny-voice", 320, 4, 3)
    assert (voice.content_context, voice.generator_context) == (1, 1)
    assert voice.tracker.name == "swift"
    assert len(voice.digest) == 64
    assert voice.wants == set(EVERYTHING)
    assert len(voice.pool) == 60


def test_content_has_a_frame_every_20_ms(models):
    voice = Voice.load("tiny-voice")
    content = voice.content(np.random.default_rng(0).normal(0, 0.1, 4 * 1280))
    assert content.shape == (16, 4)
    assert content.dtype == np.float32
    assert content.std() > 0.1


def test_speech_depends_on_every_input(models):
    voice, given = Voice.load("tiny-voice"), inputs()
    speech = voice.speech(given)
    assert speech.shape == (8 * 320,)
    for name, value in given.items():
        assert np.abs(voice.speech({**given, name: value + 1}) - speech).max() > 1e-3, name


@pytest.mark.parametrize("wants", [("content",), ("content", "f0", "speaker"), EVERYTHING])
def test_a_generator_gets_what_it_wants(tmp_path, wants):
    write_voice(tmp_path / "v", {"generator.onnx": generator_graph(wants)})
    voice = Voice.load(str(tmp_path / "v"))
    assert voice.wants == set(wants)
    assert voice.speech(inputs()).shape == (8 * 320,)


def test_a_content_network_with_100_frames_a_second(tmp_path):
    graphs = {
        "content.onnx": content_graph(hop=160, bounded=False),
        "generator.onnx": generator_graph(hop=160),
    }
    content = {"hop": 160, "channels": CHANNELS, "context": None}
    write_voice(tmp_path / "v", graphs, content=content)
    voice = Voice.load(str(tmp_path / "v"))
    assert voice.content_context is None
    assert voice.content(np.zeros(1280)).shape == (8, 4)
    assert voice.speech({**inputs(), "content": np.zeros((16, 4))}).shape == (2560,)


@pytest.mark.parametrize(("context", "units"), [(0, 0), (1, 1), (1280, 1), (1281, 2), (None, None)])
def test_contexts_are_rounded_up_to_units(tmp_path, context, units):
    content = {"hop": 320, "channels": CHANNELS, "context": context}
    write_voice(tmp_path / "v", content=content)
    assert Voice.load(str(tmp_path / "v")).content_context == units


SECTIONS = metadata()


def without(section: str, key: str | None = None, **changes: object) -> dict[str, object]:
    value = dict(SECTIONS[section])  # type: ignore[call-overload]
    if key:
        del value[key]
    return {section: {**value, **changes}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "vocoder"}, "is a vocoder, not a voice .see: sordino models list"),
        ({"sample_rate": 24000}, "model.json gives a sample_rate other than 16000"),
        ({"sample_rate": None}, "gives no whole number above 0 as sample_rate"),
        ({"content": None}, "gives no section 'content'"),
        ({"speaker": ["x"]}, "gives no section 'speaker'"),
        (without("content", "hop"), "gives no whole number above 0 as content.hop"),
        (without("content", hop=200), "gives a content.hop that is not 160 or 320"),
        (without("content", hop=True), "gives no whole number above 0 as content.hop"),
        (without("content", channels=0), "gives no whole number above 0 as content.channels"),
        (without("content", "context"), "gives no content.context .a whole number from 0, or null"),
        (without("content", context=-1), "gives no content.context"),
        (without("generator", context="all"), "gives no generator.context"),
        (without("generator", "context"), "gives no generator.context"),
        (without("generator", hop=256), "gives a generator.hop other than 160"),
        (without("speaker", "dimension"), "no whole number above 0 as speaker.dimension"),
        (without("speaker", "encoder"), "gives no text speaker.encoder"),
        (without("speaker", digest=7), "gives no text speaker.digest"),
        (without("pitch", "tracker"), "gives no text pitch.tracker"),
        (without("pitch", tracker="ear"), "unknown pitch.tracker: there is no pitch tracker 'ear'"),
    ],
)
def test_odd_metadata_are_one_line(tmp_path, changes, message):
    write_voice(tmp_path / "v", **changes)
    with pytest.raises(UsageError, match=message) as caught:
        Voice.load(str(tmp_path / "v"))
    assert str(caught.value).startswith(f"model {tmp_path / 'v'}: ")
    assert "\n" not in str(caught.value)


def test_a_bundle_of_another_kind_is_told_where_voices_are(tmp_path):
    bundle = encoders.write_encoder(tmp_path / "e")
    with pytest.raises(UsageError, match=r"speaker-encoder, not a voice .*sordino models list"):
        Voice(bundle)


@pytest.mark.parametrize("name", ["content.onnx", "generator.onnx", "pool.npz"])
def test_a_missing_file_is_found_at_once(tmp_path, name):
    write_voice(tmp_path / "v", leave_out=name)
    with pytest.raises(UsageError, match=rf"it has no file {name}"):
        Voice.load(str(tmp_path / "v"))


def odd_generator(**shapes: list) -> bytes:
    """A graph with inputs of any shapes that gives zeros."""
    nodes = [helper.make_node("ConstantOfShape", ["shape"], ["wave"])]
    given = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in shapes.items()
    ]
    given.append(helper.make_tensor_value_info("shape", TensorProto.INT64, [2]))
    graph = helper.make_graph(
        nodes, "odd", given, [helper.make_tensor_value_info("wave", TensorProto.FLOAT, [1, None])]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (odd_generator(content=[1, "t", 4]), "takes 'shape'; known are: content, f0, speaker,"),
        (odd_generator(content=[1, "t", 5]), r"takes content .1, 't', 5.; expected .1, any, 4."),
        (odd_generator(content=[1, 7, 4]), "takes content .1, 7, 4.; expected"),
        (odd_generator(content=["t", 4]), "takes content .'t', 4.; expected"),
        (generator_graph(("content", "speaker"), dimension=5), r"takes speaker .*expected .1, 3."),
        (content_graph(), "takes 'wave'; known are"),
        (b"no graph", "cannot be run"),
    ],
)
def test_odd_generators_are_one_line(tmp_path, graph, message):
    write_voice(tmp_path / "v", {"generator.onnx": graph})
    voice = Voice.load(str(tmp_path / "v"))
    with pytest.raises(UsageError, match=message) as caught:
        _ = voice.wants
    assert str(caught.value).startswith(f"model {tmp_path / 'v'}: generator.onnx ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (generator_graph(), "does not take wave .1, samples."),
        (content_graph(channels=9), r"does not give content .1, frames, 4.*9"),
        (content_graph(hop=160), r"gives an array of shape .1, 8, 4. instead of .1, 4, 4."),
    ],
)
def test_odd_content_networks_are_one_line(tmp_path, graph, message):
    write_voice(tmp_path / "v", {"content.onnx": graph})
    voice = Voice.load(str(tmp_path / "v"))
    with pytest.raises(UsageError, match=message) as caught:
        voice.content(np.zeros(1280))
    assert str(caught.value).startswith(f"model {tmp_path / 'v'}: content.onnx ")


def test_generators_that_give_too_little_or_nan_are_one_line(models):
    voice, given = Voice.load("tiny-voice"), inputs()
    with pytest.raises(UsageError, match=r"generator.onnx gives NaN or infinity"):
        voice.speech({**given, "speaker": np.full(DIMENSION, 1e4)})
    with pytest.raises(UsageError, match=r"generator.onnx cannot be run"):
        voice.speech({**given, "noise": given["noise"][:-320]})


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"vectors": np.ones((2, 3))}, "pool.npz: has no array 'sex'"),
        (pool(dimension=5), "pool.npz: holds vectors of 5 numbers instead of 3"),
    ],
)
def test_odd_pools_are_one_line(tmp_path, arrays, message):
    write_voice(tmp_path / "v", {"pool.npz": archive(arrays)})
    with pytest.raises(UsageError, match=message):
        _ = Voice.load(str(tmp_path / "v")).pool


def test_the_encoder_is_the_one_that_the_voice_was_made_with(models):
    voice = Voice.load("tiny-voice")
    assert voice.encoder().digest == voice.encoder_digest
    write_voice(models / "other", speaker={**SECTIONS["speaker"]})  # type: ignore[dict-item]
    with pytest.raises(UsageError, match="is not the mean-energy that the voice tiny-voice was"):
        Voice.load("other").encoder()


def test_a_voice_can_be_pickled(models):
    voice = Voice.load("tiny-voice")
    wave = np.random.default_rng(0).normal(0, 0.1, 1280)
    expected = voice.content(wave)
    data = pickle.dumps(voice)
    assert len(data) < 1000
    assert pickle.loads(data) is voice  # noqa: S301
    with multiprocessing.get_context("spawn").Pool(1) as workers:
        (there,) = workers.map(voice.content, [wave])
    np.testing.assert_array_equal(there, expected)


def test_a_voice_is_opened_once_and_anew_when_it_was_replaced(models):
    voice = Voice.load("tiny-voice")
    assert Voice.load("tiny-voice") is voice
    reopen, arguments = voice.__reduce__()
    rmtree(models / "tiny-voice")
    write_voice(models / "tiny-voice", {"content.onnx": content_graph(bounded=False)})
    assert Voice.load("tiny-voice").digest != voice.digest
    with pytest.raises(UsageError, match="has been replaced by another while it was in use"):
        reopen.__wrapped__(*arguments)  # what a process does that has not opened it yet


def test_no_graph_is_opened_before_it_runs(tmp_path):
    write_voice(tmp_path / "v")
    voice = Voice.load(str(tmp_path / "v"))
    assert not {"_content", "_generator", "pool"} & set(vars(voice))
    _ = voice.wants
    assert "_generator" in vars(voice)
