"""The soft HuBERT of the language-independent speaker anonymizer: `soft_model.pt`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from sordino.errors import UsageError
from sordino.models.bundle import Bundle
from sordino.training.content.export import write_content
from sordino.training.importers.checkpoint import (
    load_renamed,
    read_tensors,
    shape_of,
    tensors_only,
)
from sordino.training.importers.hubert import fairseq_name, hubert_config, without_pretraining
from sordino.training.importers.weight_norm import plain_weights
from sordino.training.networks.content import build_content

_FILE = "soft_model.pt"
_SSL, _UNITS = "ssl_model.", "W"
# Where the checkpoint of a generator carries its content encoder along.
_GENERATOR, _INSIDE = "generator", "latent_encoder."

_CARD = """# {name}

Soft HuBERT content encoder: similarity of each frame of 20 ms to {channels} units.
Method: Miao et al., "Language-independent speaker anonymization approach using self-supervised
pre-trained models", Odyssey 2022.

- **Weights:** those of `{file}`, changed in form only.
- **Licence:** what the checkpoint's source says; ask it before you pass the weights on.
- **Kept as released:** features have length 1 over time, not over channels; similarities are not
  divided by the temperature; all values of a recording are brought to mean 0 and deviation 1 at
  once. The same sound so gets another code in a longer recording. An encoder that is trained here
  does not do so.
- **Not as released:** frames are centred on their 20 ms, which is 2.5 ms earlier, and the last
  20 ms have one of their own, where the original repeats the one before.
"""


def import_soft_hubert(source: Path, destination: Path, name: str) -> Bundle:
    """Turn the soft HuBERT of the language-independent anonymizer into a content bundle.

    Args:
        source: `soft_model.pt`, a folder that has it, or a generator's `g_00100000` of the same
            authors, which carries the content encoder that it was trained with.
        destination: the bundle's folder.
        name: the bundle's name.

    Raises:
        UsageError: the source is no such model; the message names what is missing, left over or
            of another shape.
        OutputError: the bundle cannot be written.

    Example:
        >>> import_soft_hubert(Path("HuBERT_soft/soft_model.pt"), Path("models/soft"), "soft")
        ... # doctest: +SKIP
    """
    file = source / _FILE if source.is_dir() else source
    if not file.is_file():
        raise UsageError(f"{source}: has no {_FILE}")
    weights, prefix = _weights(file)
    ssl, where = prefix + _SSL, str(file)
    plain = plain_weights(without_pretraining(weights, ssl), where)
    units, _ = shape_of(plain, prefix + _UNITS, where, axes=2)

    def theirs(ours: str) -> str:
        if ours == "head.vectors":
            return prefix + _UNITS
        return ssl + fairseq_name(ours.removeprefix("frames.ssl."))

    network = {
        "architecture": "ssl",
        "ssl": {"config": hubert_config(plain, theirs, where)},
        "output": "soft",
        "units": units,
        "normalise_over": "time",
        "temperature_at_inference": False,
        "layer_norm_output": True,
    }
    content = build_content(network)
    load_renamed(content, plain, theirs, where)
    metadata = {
        "name": name,
        "summary": f"Soft HuBERT as released with a speaker anonymizer: {units} units.",
        "licence": "see its source",
    }
    card = _CARD.format(name=name, channels=units, file=file.name)
    return write_content(destination, content, network, metadata, card)


def carries_content(generator: Mapping[str, Tensor]) -> bool:
    """Whether the weights of a generator's checkpoint hold a content encoder too."""
    return _INSIDE + _UNITS in generator


def _weights(file: Path) -> tuple[dict[str, Tensor], str]:
    """All weights of a content encoder, and what their names begin with."""
    held = read_tensors(file, str(file))
    inside = held.get(_GENERATOR)
    if not isinstance(inside, Mapping):
        return tensors_only(held, str(file)), ""
    weights = tensors_only(inside, str(file))
    return {key: value for key, value in weights.items() if key.startswith(_INSIDE)}, _INSIDE
