"""The model card of a voice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from sordino.models.bundle import Bundle
from sordino.training.voice.pool import described_pool
from sordino.training.voice.recipe import VoiceRecipe


def voice_card(
    recipe: VoiceRecipe,
    content: Bundle,
    vocoder: Bundle,
    pool: Mapping[str, npt.NDArray[Any]],
    *,
    licence: str,
    own: bool,
) -> str:
    """A model card in Markdown: the voice, then the cards of its parts.

    Args:
        recipe: what was done.
        content: the content model.
        vocoder: the generator.
        pool: its arrays.
        licence: of the voice.
        own: whether the pool is of other speech than what was learned from.
    """
    speaker, pitch = vocoder.metadata["speaker"], vocoder.metadata["pitch"]
    lines = [
        f"# {recipe.name}",
        "",
        recipe.summary,
        "",
        f"- **Licence:** {licence}",
        f"- **Content:** {content.name} (licence: {content.licence})",
        f"- **Generator:** {vocoder.name} (licence: {vocoder.licence})",
        f"- **Pitch:** {pitch['tracker']}",
        f"- **Pool:** {described_pool(pool)}, vectors of {speaker['encoder']};"
        f" {'other speech than' if own else 'the speech that'} the generator learned from",
        "- **Holds of the pool's people:** the mean of their speaker vectors, sex, mean and"
        " deviation of their pitch; no names, no recordings",
        "- **How well it protects** is measured for each pair of strategy and prosody:"
        " `sordino evaluate anonymization`",
        "",
        lowered(content.card.strip()),
        "",
        lowered(vocoder.card.strip()),
    ]
    return "\n".join(lines).rstrip() + "\n"


def lowered(card: str) -> str:
    """A card with its headings one level down, to stand in another card.

    Example:
        >>> lowered("# mine\\n\\ntext")
        '## mine\\n\\ntext'
    """
    return "\n".join(f"#{line}" if line.startswith("#") else line for line in card.splitlines())
