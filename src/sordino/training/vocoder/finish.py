"""From a finished run to a bundle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sordino.corpus.corpus import Corpus
from sordino.corpus.utterance import Utterance
from sordino.models.bundle import Bundle
from sordino.training.content.export import write_content
from sordino.training.generator_export import write_vocoder
from sordino.training.hold_out import hold_out
from sordino.training.record import newest
from sordino.training.vocoder.card import along_card, model_card
from sordino.training.vocoder.frames import content_facts, make_frames
from sordino.training.vocoder.models import (
    FRAMES,
    Models,
    sources_of,
    trained_content,
    trained_generator,
)
from sordino.training.vocoder.recipe import VocoderRecipe
from sordino.training.vocoder.validation import FIELDS


def export_vocoder(
    recipe: VocoderRecipe,
    corpus: Corpus,
    run: Path,
    destination: Path,
    *,
    licence: str,
    replace: bool = False,
) -> Bundle:
    """Write the generator of a run as a bundle, with its card.

    A content network that learned along is written before it, as a bundle beside it whose name ends
    in "-content".

    Args:
        recipe: the run's.
        corpus: the run's.
        run: the run's folder.
        destination: the bundle's folder.
        licence: of the weights; it depends on the speech.
        replace: whether a bundle that is there may be replaced.

    Raises:
        OutputError: the bundle cannot be written, or its graph does not give what the generator
            gives.
    """
    models = Models.of(recipe)
    network = models.network(recipe)
    generator = trained_generator(recipe, network, run)
    training, _ = hold_out(corpus, recipe.data.validation, recipe.data.seed)
    framed, _ = make_frames(
        training.utterances, run / FRAMES, sources_of(recipe), jobs=1, quiet=True
    )
    figures = newest(run, FIELDS)
    heard = [known.utterance for known in framed]
    content = models.content
    if content is None:
        place = destination.with_name(content_name(recipe))
        content = _export_content(
            recipe, heard, run, place, encoder=models.encoder.name, licence=licence, replace=replace
        )
    card = model_card(
        recipe,
        heard,
        content=content.name,
        encoder=models.encoder.name,
        licence=licence,
        left_out=len(training) - len(framed),
        figures=figures,
    )
    metadata = {
        "name": recipe.name,
        "summary": recipe.summary or f"Generator of speech, {recipe.network.get('architecture')}.",
        "licence": licence,
        "content": content_facts(content),
        "content_model": {"name": content.name, "digest": content.digest},
        "pitch": {"tracker": recipe.tracker},
        "speaker": {
            "dimension": models.encoder.integer("dimension"),
            "encoder": models.encoder.name,
            "digest": models.encoder.digest,
        },
        "figures": figures,
    }
    return write_vocoder(destination, generator, network, metadata, card, replace=replace)


def content_name(recipe: VocoderRecipe) -> str:
    """The name of the content model that learned along."""
    return f"{recipe.name}-content"


def _export_content(
    recipe: VocoderRecipe,
    heard: Sequence[Utterance],
    run: Path,
    place: Path,
    *,
    encoder: str,
    licence: str,
    replace: bool,
) -> Bundle:
    content = trained_content(recipe, run)
    metadata = {
        "name": content_name(recipe),
        "summary": f"Content encoder that learned along with the generator {recipe.name}:"
        f" {content.channels} values a frame.",
        "licence": licence,
    }
    card = along_card(
        recipe, content, heard, name=content_name(recipe), encoder=encoder, licence=licence
    )
    return write_content(place, content, recipe.along.network, metadata, card, replace=replace)
