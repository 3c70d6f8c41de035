"""From a waveform generator in torch to the ONNX graph of a voice."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from sordino.errors import OutputError
from sordino.training.networks.generators.base import HOP, Generator, without_weight_norm

OUTPUT = "wave"
OPSET = 17
_TOLERANCE = 1e-3
# Frames of the export's example and of the checks, in units of a content frame.
_EXAMPLE, _PROBES = 20, (1, 7, 61)
_AXES = {"content": "content_frames", "f0": "frames", "harmonic": "samples", "noise": "samples"}

FloatArray = npt.NDArray[np.float32]


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
    example = example_inputs(plain, _EXAMPLE, seed=0)
    file = io.BytesIO()
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        # The exporter warns of tracing and of its own retirement; the graph is checked below.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            plain,
            (),
            file,  # type: ignore[arg-type]
            kwargs=_tensors(example),
            dynamo=False,
            opset_version=OPSET,
            input_names=list(example),
            output_names=[OUTPUT],
            dynamic_axes={
                OUTPUT: {1: "samples"},
                **{name: {1: _AXES[name]} for name in example if name in _AXES},
            },
            # Folding would store tables twice; ONNX Runtime folds when it opens the graph.
            do_constant_folding=False,
        )
    graph = file.getvalue()
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
        if exported.shape != expected.shape or not _near(exported, expected):
            raise OutputError("the exported graph does not give what the generator gives")


def _tensors(arrays: Mapping[str, FloatArray]) -> dict[str, Tensor]:
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _near(exported: npt.NDArray[Any], expected: npt.NDArray[Any]) -> bool:
    scale = max(float(np.abs(expected).max()), 1e-6)
    return bool(np.allclose(exported, expected, rtol=0, atol=_TOLERANCE * min(1.0, scale)))
