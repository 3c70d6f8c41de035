"""SpeechBrain's speaker encoders: ECAPA-TDNN and x-vector, as trained on VoxCeleb."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from sordino.errors import UsageError
from sordino.models.bundle import Bundle
from sordino.training.export import write_encoder
from sordino.training.importers.checkpoint import (
    load_renamed,
    read_tensors,
    shape_of,
    tensors_only,
)
from sordino.training.networks.encoder import build_encoder

Weights = Mapping[str, Tensor]
# The scalars and lists of a hyperparams.yaml, as they are written, by section and key.
Hyperparameters = Mapping[tuple[str, str], str]

_WEIGHTS, _HYPERPARAMETERS = "embedding_model.ckpt", "hyperparams.yaml"
_SAMPLE_RATE = 16000
_MODEL = "embedding_model"

# What leaves no trace in the weights: section, key, what SpeechBrain takes where nothing is
# written, and the only value that the networks here have.
_SUPPORTED = (
    ("", "sample_rate", 16000, 16000),
    ("compute_features", "sample_rate", 16000, 16000),
    ("compute_features", "deltas", False, False),
    ("compute_features", "context", False, False),
    ("compute_features", "f_min", 0, 0),
    ("compute_features", "f_max", 8000, 8000),
    ("compute_features", "n_fft", 400, 400),
    ("compute_features", "win_length", 25, 25),
    ("compute_features", "hop_length", 10, 10),
    ("compute_features", "filter_shape", "triangular", "triangular"),
    ("mean_var_norm", "norm_type", "global", "sentence"),
    ("mean_var_norm", "std_norm", True, False),
)
_RELU, _LEAKY_RELU = "!name:torch.nn.ReLU", "!name:torch.nn.LeakyReLU"

_CARD = """# {name}

{title}, {dimension} numbers, not scaled to length 1. From a checkpoint in SpeechBrain's format.

- **Weights:** changed in form only; the vectors are those of SpeechBrain's `encode_batch`.
- **Licence:** Apache-2.0 is what SpeechBrain's authors give for the models that they publish.
  It may be another for this checkpoint: ask its source before you pass it on.
- **Data:** SpeechBrain's own models were trained on VoxCeleb1 and VoxCeleb2; see the source.
- **Features, inside the graph:** {bands} mel bands of 25 ms every 10 ms, in dB, less their means.
"""


def import_ecapa(source: Path, destination: Path, name: str) -> Bundle:
    """Turn an ECAPA-TDNN of SpeechBrain into a bundle.

    Sizes are those of the weights. Dilations, which the weights do not show, are those of the
    folder's hyperparams.yaml (which is read as text, and never run), or 1, 2, 3, 4, 1.

    Args:
        source: the model's folder, or its `embedding_model.ckpt`.
        destination: the bundle's folder.
        name: the bundle's name.

    Raises:
        UsageError: the source is no such model, or has settings that are not supported here.
        OutputError: the bundle cannot be written.

    Example:
        >>> import_ecapa(Path("spkrec-ecapa-voxceleb"), Path("models/voxceleb"), "voxceleb")
        ... # doctest: +SKIP
    """
    weights, written, where = _read(source, _RELU)
    count = _count(weights, r"blocks\.(\d+)\.tdnn1\.conv\.conv\.weight")
    res2 = "res2net_block.blocks"
    channels, bands, first = shape_of(weights, "blocks.0.conv.conv.weight", where)
    aggregated, _, last = shape_of(weights, "mfa.conv.conv.weight", where)
    attention, context, _ = shape_of(weights, "asp.tdnn.conv.conv.weight", where)
    if context != 3 * aggregated:
        raise UsageError(
            f"{where}: asp.tdnn.conv.conv.weight has {context} inputs; expected {3 * aggregated}"
            " (attention without global context is not supported)"
        )
    middle = [
        shape_of(weights, f"blocks.{block}.{res2}.0.conv.conv.weight", where)[2]
        for block in range(1, max(count, 1) + 1)
    ]
    kernels = [first, *middle, last]
    sizes = {
        "inputs": bands,
        "channels": channels,
        "aggregated": aggregated,
        "kernels": kernels,
        "dilations": _dilations(written, "dilations", [1, 2, 3, 4, 1], len(kernels), where),
        "attention": attention,
        "res2_scale": 1 + _count(weights, rf"blocks\.1\.{res2}\.(\d+)\.conv\.conv\.weight"),
        "squeeze": shape_of(weights, "blocks.1.se_block.conv1.conv.weight", where)[0],
        "dimension": shape_of(weights, "fc.conv.weight", where)[0],
    }
    title = f"ECAPA-TDNN speaker encoder with {channels} channels"
    return _write(destination, name, title, "ecapa", sizes, weights, _ecapa_name, where)


def import_xvector(source: Path, destination: Path, name: str) -> Bundle:
    """Turn an x-vector network of SpeechBrain into a bundle.

    SpeechBrain adds new random numbers below 0.0001 to the pooled means at each run; the bundle
    does not, so that a recording always has the same vector.

    Sizes are those of the weights. Dilations, which the weights do not show, are those of the
    folder's hyperparams.yaml (which is read as text, and never run), or 1, 2, 3, 1, 1.

    Args:
        source: the model's folder, or its `embedding_model.ckpt`.
        destination: the bundle's folder.
        name: the bundle's name.

    Raises:
        UsageError: the source is no such model, or has settings that are not supported here.
        OutputError: the bundle cannot be written.

    Example:
        >>> import_xvector(Path("spkrec-xvect-voxceleb"), Path("models/xvector"), "xvector")
        ... # doctest: +SKIP
    """
    weights, written, where = _read(source, _LEAKY_RELU)
    count = max(_count(weights, r"blocks\.(\d+)\.conv\.weight"), 1)
    # Convolution, activation and normalisation stand one after the other in SpeechBrain's list.
    shapes = [shape_of(weights, f"blocks.{3 * index}.conv.weight", where) for index in range(count)]
    dimension, _ = shape_of(weights, f"blocks.{3 * count + 1}.w.weight", where, axes=2)
    kernels = [kernel for _, _, kernel in shapes]
    sizes = {
        "inputs": shapes[0][1],
        "channels": [channels for channels, _, _ in shapes],
        "kernels": kernels,
        "dilations": _dilations(written, "tdnn_dilations", [1, 2, 3, 1, 1], count, where),
        "dimension": dimension,
    }
    title = "X-vector TDNN speaker encoder"
    return _write(destination, name, title, "xvector", sizes, weights, _xvector_name(count), where)


def _read(source: Path, activation: str) -> tuple[Weights, Hyperparameters, str]:
    """Weights, checked hyperparameters where the source is a folder that has them, their name."""
    file = source / _WEIGHTS if source.is_dir() else source
    if not file.is_file():
        raise UsageError(f"{source}: has no {_WEIGHTS}")
    weights = tensors_only(read_tensors(file, str(file)), str(file))
    beside = source / _HYPERPARAMETERS
    written = _hyperparameters(beside) if beside.is_file() else {}
    if written:
        _check(written, activation, beside)
    return weights, written, str(file)


def _hyperparameters(file: Path) -> Hyperparameters:
    """What is written as `key: value` at the top and one level below; "!ref <key>" is followed."""
    written: dict[tuple[str, str], str] = {}
    section = ""
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        match = re.fullmatch(r"(\s*)(\w+):\s*(.*?)\s*(?:#.*)?", line)
        if match is None:
            continue
        indent, key, value = match.groups()
        section = section if indent else key
        reference = re.fullmatch(r"!ref <(\w+)>", value)
        if reference is not None:
            value = written.get(("", reference[1]), value)
        written[(section if indent else "", key)] = value
    return written


def _check(written: Hyperparameters, activation: str, file: Path) -> None:
    expectations = (*_SUPPORTED, (_MODEL, "activation", activation, activation))
    for section, key, absent, supported in expectations:
        value = _value(written, section, key, absent)
        if value != supported:
            place = f"{section}: {key}" if section else key
            raise UsageError(f"{file}: {place} is {value}; only {supported} is supported")


def _value(written: Hyperparameters, section: str, key: str, absent: Any) -> Any:
    text = written.get((section, key))
    if text is None:
        return absent
    try:
        return ast.literal_eval({"true": "True", "false": "False"}.get(text, text))
    except (SyntaxError, ValueError):
        return text


def _dilations(
    written: Hyperparameters, key: str, usual: list[int], count: int, where: str
) -> list[int]:
    value = _value(written, _MODEL, key, usual)
    if not isinstance(value, list) or not all(isinstance(item, int) for item in value):
        raise UsageError(f"{where}: {key} is written as {value!r}; expected a list of numbers")
    if len(value) != count:
        raise UsageError(
            f"{where}: has {count} layers over time, and {len(value)} dilations are known:"
            f" expected {_HYPERPARAMETERS} beside it, with {key} of its {_MODEL}"
        )
    return value


def _count(weights: Weights, pattern: str) -> int:
    return sum(re.fullmatch(pattern, key) is not None for key in weights)


def _ecapa_name(ours: str) -> str:
    """What SpeechBrain calls one of our weights; it wraps each layer of torch in one of its own."""
    layer, _, leaf = ours.rpartition(".")
    layer = re.sub(r"^blocks\.(\d+)", lambda match: f"blocks.{int(match[1]) + 1}", layer)
    layer = re.sub(r"^first\b", "blocks.0", layer)
    return f"{layer}.{'norm' if layer.endswith(('norm', 'bn')) else 'conv'}.{leaf}"


def _xvector_name(count: int) -> Callable[[str], str]:
    def name(ours: str) -> str:
        match = re.fullmatch(r"layers\.(\d+)\.(conv|norm)\.(\w+)", ours)
        if match is None:
            return f"blocks.{3 * count + 1}.w.{ours.rpartition('.')[2]}"
        place = 3 * int(match[1]) + (2 if match[2] == "norm" else 0)
        return f"blocks.{place}.{match[2]}.{match[3]}"

    return name


def _write(
    destination: Path,
    name: str,
    title: str,
    architecture: str,
    sizes: Mapping[str, Any],
    weights: Weights,
    theirs: Callable[[str], str],
    where: str,
) -> Bundle:
    bands = sizes["inputs"]
    network = {
        "architecture": architecture,
        "sizes": dict(sizes),
        "filterbank": {"bands": bands, "sample_rate": _SAMPLE_RATE},
    }
    encoder = build_encoder(network)
    load_renamed(encoder.get_submodule("body"), weights, theirs, where)
    metadata = {
        "name": name,
        "summary": f"{title}, weights of SpeechBrain's format: {sizes['dimension']} numbers.",
        "licence": "Apache-2.0",
        "sample_rate": _SAMPLE_RATE,
    }
    card = _CARD.format(name=name, title=title, dimension=sizes["dimension"], bands=bands)
    return write_encoder(destination, encoder, network, metadata, card)
