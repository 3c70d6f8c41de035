"""Encoders that others have trained, turned into model bundles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from sordino.errors import UsageError
from sordino.models.bundle import Bundle
from sordino.training.importers.ge2e import import_ge2e
from sordino.training.importers.speechbrain import import_ecapa, import_xvector

Importer = Callable[[Path, Path, str], Bundle]

IMPORTERS: Mapping[str, Importer] = MappingProxyType(
    {
        "ge2e": import_ge2e,
        "speechbrain-ecapa": import_ecapa,
        "speechbrain-xvector": import_xvector,
    }
)


def import_model(kind: str, source: Path, destination: Path, name: str) -> Bundle:
    """Turn somebody else's checkpoint into a bundle.

    Args:
        kind: one of `IMPORTERS`.
        source: the checkpoint's file or folder.
        destination: the bundle's folder; must not exist.
        name: the bundle's name.

    Raises:
        UsageError: unknown kind, or the source is not such a checkpoint.
        OutputError: the bundle cannot be written.
    """
    if kind not in IMPORTERS:
        raise UsageError(f"{kind!r} cannot be imported; known are {', '.join(IMPORTERS)}")
    return IMPORTERS[kind](source, destination, name)
