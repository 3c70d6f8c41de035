"""Finding units: sample frames, cluster them, write a bundle."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sordino.corpus.corpus import Corpus
from sordino.errors import UsageError
from sordino.models.bundle import Bundle
from sordino.training.features.base import FeatureSource, load_features
from sordino.training.features.cache import RowCache
from sordino.training.record import described, settle
from sordino.training.units.bundle import Units, write_units
from sordino.training.units.card import units_card
from sordino.training.units.cluster import cluster, usage
from sordino.training.units.recipe import UnitsRecipe
from sordino.training.units.sample import in_turns, sample_frames

FloatArray = npt.NDArray[np.float32]

_SMALLEST_DEVIATION = 1e-4


def train_units(
    recipe: UnitsRecipe,
    corpus: Corpus,
    folder: Path,
    *,
    resume: bool = False,
    device: str = "auto",
    licence: str = "not stated",
    quiet: bool = False,
) -> Bundle:
    """Find units; see `sordino train units`.

    Features are kept in the folder, so that a run which was cut short goes on where it was.

    Args:
        recipe: what to do.
        corpus: the speech.
        folder: of the run.
        resume: go on in a folder with the same recipe and data.
        device: that the features' model runs on: "cpu", "cuda", or "auto".
        licence: of the units; it depends on the speech and on the features' model.
        quiet: show no progress.

    Returns:
        The bundle, which is in the run's folder under the recipe's name.

    Raises:
        UsageError: the recipe will not do, the speech is too little, or the folder holds a run of
            something else.
        AudioError: an utterance cannot be read or is too short.

    Example:
        >>> train_units(recipe, corpus, Path("runs/units"))  # doctest: +SKIP
    """
    source = load_features(recipe.features, device=device)
    settle(asdict(recipe), described(corpus, features=source.key), folder, resume=resume)
    cache = RowCache(folder / "features" / short(source.key))
    order = in_turns(corpus, recipe.sample.seed)
    frames, utterances = sample_frames(source, order, cache, recipe.sample.frames, quiet=quiet)
    if len(frames) < recipe.units:
        raise UsageError(
            f"{len(frames)} frames are too few for {recipe.units} units; use more speech"
        )
    units = _units(recipe, source, frames)
    figures = usage((frames - units.mean) / units.deviation, units.centroids)
    heard = order[:utterances]
    metadata = {
        "name": recipe.name,
        "summary": recipe.summary or f"{units.count} units of speech.",
        "licence": licence,
        "figures": {**asdict(figures), "frames": len(frames)},
    }
    card = units_card(recipe, units, figures, heard, len(frames), licence=licence)
    return write_units(folder / recipe.name, units, metadata, card, replace=True)


def short(key: str) -> str:
    """A folder's name for the key of a source of features.

    Example:
        >>> len(short("whisper/0"))
        16
    """
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def _units(recipe: UnitsRecipe, source: FeatureSource, frames: FloatArray) -> Units:
    mean = frames.mean(axis=0, dtype=np.float64).astype(np.float32)
    spread = frames.std(axis=0, dtype=np.float64).astype(np.float32)
    deviation = np.maximum(spread, np.float32(_SMALLEST_DEVIATION))
    nothing, one = np.zeros_like(mean), np.ones_like(mean)
    used = (mean, deviation) if recipe.standardise else (nothing, one)
    centroids = cluster(
        (frames - used[0]) / used[1], recipe.units, recipe.clustering, recipe.sample.seed
    )
    return Units(source.description, centroids, *used, mean, deviation)
