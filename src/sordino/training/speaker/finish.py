"""From a finished run to a bundle."""

from __future__ import annotations

from pathlib import Path

import torch

from sordino.corpus.corpus import Corpus
from sordino.models.bundle import Bundle
from sordino.training.export import write_encoder
from sordino.training.hold_out import hold_out, thinned
from sordino.training.speaker.calibration import verification_facts
from sordino.training.speaker.card import model_card
from sordino.training.speaker.recipe import SpeakerRecipe
from sordino.training.speaker.run import SAMPLE_RATE, trained_encoder
from sordino.training.speaker.validation import embed_utterances, trial_error

# Enough enrolments of heard speakers for impostors, without embedding a large corpus again.
_MOST_HEARD = 4000


def export_run(
    recipe: SpeakerRecipe,
    corpus: Corpus,
    run: Path,
    destination: Path,
    *,
    licence: str,
    replace: bool = False,
) -> Bundle:
    """Write the encoder of a run as a bundle, with thresholds, calibration and card.

    Args:
        recipe: the run's.
        corpus: the run's.
        run: the run's folder.
        destination: the bundle's folder.
        licence: of the weights; it depends on the speech.
        replace: whether a bundle that is there may be replaced.

    Raises:
        OutputError: the bundle cannot be written.
    """
    encoder = trained_encoder(recipe, run)
    heard, held = hold_out(corpus, recipe.data.validation, recipe.data.seed)
    some = thinned(heard.utterances, _MOST_HEARD, recipe.data.seed)
    utterances = [*held.utterances, *some]
    vectors = embed_utterances(encoder, utterances, SAMPLE_RATE, torch.device("cpu"))
    facts = verification_facts(vectors, utterances, frozenset(held.speakers))
    error = trial_error(vectors[: len(held)], held.utterances)
    facts["measured_on"] = (
        f"{len(held.speakers)} speakers that training did not hear, {facts['target_trials']}"
        f" target and {facts['nontarget_trials']} impostor trials"
    )
    card = model_card(
        recipe,
        heard.utterances,
        held.utterances,
        facts,
        licence=licence,
        validation_error=error,
    )
    metadata = {
        "name": recipe.name,
        "summary": recipe.summary,
        "licence": licence,
        "sample_rate": SAMPLE_RATE,
        "verification": facts,
    }
    return write_encoder(destination, encoder, recipe.network, metadata, card, replace=replace)
