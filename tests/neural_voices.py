"""Tiny voices for the neural anonymizer: every network is a convolution or two."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from sordino.models.bundle import Bundle, write_bundle
from tests import encoders

CHANNELS, DIMENSION = 4, 3
EVERYTHING = ("content", "f0", "speaker", "harmonic", "noise")


def _weights(seed: int, *shape: int) -> np.ndarray:
    size = np.sqrt(np.prod(shape[1:]))
    return (np.random.default_rng(seed).normal(size=shape) / size).astype(np.float32)


def _model(name: str, nodes: list, inputs: dict, outputs: dict, constants: dict) -> bytes:
    def values(shapes: dict) -> list:
        return [
            helper.make_tensor_value_info(key, TensorProto.FLOAT, shape)
            for key, shape in shapes.items()
        ]

    tensors = [numpy_helper.from_array(np.asarray(a), key) for key, a in constants.items()]
    graph = helper.make_graph(nodes, name, values(inputs), values(outputs), tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def content_graph(*, hop: int = 320, channels: int = CHANNELS, bounded: bool = True) -> bytes:
    """Two convolutions; unbounded: less the mean over the whole signal."""
    nodes = [
        helper.make_node("Unsqueeze", ["wave", "one"], ["row"]),
        helper.make_node(
            "Conv", ["row", "first"], ["low"], strides=[hop], pads=[40, 40], kernel_shape=[hop + 80]
        ),
        helper.make_node("Tanh", ["low"], ["bent"]),
        helper.make_node("Conv", ["bent", "second"], ["high"], pads=[1, 1], kernel_shape=[3]),
        helper.make_node("ReduceMean", ["high"], ["mean"], axes=[2], keepdims=1),
        helper.make_node("Mul", ["mean", "weight"], ["offset"]),
        helper.make_node("Sub", ["high", "offset"], ["centred"]),
        helper.make_node("Transpose", ["centred"], ["content"], perm=[0, 2, 1]),
    ]
    constants = {
        "one": np.array([1]),
        "first": 20 * _weights(1, 6, 1, hop + 80),
        "second": _weights(2, channels, 6, 3),
        "weight": np.array(0.0 if bounded else 1.0, dtype=np.float32),
    }
    return _model(
        "content",
        nodes,
        {"wave": ["batch", "samples"]},
        {"content": ["batch", "frames", channels]},
        constants,
    )


CONTENT_CONTEXT = 320 + 40


def generator_graph(
    inputs: tuple[str, ...] = EVERYTHING,
    *,
    hop: int = 320,
    channels: int = CHANNELS,
    dimension: int = DIMENSION,
) -> bytes:
    """A sum of filtered inputs, by the speaker vector louder or softer."""
    nodes = [
        helper.make_node("Transpose", ["content"], ["rows"], perm=[0, 2, 1]),
        helper.make_node("Conv", ["rows", "filters"], ["high"], pads=[1, 1], kernel_shape=[3]),
        helper.make_node("Transpose", ["high"], ["frames"], perm=[0, 2, 1]),
        helper.make_node("Reshape", ["frames", "flat"], ["sum content"]),
    ]
    constants: dict[str, np.ndarray] = {
        "filters": 0.1 * _weights(3, hop, channels, 3),
        "flat": np.array([1, -1]),
        "one": np.array([1]),
        "pitch": 0.001 * _weights(4, 160, 1, 3),
        "short": 0.05 * _weights(5, 1, 1, 33),
        "long": 0.02 * _weights(6, 1, 1, 33),
    }
    total = "sum content"

    def add(name: str) -> None:
        nonlocal total
        nodes.append(helper.make_node("Add", [total, name], [f"sum {name}"]))
        total = f"sum {name}"

    if "f0" in inputs:
        nodes += [
            helper.make_node("Unsqueeze", ["f0", "one"], ["track"]),
            helper.make_node("Conv", ["track", "pitch"], ["bent"], pads=[1, 1], kernel_shape=[3]),
            helper.make_node("Transpose", ["bent"], ["turned"], perm=[0, 2, 1]),
            helper.make_node("Reshape", ["turned", "flat"], ["tone"]),
        ]
        add("tone")
    for name, weight in (("harmonic", "short"), ("noise", "long")):
        if name in inputs:
            nodes += [
                helper.make_node("Unsqueeze", [name, "one"], [f"{name} row"]),
                helper.make_node("Conv", [f"{name} row", weight], [f"{name} out"], pads=[16, 16]),
                helper.make_node("Reshape", [f"{name} out", "flat"], [f"{name} flat"]),
            ]
            add(f"{name} flat")
    if "speaker" in inputs:
        nodes += [
            helper.make_node("Gather", ["speaker", "first"], ["loudness"], axis=1),
            helper.make_node("Exp", ["loudness"], ["factor"]),
        ]
        constants["first"] = np.array([0])
        nodes.append(helper.make_node("Mul", [total, "factor"], ["wave"]))
    else:
        nodes.append(helper.make_node("Identity", [total], ["wave"]))
    shapes = {
        "content": [1, "content frames", channels],
        "f0": [1, "frames"],
        "speaker": [1, dimension],
        "harmonic": [1, "samples"],
        "noise": [1, "samples"],
    }
    return _model(
        "generator",
        nodes,
        {name: shapes[name] for name in inputs},
        {"wave": [1, "samples"]},
        constants,
    )


GENERATOR_CONTEXT = 3


def pool(speakers: int = 60, dimension: int = DIMENSION, seed: int = 0) -> dict[str, np.ndarray]:
    """Half women and half men, whose vectors tell them apart, with their pitch."""
    rng = np.random.default_rng(seed)
    woman = np.arange(speakers) % 2 == 0
    vectors = rng.normal(size=(speakers, dimension))
    vectors[:, -1] += np.where(woman, 3, -3)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return {
        "vectors": vectors.astype(np.float32),
        "sex": np.where(woman, "F", "M"),
        "pitch_mean": np.log(np.where(woman, 200, 115)) + 0.1 * rng.normal(size=speakers),
        "pitch_deviation": rng.uniform(0.1, 0.3, speakers),
    }


def archive(arrays: dict[str, np.ndarray]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def metadata(**changes: object) -> dict[str, object]:
    """Metadata of such a voice."""
    return {
        "kind": "voice",
        "name": "tiny-voice",
        "summary": "Convolutions of random numbers.",
        "licence": "CC0-1.0",
        "sample_rate": 16000,
        "content": {"hop": 320, "channels": CHANNELS, "context": CONTENT_CONTEXT},
        "generator": {"hop": 160, "context": GENERATOR_CONTEXT, "architecture": "none"},
        "pitch": {"tracker": "swift"},
        "speaker": {
            "dimension": DIMENSION,
            "encoder": encoders.NAME,
            "digest": "0" * 64,
        },
        **changes,
    }


def write_voice(
    folder: Path,
    files: Mapping[str, bytes] = MappingProxyType({}),
    *,
    leave_out: str = "",
    **changes: object,
) -> Bundle:
    """Write a bundle of it; `files` replace its own, `changes` are made to its metadata."""
    contents: dict[str, bytes | Path] = {
        "content.onnx": content_graph(),
        "generator.onnx": generator_graph(),
        "pool.npz": archive(pool()),
        "CARD.md": b"# Tiny\n",
        **files,
    }
    contents.pop(leave_out, None)
    return write_bundle(folder, metadata(**changes), contents)


def write_models(
    folder: Path, files: Mapping[str, bytes] = MappingProxyType({}), **changes: object
) -> Path:
    """Write a voice and the encoder that it names, each in a folder of its name."""
    encoder = encoders.write_encoder(folder / encoders.NAME)
    speaker = {"dimension": DIMENSION, "encoder": encoders.NAME, "digest": encoder.digest}
    return write_voice(folder / "tiny-voice", files, **{"speaker": speaker, **changes}).folder
