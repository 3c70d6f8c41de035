"""Graphs of generators: what they take, and that they give what torch gives."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
onnx = pytest.importorskip("onnx", reason="needs the extra train")
import onnxruntime

from sordino.errors import OutputError
from sordino.training import generator_export
from sordino.training.generator_export import example_inputs, generator_graph
from sordino.training.networks.generators import add_weight_norm, build_generator
from tests.training.networks.generators.generator_helpers import SMALL, network, randomised


def session(graph):
    return onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("architecture", list(SMALL))
@pytest.mark.parametrize("hop", [160, 320])
def test_any_length(architecture, hop):
    generator = add_weight_norm(randomised(build_generator(network(architecture, hop))))
    names = list(generator.state_dict())
    graph = session(generator_graph(generator))
    assert [value.name for value in graph.get_inputs()] == list(generator.inputs)
    assert [value.name for value in graph.get_outputs()] == ["wave"]
    for content_frames in (2, 33, 150):
        inputs = example_inputs(generator, content_frames, seed=content_frames)
        (wave,) = graph.run(None, inputs)
        assert wave.shape == (1, hop * content_frames)
        with torch.no_grad():
            expected = generator(**{k: torch.from_numpy(v) for k, v in inputs.items()})
        np.testing.assert_allclose(wave, expected, rtol=0, atol=1e-3)
        assert np.abs(wave).max() > 1e-2
    # The one in training keeps its weight normalisation.
    assert list(generator.state_dict()) == names


@pytest.mark.parametrize("architecture", list(SMALL))
def test_only_the_inputs_that_are_used(architecture):
    generator = build_generator(network(architecture, pitch="none", speaker=0))
    graph = session(generator_graph(generator))
    sources = ["harmonic", "noise"] if architecture == "istft" else []
    assert [value.name for value in graph.get_inputs()] == ["content", *sources]


def test_quirks_travel_along():
    quirks = network("hifigan", 320, pitch="hertz", normalise=["content", "speaker"])
    generator = randomised(build_generator(quirks))
    graph = session(generator_graph(generator))
    inputs = example_inputs(generator, 12, seed=1)
    (wave,) = graph.run(None, inputs)
    moved = {**inputs, "content": 7 * inputs["content"] + 4, "speaker": 3 * inputs["speaker"]}
    np.testing.assert_allclose(graph.run(None, moved)[0], wave, rtol=0, atol=1e-3)


def test_what_the_graph_is():
    model = onnx.load_from_string(generator_graph(build_generator(network("istft", 320))))
    onnx.checker.check_model(model)
    assert [item.version for item in model.opset_import if not item.domain] == [17]
    axes = {
        value.name: [axis.dim_param or axis.dim_value for axis in value.type.tensor_type.shape.dim]
        for value in model.graph.input
    }
    assert axes == {
        "content": [1, "content_frames", 6],
        "f0": [1, "frames"],
        "speaker": [1, 5],
        "harmonic": [1, "samples"],
        "noise": [1, "samples"],
    }
    # The table of the Fourier transform is stored once.
    tables = [item for item in model.graph.initializer if sorted(item.dims) == [640, 642]]
    constants = [
        node.attribute[0].t
        for node in model.graph.node
        if node.op_type == "Constant" and sorted(node.attribute[0].t.dims) == [640, 642]
    ]
    assert len(tables) + len(constants) == 1


def test_a_graph_that_differs_is_an_error(monkeypatch):
    generator = randomised(build_generator(network("hifigan")))
    right = generator_graph(generator)
    monkeypatch.setattr(generator_export, "traced", lambda *_: right)
    assert generator_graph(generator) == right
    with torch.no_grad():
        generator.conv_post.bias.add_(0.1)
    with pytest.raises(OutputError, match="does not give what the generator gives"):
        generator_graph(generator)


def test_example_inputs():
    generator = build_generator(network("istft", 320))
    inputs = example_inputs(generator, 60, seed=0)
    assert {name: value.shape for name, value in inputs.items()} == {
        "content": (1, 60, 6),
        "f0": (1, 120),
        "speaker": (1, 5),
        "harmonic": (1, 19200),
        "noise": (1, 19200),
    }
    assert all(value.dtype == np.float32 for value in inputs.values())
    voiced = inputs["f0"][0] > 0
    assert voiced.sum() == 80
    assert not inputs["harmonic"].reshape(120, 160)[~voiced].any()
