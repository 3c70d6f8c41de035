"""Graphs in whole numbers: what changes, what stays, and how near the result is."""

from __future__ import annotations

import logging

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
onnx = pytest.importorskip("onnx", reason="needs the extra train")
import onnxruntime
from onnx import numpy_helper

from sordino.errors import UsageError
from sordino.training.generator_export import example_inputs, generator_graph
from sordino.training.networks.generators import build_generator
from sordino.training.quantise import QuantiseSettings, quantised
from tests.training.networks.generators.generator_helpers import network, randomised

HIFIGAN = network(
    "hifigan",
    320,
    sizes={
        "channels": 64,
        "rates": [10, 16],
        "kernels": [20, 32],
        "resblock_kernels": [3, 5],
        "resblock_dilations": [[1], [1, 3]],
    },
)
ALL = QuantiseSettings(least_channels=0)


@pytest.fixture(scope="module")
def vocoder():
    torch.manual_seed(0)
    generator = build_generator(HIFIGAN)
    with torch.no_grad():
        for value in generator.parameters():
            value.mul_(3)
    calibration = [example_inputs(generator, 12, seed=seed) for seed in range(3)]
    return generator, generator_graph(generator), calibration


def run(graph, inputs):
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)[0]


def in_whole_numbers(graph):
    """Names of the nodes whose weights are stored in 8 bits, with the weights."""
    model = onnx.load_from_string(graph)
    stored = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
    made_by = {node.output[0]: node for node in model.graph.node}
    found = {}
    for node in model.graph.node:
        if node.op_type in ("Conv", "MatMul", "Gemm"):
            before = made_by.get(node.input[1])
            if before is not None and before.op_type == "DequantizeLinear":
                found[node.name] = [stored[name] for name in before.input]
    return found


def test_near_the_original_on_other_inputs(vocoder):
    generator, graph, calibration = vocoder
    small = quantised(graph, calibration, ALL)
    onnx.checker.check_model(onnx.load_from_string(small))
    for frames in (3, 40):
        inputs = example_inputs(generator, frames, seed=99)
        wave, expected = run(small, inputs), run(graph, inputs)
        assert wave.shape == expected.shape
        difference = np.sqrt(np.mean((wave - expected) ** 2) / np.mean(expected**2))
        assert 0 < difference < 0.1


def test_weights_are_the_nearest_whole_numbers(vocoder):
    generator, graph, calibration = vocoder
    layers = in_whole_numbers(quantised(graph, calibration, ALL))
    weights, scales, offsets = layers["/resblocks.1/convs2.1/Conv"]
    assert weights.dtype == np.int8
    assert not offsets.any()
    original = generator.resblocks[1].convs2[1].weight.detach().numpy()
    assert scales.shape == (original.shape[0],)
    # Each channel has the scale that its largest weight needs.
    np.testing.assert_allclose(scales, np.abs(original).max(axis=(1, 2)) / 127, rtol=0.01)
    error = np.abs(weights * scales[:, None, None] - original)
    assert (error <= 0.51 * scales[:, None, None]).all()


def test_what_stays_in_floating_point(vocoder):
    _, graph, calibration = vocoder
    convolutions = 2 * (2 + 4) + 2
    chosen = {
        "all": QuantiseSettings(keep_ends=False, least_channels=0),
        "ends": ALL,
        "narrow": QuantiseSettings(least_channels=32),
        "named": QuantiseSettings(least_channels=0, keep=("/resblocks.0/", "/resblocks.3/convs1")),
    }
    found = {
        name: in_whole_numbers(quantised(graph, calibration[:1], settings))
        for name, settings in chosen.items()
    }
    assert len(found["all"]) == convolutions
    assert found["all"].keys() - found["ends"].keys() == {"/conv_pre/Conv", "/conv_post/Conv"}
    assert {name.split("/")[1] for name in found["narrow"]} == {
        f"resblocks.{number}" for number in (0, 1)
    }
    assert len(found["named"]) == convolutions - 2 - 2 - 2


def test_products_with_weights():
    generator = randomised(build_generator(network("istft", 320)))
    graph = generator_graph(generator)
    calibration = [example_inputs(generator, 20, seed=seed) for seed in range(2)]
    # Those of the Fourier transform have no place in a layer.
    settings = QuantiseSettings(
        operators=("MatMul",), keep_ends=False, least_channels=16, keep=("/MatMul",)
    )
    small = quantised(graph, calibration, settings)
    names = in_whole_numbers(small)
    assert {name.rsplit("/", 1)[0] for name in names} == {
        "/content",
        "/pitch",
        "/norm/voice",
        "/head",
        *(
            f"/blocks.{number}/{layer}"
            for number in (0, 1)
            for layer in ("wide", "narrow", "norm/voice")
        ),
    }
    wave, expected = run(small, calibration[1]), run(graph, calibration[1])
    assert np.corrcoef(wave[0], expected[0])[0, 1] > 0.9


def test_calibration_is_read_once_and_no_advice_is_given(vocoder, caplog):
    _, graph, calibration = vocoder
    taken = []

    def once():
        for inputs in calibration:
            taken.append(inputs)
            yield inputs

    with caplog.at_level(logging.DEBUG):
        quantised(graph, once(), ALL)
    assert len(taken) == len(calibration)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert not logging.getLogger().disabled


def test_calibration_decides_the_range(vocoder):
    """Ranges that are too narrow clip what comes."""
    _, graph, calibration = vocoder
    usual = calibration[0]
    loud = {**usual, "content": 30 * usual["content"], "speaker": 30 * usual["speaker"]}
    expected = run(graph, loud)
    errors = [
        np.abs(run(quantised(graph, [each], ALL), loud) - expected).mean() for each in (usual, loud)
    ]
    assert errors[1] < 0.3 * errors[0]


def test_what_is_refused(vocoder):
    _, graph, calibration = vocoder
    with pytest.raises(UsageError, match="needs calibration inputs; there are none"):
        quantised(graph, [])
    with pytest.raises(UsageError, match="do not fit the graph"):
        quantised(graph, [{"content": calibration[0]["content"]}])
    with pytest.raises(UsageError, match="no MatMul to quantise"):
        quantised(graph, calibration, QuantiseSettings(operators=("MatMul",)))
    with pytest.raises(UsageError, match="no Conv to quantise of 500 channels"):
        quantised(graph, calibration, QuantiseSettings(least_channels=500))
    for operators in ((), ("LSTM",)):
        with pytest.raises(UsageError, match="cannot be quantised"):
            QuantiseSettings(operators=operators)
