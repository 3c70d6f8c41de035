"""From a waveform generator in torch to a bundle, and to the ONNX graph of a voice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from sordino.anonymize.voice import GENERATOR
from sordino.errors import OutputError
from sordino.models.bundle import Bundle, write_bundle
from sordino.training.export import near, traced
from sordino.training.networks.generators.base import (
    HOP,
    INPUTS,
    Generator,
    without_weight_norm,
)

KIND, OUTPUT = "vocoder", "wave"
SAMPLE_RATE = 16000
# Frames of the export's example and of the checks, in units of a content frame.
_EXAMPLE, _PROBES = 20, (1, 7, 61)
_AXES = {"content": "content_frames", "f0": "frames", "harmonic": "samples", "noise": "samples"}

FloatArray = npt.NDArray[np.float32]


def write_vocoder(
    path: Path,
    generator: Generator,
    network: Mapping[str, Any],
    metadata: Mapping[str, Any],
    card: str,
    *,
    replace: bool = False,
) -> Bundle:
    """Write a generator as a bundle that ONNX Runtime runs.

    Args:
        path: the new folder.
        generator: the network.
        network: its description.
        metadata: at least name, summary and licence, and what the generator is for: content, pitch
            and speaker.
        card: the model card, Markdown.
        replace: whether a bundle that is there may be replaced.

    Raises:
        OutputError: the folder exists or cannot be written, or the graph does not give what the
            generator gives.
    """
    described = {
        "kind": KIND,
        "sample_rate": SAMPLE_RATE,
        "generator": {
            "hop": HOP,
            "context": generator.context_frames,
            "architecture": network.get("architecture"),
        },
        "network": dict(network),
        **metadata,
    }
    files = {GENERATOR: generator_graph(generator), "CARD.md": card.encode()}
    return write_bundle(path, described, files, replace=replace)


def generator_graph(generator: Generator) -> bytes:
    """A generator as an ONNX graph for one recording of any length.

    Its inputs are those that `generator.inputs` names, its output is "wave".

    Args:
        generator: with weight normalisation or without; it is not changed.

    Raises:
        OutputError: the graph does not give what the generator gives.

    Example:
        >>> from sordino.training.networks.generators import build_generator
        >>> network = {"architecture": "hifigan", "content": {"channels": 8}, "speaker": 4,
        ...            "sizes": {"channels": 32}}
        >>> graph = generator_graph(build_generator(network))
        >>> isinstance(graph, bytes)
        True
    """
    plain = without_weight_norm(generator)
    inputs = _tensors(example_inputs(plain, _EXAMPLE, seed=0))
    axes = {name: {1: _AXES[name]} for name in inputs if name in _AXES}
    graph = traced(
        plain,
        {name: inputs.get(name) for name in INPUTS},
        OUTPUT,
        {OUTPUT: {1: "samples"}, **axes},
    )
    _check(graph, plain)
    return graph


def example_inputs(
    generator: Generator, content_frames: int, *, seed: int
) -> dict[str, FloatArray]:
    """Random inputs of a generator, in the order of its `inputs`.

    Args:
        generator: for which.
        content_frames: how long; each stands for the content's hop.
        seed: of the random numbers.

    Returns:
        An array for each input, for a batch of one; a third of the frames is unvoiced.
    """
    conditions, draws = generator.conditions, np.random.default_rng(seed)
    frames = content_frames * conditions.hop // HOP
    voiced = np.arange(frames) % 30 < 20
    arrays = {
        "content": draws.standard_normal((1, content_frames, conditions.channels)),
        "f0": (voiced * draws.uniform(80, 400, frames))[None],
        "speaker": draws.standard_normal((1, conditions.speaker)),
        "harmonic": draws.standard_normal((1, HOP * frames)) * np.repeat(voiced, HOP),
        "noise": draws.standard_normal((1, HOP * frames)),
    }
    return {name: arrays[name].astype(np.float32) for name in generator.inputs}


def _check(graph: bytes, plain: Generator) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    for seed, content_frames in enumerate(_PROBES, 1):
        inputs = example_inputs(plain, content_frames, seed=seed)
        (exported,) = session.run([OUTPUT], inputs)
        with torch.inference_mode():
            expected = plain(**_tensors(inputs)).numpy()
        if exported.shape != expected.shape or not near(exported, expected):
            raise OutputError("the exported graph does not give what the generator gives")


def _tensors(arrays: Mapping[str, FloatArray]) -> dict[str, Tensor]:
    return {name: torch.from_numpy(array) for name, array in arrays.items()}
