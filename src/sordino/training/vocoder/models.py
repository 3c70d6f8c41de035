"""What a vocoder is trained for, and what comes out of a run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sordino.errors import UsageError
from sordino.models.bundle import Bundle
from sordino.models.find import load_model
from sordino.speaker.encoders import KIND as ENCODER_KIND
from sordino.training.loop import kept_weights
from sordino.training.networks.content import ContentNetwork
from sordino.training.networks.generators import Generator, add_weight_norm, without_weight_norm
from sordino.training.vocoder.along import build_listener
from sordino.training.vocoder.frames import SAMPLE_RATE, Sources, content_facts
from sordino.training.vocoder.network import build_vocoder, described_network
from sordino.training.vocoder.recipe import VocoderRecipe
from sordino.training.vocoder.task import AVERAGE_CONTENT, CONTENT, GENERATOR

FRAMES = "frames"
"""The folder of a run that its frames are in."""


@dataclass(frozen=True)
class Models:
    """The models that a vocoder is trained for, found and checked.

    Attributes:
        content: of the kind "content"; None where a content network learns along.
        encoder: of the kind "speaker-encoder".
    """

    content: Bundle | None
    encoder: Bundle

    @classmethod
    def of(cls, recipe: VocoderRecipe) -> Models:
        """Those that a recipe names.

        Raises:
            UsageError: it names none, or there is no such model.
        """
        encoder = load_model(recipe.encoder, ENCODER_KIND)
        if recipe.trains_along:
            return cls(None, encoder)
        if not recipe.content:
            raise UsageError(
                f"recipe {recipe.name}: names no content model; set content, or give --content"
            )
        return cls(load_model(recipe.content, "content"), encoder)

    def network(self, recipe: VocoderRecipe) -> dict[str, Any]:
        """The recipe's network, complete."""
        dimension = self.encoder.integer("dimension")
        if self.content is not None:
            facts = content_facts(self.content)
        else:
            listener = build_listener(recipe.along.network)
            facts = {"hop": listener.hop, "channels": listener.channels}
        return described_network(recipe.network, facts, dimension)


def sources_of(recipe: VocoderRecipe, device: str = "auto") -> Sources:
    """Where a recipe's frames come from.

    Args:
        recipe: the run's.
        device: that a teacher runs on; see `sordino.training.features.base.load_features`.
    """
    return Sources(
        content=recipe.content,
        encoder=recipe.encoder,
        tracker=recipe.tracker,
        shortest=round(recipe.data.shortest_seconds * SAMPLE_RATE),
        longest=round(recipe.data.longest_seconds * SAMPLE_RATE),
        features=json.dumps(recipe.along.features, sort_keys=True) if recipe.taught else "",
        device=device,
    )


def trained_generator(recipe: VocoderRecipe, network: dict[str, Any], folder: Path) -> Generator:
    """The generator of a run's newest checkpoint, with plain weights, in evaluation mode.

    Args:
        recipe: the run's.
        network: its network, complete.
        folder: of the run.
    """
    generator = add_weight_norm(build_vocoder(network))
    if recipe.optimisation.average:
        generator.load_state_dict(kept_weights(folder, "average"))
    else:
        generator.load_state_dict(kept_weights(folder, "speaking", GENERATOR))
    return without_weight_norm(generator)


def trained_content(recipe: VocoderRecipe, folder: Path) -> ContentNetwork:
    """The content network that learned along, of a run's newest checkpoint, in evaluation mode.

    Args:
        recipe: the run's.
        folder: of the run.
    """
    content = build_listener(recipe.along.network)
    if recipe.optimisation.average:
        content.load_state_dict(kept_weights(folder, AVERAGE_CONTENT))
    else:
        content.load_state_dict(kept_weights(folder, "speaking", CONTENT))
    return content.eval()
