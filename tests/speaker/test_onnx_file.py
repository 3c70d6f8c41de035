from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from sordino.audio.recording import Recording
from sordino.errors import UsageError
from sordino.speaker.encoders import OnnxEncoder
from sordino.speaker.onnx_file import bundle_of
from tests.encoders import expected, graph


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_file_with_other_names_is_an_encoder(tmp_path: Path) -> None:
    file = written(tmp_path / "mine.onnx", graph(wave="speech"))
    encoder = OnnxEncoder(bundle_of(file, tmp_path / "models"))
    wave = np.random.default_rng(0).normal(0, 0.1, 16000).astype(np.float32)
    np.testing.assert_allclose(
        encoder.embed(Recording(wave[None], 16000)), expected(wave), rtol=1e-4
    )
    assert (encoder.name, encoder.dimension) == ("mine", 3)


def test_it_listens_at_the_rate_that_is_told(tmp_path: Path) -> None:
    file = written(tmp_path / "mine.onnx", graph())
    encoder = OnnxEncoder(bundle_of(file, tmp_path, sample_rate=8000))
    wave = np.random.default_rng(0).normal(0, 0.1, 8000).astype(np.float32)
    np.testing.assert_allclose(
        encoder.embed(Recording(wave[None], 8000)), expected(wave), rtol=1e-4
    )


def test_the_same_file_is_made_into_a_bundle_once(tmp_path: Path) -> None:
    file = written(tmp_path / "mine.onnx", graph())
    first = bundle_of(file, tmp_path / "models")
    second = bundle_of(file, tmp_path / "models")
    assert first.folder == second.folder
    assert [path.name for path in (tmp_path / "models").iterdir()] == [first.folder.name]
    other = bundle_of(written(file, graph(6)), tmp_path / "models")
    assert other.digest != first.digest


def one_layer(inputs: list[object], outputs: list[object], *, name: str = "x") -> bytes:
    takes = [
        helper.make_tensor_value_info(f"{name}{n}", TensorProto.FLOAT, shape)
        for n, shape in enumerate(inputs)
    ]
    gives = [
        helper.make_tensor_value_info(f"y{n}", TensorProto.FLOAT, shape)
        for n, shape in enumerate(outputs)
    ]
    nodes = [helper.make_node("Identity", [f"{name}0"], [f"y{n}"]) for n in range(len(outputs))]
    built = helper.make_graph(nodes, "g", takes, gives)
    model = helper.make_model(built, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (one_layer([["b", "n"], ["b"]], [["b", "n"]]), "has 2 inputs and 1 outputs"),
        (one_layer([["b", "n"]], [["b", "n"], ["b", "n"]]), "has 1 inputs and 2 outputs"),
        (one_layer([["b", 16000]], [["b", 16000]]), "expected .batch, samples., both free"),
        (one_layer([["b", "c", "n"]], [["b", "c", "n"]]), "expected .batch, samples., both free"),
        (one_layer([["b", "n"]], [["b", "n"]]), "expected .batch, dimension."),
        (b"no graph", "cannot be run"),
    ],
)
def test_another_graph_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    file = written(tmp_path / "mine.onnx", content)
    with pytest.raises(UsageError, match=said):
        bundle_of(file, tmp_path / "models")
    assert not (tmp_path / "models").exists()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        bundle_of(tmp_path / "none.onnx", tmp_path)
