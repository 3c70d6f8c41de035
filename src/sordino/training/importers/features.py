"""Layers of a pre-trained speech model in the form of transformers, as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sordino.models.bundle import Bundle
from sordino.training.content.export import write_content
from sordino.training.networks.content import build_content, self_contained

_CARD = """# {name}

{channels} values for each frame of 20 ms: {layer} of a pre-trained speech model, as it is.
Such features tell who speaks, too: use them for comparison, not for protection.

- **Weights:** those of `{file}`, changed in form only.
- **Licence:** what the model's source says; ask it before you pass the weights on.
"""


def import_features(
    source: Path, destination: Path, name: str, *, layer: int | None = None
) -> Bundle:
    """Turn a layer of a pre-trained HuBERT, wav2vec 2.0 or WavLM into a content bundle.

    Args:
        source: the model's folder in the form of transformers.
        destination: the bundle's folder.
        name: the bundle's name.
        layer: 1 for what the first layer gives, and so on; None for the model's result.

    Raises:
        UsageError: the folder holds no such model, it has no such layer, or transformers is
            missing.
        OutputError: the bundle cannot be written.

    Example:
        >>> import_features(Path("hubert-base-ls960"), Path("models/six"), "six", layer=6)
        ... # doctest: +SKIP
    """
    network: dict[str, Any] = {
        "architecture": "ssl",
        "ssl": {"source": str(source)},
        "layer": layer,
        "output": "features",
    }
    content = build_content(network)
    network = self_contained(network, content)
    metadata = {
        "name": name,
        "summary": f"Features of a pre-trained speech model: {content.channels} values a frame.",
        "licence": "see its source",
    }
    card = _CARD.format(
        name=name,
        channels=content.channels,
        layer="the last layer" if layer is None else f"layer {layer}",
        file=source.name,
    )
    return write_content(destination, content, network, metadata, card)
