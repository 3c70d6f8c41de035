"""The soft HuBERT of the public voice conversion: `hubert-soft-....pt`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from sordino.errors import UsageError
from sordino.models.bundle import Bundle
from sordino.training.content.export import write_content
from sordino.training.importers.checkpoint import (
    load_renamed,
    read_tensors,
    shape_of,
    tensors_only,
)
from sordino.training.importers.hubert import hubert_config, torch_name, with_parted_attention
from sordino.training.importers.weight_norm import plain_weights
from sordino.training.networks.content import build_content

_PREFIX = "module."
# What hides frames in training, and what guesses their units.
_UNUSED = frozenset({"masked_spec_embed", "label_embedding.weight"})

_CARD = """# {name}

Soft HuBERT content encoder: {channels} values for each frame of 20 ms.
Method: van Niekerk et al., "A comparison of discrete and soft speech units for improved voice
conversion", ICASSP 2022.

- **Weights:** those of `{file}`, changed in form only.
- **Licence:** its authors give the MIT licence. It may be another for this checkpoint: ask its
  source before you pass it on.
"""


def import_public_soft_hubert(source: Path, destination: Path, name: str) -> Bundle:
    """Turn the soft HuBERT of the public voice conversion into a content bundle.

    Args:
        source: its checkpoint: named tensors, or {"hubert": named tensors} as training leaves it;
            all names may begin with "module.".
        destination: the bundle's folder.
        name: the bundle's name.

    Raises:
        UsageError: the source is no such model; the message names what is missing, left over or
            of another shape.
        OutputError: the bundle cannot be written.

    Example:
        >>> import_public_soft_hubert(Path("hubert-soft.pt"), Path("models/soft"), "soft")
        ... # doctest: +SKIP
    """
    where = str(source)
    held = read_tensors(source, where)
    inside = held.get("hubert", held)
    if not isinstance(inside, Mapping):
        raise UsageError(f"{where}: hubert is no set of named tensors")
    weights = tensors_only(inside, where)
    prefix = _PREFIX if all(key.startswith(_PREFIX) for key in weights) else ""
    kept = {key: value for key, value in weights.items() if key.removeprefix(prefix) not in _UNUSED}
    plain = with_parted_attention(plain_weights(kept, where), where)
    channels, _ = shape_of(plain, f"{prefix}proj.weight", where, axes=2)

    def theirs(ours: str) -> str:
        inner = re.sub(r"^projection\.", "proj.", ours.removeprefix("frames.ssl."))
        return prefix + torch_name(inner)

    network = {
        "architecture": "ssl",
        "ssl": {"config": hubert_config(plain, theirs, where)},
        "output": "features",
        "projection": channels,
    }
    content = build_content(network)
    load_renamed(content, plain, theirs, where)
    metadata = {
        "name": name,
        "summary": f"Soft HuBERT as released for voice conversion: {channels} values a frame.",
        "licence": "MIT",
    }
    card = _CARD.format(name=name, channels=channels, file=source.name)
    return write_content(destination, content, network, metadata, card)
