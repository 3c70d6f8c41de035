"""The model card of a concealer, from what its training knows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sordino.conceal.description import NO_RELEASE, Description
from sordino.training.concealer.data import Labelled
from sordino.training.concealer.recipe import ConcealerRecipe

if TYPE_CHECKING:
    from sordino.training.concealer.export import Trained


def concealer_card(trained: Trained, description: Description, metadata: Mapping[str, Any]) -> str:
    """A model card in Markdown.

    Args:
        trained: what came of the run.
        description: what the bundle says of itself.
        metadata: name, summary, licence, figures.
    """
    recipe = trained.recipe
    lines = [
        f"# {metadata['name']}",
        "",
        metadata["summary"],
        "",
        f"- **Licence of the weights:** {metadata['licence']}",
        f"- **Takes and gives:** vectors of {description.encoder}"
        f" ({description.encoder_digest[:8]}), {description.dimension} numbers; latents of"
        f" {description.latent}",
        f"- **Conceals:** {', '.join(_attribute(trained.training, n) for n in _numbers(trained))}",
        f"- **Learned from:** {_sources(trained.training)}",
        f"- **How:** {', '.join(_methods(recipe))}",
        f"- **Release:** {_release(description)}",
        f"- **Validation:** {_validation(trained.validation, metadata['figures'])}",
        "- **Not covered:** without noise at release nothing is guaranteed. With noise, templates"
        " are protected; the people whose recordings are in the training data are not.",
    ]
    return "\n".join(lines) + "\n"


def _numbers(trained: Trained) -> range:
    return range(len(trained.training.attributes))


def _attribute(data: Labelled, number: int) -> str:
    attribute, labels = data.attributes[number], data.labels[:, number]
    counts = (
        f"{value}: {np.unique(data.speakers[labels == label]).size}"
        for label, value in enumerate(attribute.values)
    )
    return f"{attribute.name} (speakers of {', '.join(counts)})"


def _sources(data: Labelled) -> str:
    corpora = Counter(collection or "unnamed" for collection in data.collections.tolist())
    listed = ", ".join(f"{name} {count}" for name, count in sorted(corpora.items()))
    return f"{len(data)} vectors of {np.unique(data.speakers).size} speakers: {listed}"


def _methods(recipe: ConcealerRecipe) -> Iterator[str]:
    wanted, adversary = recipe.optimisation, recipe.adversary
    if recipe.start.erasure:
        yield "linear erasure first"
    if recipe.start.networks != "fresh":
        yield f"start from {recipe.start.networks} maps"
    if not wanted.steps:
        yield "nothing is learned by steps"
        return
    yield f"{wanted.steps} steps of {wanted.batch} vectors"
    for name in ("reconstruction", "scores", "speakers", "dependence", "still"):
        if getattr(wanted, name):
            yield f"{name} {getattr(wanted, name):g}"
    if adversary.weight:
        count = len(adversary.hidden) * len(adversary.sees)
        yield (
            f"{count} {'adversary' if count == 1 else 'adversaries'} of the"
            f" {' and '.join(adversary.sees)}, weight {adversary.weight:g}"
        )


def _release(description: Description) -> str:
    if description.mechanism == NO_RELEASE:
        return "none of its own; no DP guarantee"
    trained = (
        "no noise in training"
        if math.isinf(description.epsilon_train)
        else f"epsilon {description.epsilon_train:g} in training"
    )
    clip = ""
    if description.clip is not None:
        clip = f"; clip {description.clip:.4g}: {description.clip_origin}"
    return f"made for {description.mechanism}, {trained}{clip}"


def _validation(held: Labelled, figures: Mapping[str, float]) -> str:
    found = [f"{np.unique(held.speakers).size} speakers that training did not see, without noise"]
    if "valid_eer" in figures:
        found.append(f"equal error rate {100 * figures['valid_eer']:.1f} %")
    if "valid_auc" in figures:
        found.append(
            f"AUC {figures['valid_auc']:.2f} of a kernel attacker who learnt from protected vectors"
            " of the training speakers"
        )
    return ", ".join(found)
