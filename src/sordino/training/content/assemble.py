"""Content encoders that are put together from ready parts, without training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from sordino.errors import UsageError
from sordino.models.bundle import Bundle
from sordino.training.content.card import assembled_card
from sordino.training.content.export import write_content
from sordino.training.content.recipe import ContentRecipe
from sordino.training.features.ssl_source import source_key
from sordino.training.networks.content import build_content, has_trained_units
from sordino.training.networks.content_heads import NearestUnit
from sordino.training.networks.content_ssl import SslFrames
from sordino.training.units.bundle import Units, load_units


def assemble_content(
    recipe: ContentRecipe,
    folder: Path,
    *,
    units: str | Path | None = None,
    licence: str = "not stated",
) -> Bundle:
    """A content encoder of a ready self-supervised model: its features, or its nearest units.

    Args:
        recipe: its network has the architecture "ssl" and the output "features", without a
            projection, or "units".
        folder: the bundle comes into it, under the recipe's name.
        units: the units' bundle, its name or folder; needed for units.
        licence: of the weights.

    Raises:
        UsageError: the network has parts that only training gives, units are missing, or are of
            another model.
        OutputError: the bundle cannot be written.

    Example:
        >>> assemble_content(recipe, Path("runs"), units="runs/units/hubert-200")  # doctest: +SKIP
    """
    given = None if units is None else load_units(units)
    network = completed(recipe.network, given)
    if (
        network.get("architecture") != "ssl"
        or has_trained_units(network)
        or (network.get("projection") is not None or network.get("output") == "bottleneck")
    ):
        raise UsageError(
            f"recipe {recipe.name}: its network has parts that only training gives; set"
            " optimisation.steps"
        )
    content = build_content(network)
    if isinstance(content.head, NearestUnit):
        if given is None:
            raise UsageError(f"recipe {recipe.name}: needs units; make them by: train units")
        assert isinstance(content.frames, SslFrames)
        if source_key(content.frames, network.get("layer")) != given.features.get("key"):
            raise UsageError(f"recipe {recipe.name}: the units are of another model or layer")
        with torch.no_grad():
            for name in ("centroids", "mean", "deviation"):
                getattr(content.head, name).copy_(torch.from_numpy(getattr(given, name)))
    metadata = {
        "name": recipe.name,
        "summary": recipe.summary or f"Content encoder: {content.channels} values a frame.",
        "licence": licence,
    }
    card = assembled_card(recipe, network, content, licence=licence)
    return write_content(folder / recipe.name, content, network, metadata, card, replace=True)


def completed(network: Mapping[str, Any], units: Units | None) -> dict[str, Any]:
    """A network's description with what its units tell.

    Args:
        network: as in a recipe.
        units: the units that it learns or has; None to change nothing.

    Returns:
        The description with the number of units; where it names no self-supervised model and the
        units are of one, with that model, and for the outputs "units" and "features" its layer.

    Raises:
        UsageError: it says another number of units.
    """
    whole = dict(network)
    if units is None:
        return whole
    if whole.get("output") in {"units", "soft"}:
        count = whole.setdefault("units", units.count)
        if count != units.count:
            raise UsageError(f"the network has {count} units; the units given are {units.count}")
    of_ssl = units.features.get("source") == "ssl"
    if whole.get("architecture") == "ssl" and "ssl" not in whole and of_ssl:
        whole["ssl"] = dict(units.features["ssl"])
        if whole.get("output") in {"units", "features"} and "layer" in units.features:
            whole.setdefault("layer", units.features["layer"])
    return whole
