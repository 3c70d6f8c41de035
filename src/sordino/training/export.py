"""From torch to a model bundle, and back."""

from __future__ import annotations

import copy
import io
import json
import warnings
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from sordino.errors import OutputError, UsageError
from sordino.models.bundle import Bundle, write_bundle
from sordino.speaker.encoders import GRAPH, INPUT, KIND, OUTPUT
from sordino.training.networks.encoder import build_encoder, dimension_of
from sordino.training.networks.ssl import self_contained

OPSET = 17
MINIMUM_SAMPLES = 4800
_TOLERANCE = 1e-3
_ALIASES = "sordino-equal-weights"
_PROBE_SECONDS = (0.7, 2.3)


def write_encoder(
    path: Path,
    encoder: nn.Module,
    network: Mapping[str, Any],
    metadata: Mapping[str, Any],
    card: str,
    *,
    replace: bool = False,
) -> Bundle:
    """Write a speaker encoder as a bundle that ONNX Runtime runs.

    Args:
        path: the new folder.
        encoder: maps waveforms (batch, samples) to vectors (batch, dimension).
        network: its description for `build_encoder`; kept, so that the weights can be loaded again.
        metadata: at least name, summary, licence and sample_rate.
        card: the model card, Markdown.
        replace: whether a bundle that is there may be replaced.

    Raises:
        OutputError: the folder exists or cannot be written, or the exported graph does not give
            what the network gives.
    """
    encoder = copy.deepcopy(encoder).cpu().eval()
    graph = onnx_graph(encoder)
    dimension = _check(graph, encoder, int(metadata["sample_rate"]))
    described = {
        "kind": KIND,
        "dimension": dimension,
        "minimum_samples": MINIMUM_SAMPLES,
        "network": self_contained(network, encoder),
        **metadata,
    }
    return write_bundle(path, described, {GRAPH: graph, "CARD.md": card.encode()}, replace=replace)


def onnx_graph(encoder: nn.Module) -> bytes:
    """An encoder as an ONNX graph from `wave` to `vector`, for any batch and length."""
    axes = {INPUT: {0: "batch", 1: "samples"}, OUTPUT: {0: "batch"}}
    return traced(encoder, {INPUT: torch.zeros(2, 24000)}, OUTPUT, axes)


def traced(
    network: nn.Module,
    examples: Mapping[str, Tensor | None],
    output: str,
    axes: Mapping[str, Mapping[int, str]],
) -> bytes:
    """A network as an ONNX graph whose weights `restore` finds again.

    Args:
        network: with one output.
        examples: an input for each argument, by the names that the graph's inputs get; None for an
            argument that is left out.
        output: the name of its output.
        axes: names of the dimensions that may be of any size, by input and output.
    """
    file = io.BytesIO()
    network = copy.deepcopy(network).cpu().eval()
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        # The exporter warns of tracing and of its own retirement; graphs are checked by whoever
        # asks for one.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network,
            tuple(examples.values()),
            file,  # type: ignore[arg-type]
            dynamo=False,
            opset_version=OPSET,
            input_names=[name for name, value in examples.items() if value is not None],
            output_names=[output],
            dynamic_axes={name: dict(sizes) for name, sizes in axes.items()},
            # Folding would transpose and join weights, and so lose their names; ONNX Runtime folds
            # when it opens the graph.
            do_constant_folding=False,
        )
    return _with_aliases(file.getvalue(), network)


def load_network(bundle: Bundle) -> nn.Module:
    """The torch network of a bundle, with its weights, to train on or to compare with.

    Raises:
        UsageError: the bundle does not say what network it holds, or the weights in its graph are
            not those of this network.

    Example:
        >>> from sordino.models.bundle import Bundle
        >>> load_network(Bundle.load("models/mine"))  # doctest: +SKIP
    """
    return restore(build_encoder(described_network(bundle)), bundle, GRAPH)


def described_network(bundle: Bundle) -> Mapping[str, Any]:
    """What a bundle says of the network in it.

    Raises:
        UsageError: it says nothing.
    """
    network = bundle.metadata.get("network")
    if not isinstance(network, Mapping):
        raise UsageError(f"model {bundle.name}: does not describe its network")
    return network


def restore(network: nn.Module, bundle: Bundle, graph: str) -> nn.Module:
    """Put the weights of a graph that `traced` made into a network, which is returned.

    Raises:
        UsageError: the weights in the graph are not those of this network.
    """
    import onnx
    from onnx import numpy_helper

    model = onnx.load(bundle.path(graph))
    stored = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
    for item in model.metadata_props:
        if item.key == _ALIASES:
            stored |= {name: stored[kept] for name, kept in json.loads(item.value).items()}
    state = network.state_dict()
    for name, value in state.items():
        if name in stored:
            if stored[name].shape != tuple(value.shape):
                raise UsageError(
                    f"model {bundle.name}: its graph has {name} of shape {stored[name].shape};"
                    f" its network expects {tuple(value.shape)}"
                )
            state[name] = torch.from_numpy(stored[name].copy())
        elif not name.endswith("num_batches_tracked"):
            raise UsageError(f"model {bundle.name}: its graph has no weights named {name}")
    network.load_state_dict(state)
    return network.eval()


def _with_aliases(graph: bytes, network: nn.Module) -> bytes:
    """Note in the graph which weights the exporter stored once because they are equal."""
    import onnx
    from onnx import numpy_helper

    model = onnx.load_from_string(graph)
    stored = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
    kept = {(array.shape, array.tobytes()): name for name, array in stored.items()}
    aliases = {}
    for name, value in network.state_dict().items():
        array = value.numpy()
        if name not in stored and (array.shape, array.tobytes()) in kept:
            aliases[name] = kept[array.shape, array.tobytes()]
    if aliases:
        onnx.helper.set_model_props(model, {_ALIASES: json.dumps(aliases)})
    return bytes(model.SerializeToString())


def _check(graph: bytes, encoder: nn.Module, sample_rate: int) -> int:
    import onnxruntime

    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(0)
    for batch, seconds in enumerate(_PROBE_SECONDS, 1):
        wave = 0.1 * generator.standard_normal((batch, round(seconds * sample_rate)))
        exported = session.run([OUTPUT], {INPUT: wave.astype(np.float32)})[0]
        with torch.inference_mode():
            expected = encoder(torch.from_numpy(wave.astype(np.float32))).numpy()
        if not near(exported, expected):
            raise OutputError("the exported graph does not give what the network gives")
    return dimension_of(encoder)


def near(exported: npt.NDArray[np.float32], expected: npt.NDArray[np.float32]) -> bool:
    """Whether results are equal within a thousandth of the largest."""
    scale = float(np.abs(expected).max())
    return bool(np.allclose(exported, expected, rtol=0, atol=_TOLERANCE * max(scale, 1e-6)))
