"""Content networks to bundles, and back."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from sordino.errors import OutputError
from sordino.models.bundle import Bundle, write_bundle
from sordino.training.export import described_network, near, restore, traced
from sordino.training.networks.content import ContentNetwork, build_content, self_contained

KIND, GRAPH, INPUT, OUTPUT = "content", "content.onnx", "wave", "content"
SAMPLE_RATE = 16000

# Of the frames, those whose unit may differ because two are as near as each other.
_UNDECIDED = 0.01
_PROBES = ((1, 11200), (2, 36800), (1, 16123))


def write_content(
    path: Path,
    content: ContentNetwork,
    network: Mapping[str, Any],
    metadata: Mapping[str, Any],
    card: str,
    *,
    replace: bool = False,
) -> Bundle:
    """Write a content network as a bundle that ONNX Runtime runs.

    Args:
        path: the new folder.
        content: the network.
        network: its description for `build_content`; kept, so that the weights can be loaded again.
        metadata: at least name, summary and licence.
        card: the model card, Markdown.
        replace: whether a bundle that is there may be replaced.

    Raises:
        OutputError: the folder exists or cannot be written, or the exported graph does not give
            what the network gives.
    """
    content = copy.deepcopy(content).cpu().eval()
    described = {
        "kind": KIND,
        "sample_rate": SAMPLE_RATE,
        "content": {
            "hop": content.hop,
            "channels": content.channels,
            "context": content.context,
            "architecture": network.get("architecture"),
            "output": network.get("output"),
        },
        "network": self_contained(network, content),
        **metadata,
    }
    files = {GRAPH: content_graph(content), "CARD.md": card.encode()}
    return write_bundle(path, described, files, replace=replace)


def content_graph(content: ContentNetwork) -> bytes:
    """A content network as an ONNX graph from `wave` to `content`, for any batch and length.

    Raises:
        OutputError: the graph does not give what the network gives, within a thousandth.
    """
    content = copy.deepcopy(content).cpu().eval()
    axes = {INPUT: {0: "batch", 1: "samples"}, OUTPUT: {0: "batch", 1: "frames"}}
    graph = traced(content, {INPUT: torch.zeros(2, 24000)}, OUTPUT, axes)
    _check(graph, content)
    return graph


def load_content(bundle: Bundle) -> ContentNetwork:
    """The torch network of a content bundle, with its weights, in evaluation mode.

    Raises:
        UsageError: the bundle does not say what network it holds, or the weights in its graph are
            not those of this network.

    Example:
        >>> load_content(Bundle.load("models/soft"))  # doctest: +SKIP
    """
    content = restore(build_content(described_network(bundle)), bundle, GRAPH)
    assert isinstance(content, ContentNetwork)
    return content


def _check(graph: bytes, content: ContentNetwork) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(0)
    for batch, samples in _PROBES:
        wave = (0.1 * generator.standard_normal((batch, samples))).astype(np.float32)
        exported = session.run([OUTPUT], {INPUT: wave})[0]
        with torch.inference_mode():
            expected = content(torch.from_numpy(wave)).numpy()
        if exported.shape != expected.shape or not _same(exported, expected):
            raise OutputError("the exported graph does not give what the network gives")


def _same(exported: npt.NDArray[np.float32], expected: npt.NDArray[np.float32]) -> bool:
    if near(exported, expected):
        return True
    hard = all(np.isin(values, (0.0, 1.0)).all() for values in (exported, expected))
    return hard and bool((exported != expected).any(axis=2).mean() <= _UNDECIDED)
