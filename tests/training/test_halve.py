"""Weights in 16 bits: the same results within their rounding, from half the file."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is in the extra train, not installed")
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from sordino.training.halve import halved

SIZE = 64


def graph(matrix: np.ndarray) -> bytes:
    """x @ matrix + bias."""
    made = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "matrix"], ["product"]),
            helper.make_node("Add", ["product", "bias"], ["y"]),
        ],
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, SIZE])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, SIZE])],
        [
            numpy_helper.from_array(matrix, "matrix"),
            numpy_helper.from_array(np.full(SIZE, 0.1, np.float32), "bias"),
        ],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def types(data: bytes) -> dict[str, int]:
    return {item.name: item.data_type for item in onnx.load_from_string(data).graph.initializer}


def run(data: bytes, x: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


def test_results_are_those_of_rounded_weights_in_32_bits():
    draws = np.random.default_rng(0)
    matrix = draws.normal(size=(SIZE, SIZE)).astype(np.float32)
    x = draws.normal(size=(1, SIZE)).astype(np.float32)
    small = halved(graph(matrix))
    onnx.checker.check_model(onnx.load_from_string(small))
    expected = x @ matrix.astype(np.float16).astype(np.float32) + np.float32(0.1)
    np.testing.assert_allclose(run(small, x), expected, rtol=1e-5, atol=1e-5)
    assert np.abs(run(small, x) - run(graph(matrix), x)).max() > 0
    assert types(small) == {"matrix": TensorProto.FLOAT16, "bias": TensorProto.FLOAT}
    assert len(small) < 0.6 * len(graph(matrix))
    assert halved(small) == small


def test_weights_beyond_16_bits_stay():
    matrix = np.eye(SIZE, dtype=np.float32)
    matrix[0, 0] = 1e6
    assert types(halved(graph(matrix)))["matrix"] == TensorProto.FLOAT
