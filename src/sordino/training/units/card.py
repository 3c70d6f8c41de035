"""The model card of units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sordino.corpus.utterance import Utterance
from sordino.training.units.bundle import Units
from sordino.training.units.cluster import Usage
from sordino.training.units.recipe import UnitsRecipe


def units_card(
    recipe: UnitsRecipe,
    units: Units,
    figures: Usage,
    heard: Sequence[Utterance],
    frames: int,
    *,
    licence: str,
) -> str:
    """A model card in Markdown.

    Args:
        recipe: what was done.
        units: what came of it.
        figures: on the frames that were clustered.
        heard: the utterances that they are of.
        frames: how many there were.
        licence: of the units.
    """
    corpora = Counter(utterance.corpus or "unnamed" for utterance in heard)
    listed = ", ".join(f"{name} {count}" for name, count in sorted(corpora.items()))
    speakers = len({utterance.speaker for utterance in heard})
    lines = [
        f"# {recipe.name}",
        "",
        recipe.summary or f"{units.count} units of speech.",
        "",
        f"- **Licence of the units:** {licence}",
        f"- **Features:** {features_named(units.features)}, {units.dimension} values each 20 ms"
        + (", standardised" if recipe.standardise else ""),
        f"- **Heard:** {frames} frames of {len(heard)} utterances of {speakers} speakers: {listed}",
        f"- **Clustering:** k-means ({recipe.clustering.method}), seed {recipe.sample.seed}",
        f"- **Fit on these frames:** mean squared distance {figures.distance:.4g};"
        f" {100 * figures.explained:.1f} % of the variance explained",
        f"- **Usage:** {figures.used} of {units.count} units occur; perplexity"
        f" {figures.perplexity:.1f}",
    ]
    return "\n".join(lines) + "\n"


def features_named(features: Mapping[str, Any]) -> str:
    """Where features come from, in words.

    Example:
        >>> features_named({"source": "ssl", "ssl": {"source": "models/hubert"}, "layer": 6})
        'layer 6 of hubert'
        >>> features_named({"source": "whisper", "model": "base"})
        'the encoder of Whisper base'
    """
    if features.get("source") == "whisper":
        model = features.get("model")
        return f"the encoder of Whisper {_last(model) if model else ''}".rstrip()
    layer = features.get("layer")
    which = "the result" if layer is None else f"layer {layer}"
    return f"{which} of {_last(str(features['ssl']['source']))}"


def _last(place: str) -> str:
    """The name at the end of a path; where somebody's models lie is nobody's business."""
    return (
        place if place.startswith("hub:") else place.replace("\\", "/").rstrip("/").split("/")[-1]
    )
