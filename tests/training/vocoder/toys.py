"""A content model of one matrix, and recipes that train tiny generators in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from sordino.models.bundle import Bundle, write_bundle
from sordino.training.vocoder.recipe import VocoderRecipe

CHANNELS = 6
NETWORKS: Mapping[str, Mapping[str, Any]] = {
    "istft": {
        "architecture": "istft",
        "sizes": {"channels": 16, "hidden": 24, "blocks": 1, "fft": 320},
    },
    "hifigan": {
        "architecture": "hifigan",
        "sizes": {
            "channels": 32,
            "resblock_kernels": [3],
            "resblock_dilations": [[1]],
        },
    },
    "two-stage": {
        "architecture": "two-stage",
        "bottleneck": 4,
        "sizes": {
            "bands": 20,
            "layers": 1,
            "channels": 8,
            "postnet": 1,
            "vocoder": {
                "channels": 32,
                "resblock_kernels": [3],
                "resblock_dilations": [[1]],
            },
        },
    },
}

ALONG: Mapping[str, Any] = {
    "architecture": "conv",
    "output": "bottleneck",
    "projection": 5,
    "sizes": {"channels": 16, "early": 1, "blocks": 1, "bands": 20, "level": 10},
}


def toy_content(folder: Path, *, hop: int = 320) -> Bundle:
    """A content model: each frame is the samples of its hop times a matrix."""
    matrix = np.random.default_rng(0).normal(size=(hop, CHANNELS)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Reshape", ["wave", "shape"], ["frames"]),
            helper.make_node("MatMul", ["frames", "matrix"], ["content"]),
        ],
        "content",
        [helper.make_tensor_value_info("wave", TensorProto.FLOAT, ["batch", "samples"])],
        [helper.make_tensor_value_info("content", TensorProto.FLOAT, ["batch", "n", CHANNELS])],
        [
            numpy_helper.from_array(np.array([0, -1, hop], dtype=np.int64), "shape"),
            numpy_helper.from_array(matrix, "matrix"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    about = {
        "kind": "content",
        "name": "toy-content",
        "summary": "A matrix.",
        "licence": "CC0-1.0",
        "sample_rate": 16000,
        "content": {"hop": hop, "channels": CHANNELS, "context": 0},
    }
    files = {"content.onnx": model.SerializeToString(), "CARD.md": b"# toy-content\n"}
    return write_bundle(folder, about, files)


def toy_recipe(content: Path | str, architecture: str = "istft", **sections: Any) -> VocoderRecipe:
    """A recipe of 6 steps for a tiny generator; sections are merged into it."""
    values: dict[str, Any] = {
        "name": "toy",
        "network": dict(NETWORKS[architecture]),
        "content": str(content),
        "tracker": "swift",
        "data": {"validation": 0.5, "segment": 3200, "seed": 3},
        "discriminators": {"periods": [2, 3], "scales": 1, "width": 0.05},
        "optimisation": {"steps": 6, "batch": 4},
        "validate_every": 100,
    }
    for name, section in sections.items():
        values[name] = (
            {**values.get(name, {}), **section} if isinstance(section, Mapping) else section
        )
    return VocoderRecipe.from_values(values)


def along_recipe(**sections: Any) -> VocoderRecipe:
    """The same with a tiny content network that learns along, and no discriminators."""
    along = {"network": dict(ALONG), "head": 8, "adversary": 8, **sections.pop("along", {})}
    losses = {"adversarial_from": 1000, **sections.pop("losses", {})}
    return toy_recipe("", along=along, losses=losses, **sections)
