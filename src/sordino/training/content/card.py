"""The model card of a content encoder, from what its training knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from sordino.corpus.corpus import Corpus
from sordino.training.content.recipe import ContentRecipe
from sordino.training.networks.content import ContentNetwork
from sordino.training.units.bundle import Units
from sordino.training.units.card import features_named

_OUTPUTS = {
    "features": "continuous features; they tell who speaks, too",
    "units": "one of the units, as a 1 among 0s",
    "soft": "similarity to each unit",
    "bottleneck": "a short code, learned to hold what is said",
}


def content_card(
    recipe: ContentRecipe,
    content: ContentNetwork,
    units: Units,
    heard: Corpus,
    held: Corpus,
    figures: Mapping[str, float],
    *,
    licence: str,
) -> str:
    """A model card in Markdown.

    Args:
        recipe: what was done.
        content: what came of it.
        units: that it learned.
        heard: the training speech.
        held: speech of the speakers that were not heard.
        figures: of the last validation, see `validation.validate`.
        licence: of the weights.
    """
    wanted, voices = recipe.optimisation, recipe.voices
    corpora = Counter(utterance.corpus or "unnamed" for utterance in heard)
    listed = ", ".join(f"{name} {count}" for name, count in sorted(corpora.items()))
    lines = [
        *_head(recipe, recipe.network, content, licence),
        f"- **Heard:** {len(heard)} utterances of {len(heard.speakers)} speakers: {listed}",
        f"- **Teacher:** {units.count} units of {features_named(units.features)}",
        f"- **Training:** {wanted.steps} steps of {wanted.batch} crops of"
        f" {recipe.data.crop_seconds:g} s; weight of units {wanted.unit_weight:g}, of features"
        f" {wanted.feature_weight:g}",
        "- **Voices in training:** "
        + (
            f"{voices.copies} further ones for each speaker, in {100 * voices.share:g} % of crops; "
            if voices.copies
            else ""
        )
        + f"speed changed by up to {recipe.perturbation.speed_octaves:g} octaves, spectra by"
        f" {recipe.perturbation.tilt_db:g} dB",
        f"- **Validation:** {len(held.speakers)} speakers that were not heard: "
        + ", ".join(_measured(recipe, figures)),
    ]
    return "\n".join(lines) + "\n"


def assembled_card(
    recipe: ContentRecipe, network: Mapping[str, Any], content: ContentNetwork, *, licence: str
) -> str:
    """The model card, in Markdown, of an encoder that is put together from ready parts.

    Args:
        recipe: what was done.
        network: its description, with the source of the self-supervised model.
        content: what came of it.
        licence: of the weights.
    """
    model = {"source": "ssl", "ssl": {"source": "a given configuration", **network["ssl"]}}
    layer = {} if network.get("layer") is None else {"layer": network["layer"]}
    lines = [
        *_head(recipe, network, content, licence),
        f"- **Weights:** {features_named({**model, **layer})}, as they are",
    ]
    return "\n".join(lines) + "\n"


def _head(
    recipe: ContentRecipe, network: Mapping[str, Any], content: ContentNetwork, licence: str
) -> list[str]:
    reach = "the whole recording"
    if content.context is not None:
        reach = f"its 20 ms and {content.context / 16:g} ms on each side"
    return [
        f"# {recipe.name}",
        "",
        recipe.summary or f"Content encoder: {content.channels} values a frame.",
        "",
        f"- **Licence of the weights:** {licence}",
        f"- **Gives:** {content.channels} values each {content.hop / 16:g} ms:"
        f" {_OUTPUTS[network['output']]}",
        f"- **A frame depends on:** {reach}",
    ]


def _measured(recipe: ContentRecipe, figures: Mapping[str, float]) -> Iterable[str]:
    if recipe.optimisation.unit_weight:
        yield f"{100 * figures['valid_accuracy']:.1f} % of frames have the teacher's unit"
        yield f"cross-entropy {figures['valid_unit']:.3f}"
    if recipe.optimisation.feature_weight:
        yield f"{100 * figures['valid_feature']:.1f} % of the features' variance not explained"
