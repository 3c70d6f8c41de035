"""What a vocoder is trained for, and what comes out of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sordino.errors import UsageError
from sordino.models.bundle import Bundle
from sordino.models.find import load_model
from sordino.speaker.encoders import KIND as ENCODER_KIND
from sordino.training.loop import kept_weights
from sordino.training.networks.generators import Generator, add_weight_norm, without_weight_norm
from sordino.training.vocoder.frames import SAMPLE_RATE, Sources, content_facts
from sordino.training.vocoder.network import build_vocoder, described_network
from sordino.training.vocoder.recipe import VocoderRecipe
from sordino.training.vocoder.task import GENERATOR

FRAMES = "frames"
"""The folder of a run that its frames are in."""


@dataclass(frozen=True)
class Models:
    """The models that a vocoder is trained for, found and checked.

    Attributes:
        content: of the kind "content".
        encoder: of the kind "speaker-encoder".
    """

    content: Bundle
    encoder: Bundle

    @classmethod
    def of(cls, recipe: VocoderRecipe) -> Models:
        """Those that a recipe names.

        Raises:
            UsageError: it names none, or there is no such model.
        """
        if not recipe.content:
            raise UsageError(
                f"recipe {recipe.name}: names no content model; set content, or give --content"
            )
        return cls(load_model(recipe.content, "content"), load_model(recipe.encoder, ENCODER_KIND))

    def network(self, recipe: VocoderRecipe) -> dict[str, Any]:
        """The recipe's network, complete."""
        dimension = self.encoder.integer("dimension")
        return described_network(recipe.network, content_facts(self.content), dimension)


def sources_of(recipe: VocoderRecipe) -> Sources:
    """Where a recipe's frames come from."""
    return Sources(
        content=recipe.content,
        encoder=recipe.encoder,
        tracker=recipe.tracker,
        shortest=round(recipe.data.shortest_seconds * SAMPLE_RATE),
        longest=round(recipe.data.longest_seconds * SAMPLE_RATE),
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
