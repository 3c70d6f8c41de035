"""Tiny speaker encoders whose answers are known in closed form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from sordino.models.bundle import Bundle, write_bundle

FRAME = 160
NAME = "mean-energy"


def graph(dimension: int = 3, *, frame: int = FRAME, wave: str = "wave", opset: int = 17) -> bytes:
    """Energies of frames; their mean, standard deviation and largest value, shape (batch, 3).

    With other dimensions the three are repeated or cut off.
    """
    nodes = [
        helper.make_node("Unsqueeze", [wave, "one"], ["row"]),
        helper.make_node("Mul", ["row", "row"], ["square"]),
        helper.make_node(
            "AveragePool", ["square"], ["energy"], kernel_shape=[frame], strides=[frame]
        ),
        helper.make_node("ReduceMean", ["energy"], ["mean"], axes=[2], keepdims=0),
        helper.make_node("ReduceMean", ["energy"], ["centre"], axes=[2], keepdims=1),
        helper.make_node("Sub", ["energy", "centre"], ["offset"]),
        helper.make_node("Mul", ["offset", "offset"], ["spread"]),
        helper.make_node("ReduceMean", ["spread"], ["variance"], axes=[2], keepdims=0),
        helper.make_node("Sqrt", ["variance"], ["deviation"]),
        helper.make_node("ReduceMax", ["energy"], ["largest"], axes=[2], keepdims=0),
        helper.make_node("Concat", ["mean", "deviation", "largest"], ["three"], axis=1),
        helper.make_node("Gather", ["three", "which"], ["vector"], axis=1),
    ]
    which = (np.arange(dimension) % 3).astype(np.int64)
    built = helper.make_graph(
        nodes,
        "encoder",
        [helper.make_tensor_value_info(wave, TensorProto.FLOAT, ["batch", "samples"])],
        [helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["batch", dimension])],
        [
            helper.make_tensor("one", TensorProto.INT64, [1], [1]),
            helper.make_tensor("which", TensorProto.INT64, [dimension], which.tolist()),
        ],
    )
    # An old version of the format, so that every version of the runtime reads it.
    model = helper.make_model(built, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def expected(wave: np.ndarray, frame: int = FRAME) -> np.ndarray:
    """What the graph gives for one wave (samples,), computed with NumPy in double precision."""
    frames = wave[: wave.size // frame * frame].astype(np.float64).reshape(-1, frame)
    energy = (frames**2).mean(axis=1)
    return np.array([energy.mean(), energy.std(), energy.max()])


def metadata(**changes: object) -> dict[str, object]:
    """Metadata of such an encoder."""
    return {
        "kind": "speaker-encoder",
        "name": NAME,
        "summary": "Mean, deviation and maximum of the energy in frames.",
        "licence": "CC0-1.0",
        "sample_rate": 16000,
        "dimension": 3,
        "minimum_samples": 400,
        "training": {"none": True},
        **changes,
    }


def write_encoder(
    folder: Path, *, encoder: bytes | None = None, card: str = "# Energies\n", **changes: object
) -> Bundle:
    """Write a bundle of it; `changes` are made to its metadata."""
    files = {"encoder.onnx": encoder or graph(), "CARD.md": card.encode()}
    return write_bundle(folder, metadata(**changes), files)
