"""Training a ready speaker encoder further, as an attacker does on anonymized speech."""

from __future__ import annotations

import tempfile
from pathlib import Path

from sordino.corpus.corpus import Corpus
from sordino.models.bundle import Bundle
from sordino.models.find import load_model
from sordino.training.augment.chain import AugmentationSettings
from sordino.training.export import write_encoder
from sordino.training.speaker.recipe import DataSettings, OptimisationSettings, SpeakerRecipe
from sordino.training.speaker.run import SAMPLE_RATE, train_speaker

_CROP_S = 2.0
_BATCH = 32
_LEARNING_RATE = 3e-4


def fine_tune(
    start: str, corpus: Corpus, destination: Path, *, steps: int, seed: int, quiet: bool = True
) -> Bundle:
    """Train an encoder further on a corpus, to tell its speakers apart.

    AAM-softmax on 2 s crops without changes to them, in batches of 32, at a learning rate of at
    most 3e-4.

    Args:
        start: the encoder: a name or a bundle's folder.
        corpus: speech of at least a few speakers.
        destination: the new bundle's folder.
        steps: updates of the weights, at least 1.
        seed: of everything that is drawn.
        quiet: show no progress.

    Raises:
        UsageError: the encoder does not say what network it is, or the corpus is too small.
        AudioError: a recording cannot be read.

    Example:
        >>> fine_tune("ecapa-small", corpus, Path("tuned"), steps=300, seed=0)  # doctest: +SKIP
    """
    bundle = load_model(start, "speaker-encoder")
    recipe = SpeakerRecipe(
        name=f"{bundle.name}-tuned",
        network=dict(bundle.metadata.get("network", {})),
        summary=f"{bundle.name}, trained further for {steps} steps.",
        start=start,
        data=DataSettings(crop_seconds=(_CROP_S, _CROP_S), seed=seed),
        augmentation=AugmentationSettings(
            reverberation=0, noise=0, babble=0, telephone=0, lossy=0, rooms=0
        ),
        optimisation=OptimisationSettings(
            steps=steps, batch=_BATCH, learning_rate=_LEARNING_RATE, warmup=max(1, steps // 10)
        ),
        validate_every=steps,
    )
    with tempfile.TemporaryDirectory() as scratch:
        encoder = train_speaker(recipe, corpus, Path(scratch), keep_every=steps, quiet=quiet)
    card = f"# {recipe.name}\n\n{recipe.summary} Seed {seed}, {len(corpus.speakers)} speakers.\n"
    metadata = {
        "name": recipe.name,
        "summary": recipe.summary,
        "licence": bundle.licence,
        "sample_rate": SAMPLE_RATE,
    }
    return write_encoder(destination, encoder, recipe.network, metadata, card)
