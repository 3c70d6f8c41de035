"""A training run of a content encoder: prepare, launch, learn, validate, export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from lightning_fabric import Fabric
from torch import Tensor

from sordino.corpus.corpus import Corpus
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError
from sordino.models.bundle import Bundle
from sordino.models.find import load_model
from sordino.training.augment.chain import Augmenter
from sordino.training.augment.reverberation import simulate_rooms
from sordino.training.content.assemble import assemble_content, completed
from sordino.training.content.card import content_card
from sordino.training.content.data import HOP, ContentBatch, ContentCrops
from sordino.training.content.export import KIND, load_content, write_content
from sordino.training.content.recipe import ContentRecipe
from sordino.training.content.task import ContentLosses, ContentTask
from sordino.training.content.validation import MEASURES, validate
from sordino.training.export import described_network
from sordino.training.features.base import load_features
from sordino.training.features.cache import RowCache, fill_caches, half
from sordino.training.hold_out import hold_out, thinned
from sordino.training.launch import Hardware, check_batch, first_process, launch_run
from sordino.training.loop import LoopSettings, descend, kept_weights, run_loop, seed_step
from sordino.training.networks.content import ContentNetwork, build_content, self_contained
from sordino.training.record import described, newest, settle
from sordino.training.schedule import warm_cosine
from sordino.training.units.bundle import KIND as UNITS
from sordino.training.units.bundle import Units, load_units
from sordino.training.voices import make_voices
from sordino.training.waves import RATE, Noises

FloatArray = npt.NDArray[np.float32]

VALIDATED = tuple(f"valid_{name}" for name in MEASURES)
LOG_FIELDS = (*ContentLosses._fields, "learning_rate", *VALIDATED)

_MOST_VALIDATION = 200


@dataclass(frozen=True)
class Prepared:
    """What all processes of a run need; it can be pickled.

    Attributes:
        recipe: what to do.
        network: its description in full.
        folder: of the run.
        training: real speech to hear.
        voices: for each of it the further voices.
        validation: utterances of other speakers.
        units: of all utterances.
        features: of all utterances, or None.
        unit_count: how many units there are.
        dimension: of the teacher's features.
        rooms: impulse responses.
        noises: recordings of noise.
        keep_every: steps between two checkpoints.
        hardware: what may be used.
        quiet: whether progress is not shown.
    """

    recipe: ContentRecipe
    network: dict[str, Any]
    folder: Path
    training: tuple[Utterance, ...]
    voices: tuple[tuple[Utterance, ...], ...]
    validation: tuple[Utterance, ...]
    units: RowCache
    features: RowCache | None
    unit_count: int
    dimension: int
    rooms: tuple[FloatArray, ...]
    noises: tuple[Utterance, ...]
    keep_every: int
    hardware: Hardware
    quiet: bool


def train_content(
    recipe: ContentRecipe,
    corpus: Corpus,
    folder: Path,
    *,
    units: str | Path | None = None,
    hardware: Hardware | None = None,
    resume: bool = False,
    noises: Sequence[Path] = (),
    keep_every: int = 500,
    jobs: int = 1,
    licence: str = "not stated",
    quiet: bool = False,
) -> Bundle | None:
    """Train a content encoder; see `sordino train content`.

    A recipe without steps is put together from ready parts, see `assemble_content`.

    Args:
        recipe: what to do.
        corpus: the speech, of a few speakers at least.
        folder: of the run: checkpoint, log, TensorBoard curves, the teacher's units and features,
            further voices.
        units: the units' bundle, its name or folder; its features' model is the teacher. May be
            None for a recipe without steps that needs none.
        hardware: devices and precision; None for one device.
        resume: go on from the folder's checkpoint, with the same recipe, data and units.
        noises: recordings of noise to mix in.
        keep_every: steps between two checkpoints.
        jobs: processes that make further voices.
        licence: of the weights; it depends on the speech, the units and what training starts from.
        quiet: show no progress.

    Returns:
        The bundle, which is in the run's folder under the recipe's name; None in a process of a
        launcher's that is not the first.

    Raises:
        UsageError: the recipe, the units or the hardware will not do, the folder holds a run and
            `resume` is not set, or one of another recipe or other data.
        AudioError: a recording cannot be read.
        OutputError: the loss is no number any more, or the bundle cannot be written.

    Example:
        >>> train_content(recipe, corpus, Path("runs/soft"), units="runs/units/hubert-200")
        ... # doctest: +SKIP
    """
    if recipe.optimisation.steps == 0:
        return assemble_content(recipe, folder, units=units, licence=licence)
    if units is None:
        raise UsageError(f"recipe {recipe.name}: training needs units; make them by: train units")
    hardware = hardware or Hardware()
    bundle = load_model(str(units), UNITS)
    targets = load_units(units)
    network = completed(recipe.network, targets)
    _check(recipe, network, corpus, hardware)
    facts = described(corpus, noises=len(noises), units=bundle.digest)
    begin = partial(settle, asdict(recipe), facts, folder, resume=resume)
    ready = partial(
        prepare,
        recipe,
        corpus,
        folder,
        units=targets,
        noises=noises,
        keep_every=keep_every,
        hardware=hardware,
        jobs=jobs,
        quiet=quiet,
    )
    launch_run(hardware, folder, begin, ready, learn)
    if not first_process():
        return None
    return _export(recipe, network, corpus, folder, targets, licence=licence)


def prepare(
    recipe: ContentRecipe,
    corpus: Corpus,
    folder: Path,
    *,
    units: Units,
    noises: Sequence[Path],
    keep_every: int,
    hardware: Hardware,
    jobs: int,
    quiet: bool,
) -> Prepared:
    """Part the speakers, ask the teacher, make further voices, simulate rooms."""
    seed = recipe.data.seed
    training, held = hold_out(corpus, recipe.data.validation, seed)
    validation = tuple(thinned(held.utterances, _MOST_VALIDATION, seed))
    of_units = RowCache(folder / "teacher" / "units")
    learned = recipe.optimisation.feature_weight > 0
    of_features = RowCache(folder / "teacher" / "features") if learned else None
    _ask(recipe, units, (*training, *validation), of_units, of_features, hardware, quiet=quiet)
    copies = recipe.voices.copies
    further = make_voices(
        training.utterances, folder / "voices", recipe.voices, seed, jobs, quiet=quiet
    )
    voices = [
        tuple(further[start : start + copies]) for start in range(0, len(further), copies or 1)
    ]
    rooms = simulate_rooms(recipe.augmentation.rooms, RATE, seed)
    return Prepared(
        recipe=recipe,
        network=completed(recipe.network, units),
        folder=folder,
        training=training.utterances,
        voices=tuple(voices),
        validation=validation,
        units=of_units,
        features=of_features,
        unit_count=units.count,
        dimension=units.dimension,
        rooms=tuple(rooms),
        noises=tuple(Utterance(str(noise), noise, "noise") for noise in noises),
        keep_every=keep_every,
        hardware=hardware,
        quiet=quiet,
    )


def learn(fabric: Fabric, prepared: Prepared) -> None:
    """The loop, in each process."""
    recipe, wanted = prepared.recipe, prepared.recipe.optimisation
    crops = _crops(prepared)
    seed_step(recipe.data.seed, 0, 0)
    network = _starting(recipe, prepared.network)
    task = ContentTask(recipe, network, prepared.unit_count, prepared.dimension)
    wrapped, optimizer = fabric.setup(
        task,
        torch.optim.AdamW(
            task.parameters(), lr=wanted.learning_rate, weight_decay=wanted.weight_decay
        ),
    )

    def step(batch: ContentBatch, number: int) -> dict[str, float | Tensor]:
        rate = wanted.learning_rate * warm_cosine(
            number - 1, warmup=wanted.warmup, steps=wanted.steps
        )
        wrapped.train()
        losses: ContentLosses = wrapped(*batch)
        descend(fabric, wrapped, optimizer, losses.total, rate=rate)
        return {**losses._asdict(), "learning_rate": rate}

    def after(number: int) -> dict[str, float]:
        if number % recipe.validate_every and number != wanted.steps:
            return {}
        return validate(task, prepared.validation, prepared.units, prepared.features, fabric.device)

    run_loop(
        fabric,
        LoopSettings(
            name=recipe.name,
            folder=prepared.folder,
            steps=wanted.steps,
            batch=wanted.batch,
            seed=recipe.data.seed,
            fields=LOG_FIELDS,
            keep_every=prepared.keep_every,
            hardware=prepared.hardware,
            quiet=prepared.quiet,
        ),
        {"task": wrapped, "optimizer": optimizer},
        crops,
        step,
        collate=_collate,
        after=after,
    )


def trained_network(network: Mapping[str, Any], folder: Path) -> ContentNetwork:
    """The content network of a run's newest checkpoint, in evaluation mode.

    Args:
        network: its description.
        folder: of the run.

    Raises:
        UsageError: there is no checkpoint.
    """
    content = build_content(network)
    content.load_state_dict(kept_weights(folder, "task", "network."))
    return content.eval()


def _check(
    recipe: ContentRecipe, network: Mapping[str, Any], corpus: Corpus, hardware: Hardware
) -> None:
    """Refuse at once what would fail after hours of preparation."""
    check_batch(recipe.optimisation.batch, hardware)
    hold_out(corpus, recipe.data.validation, recipe.data.seed)
    hop = _starting(recipe, network).hop
    if hop != HOP:
        raise UsageError(
            f"recipe {recipe.name}: its frames are {hop} samples apart; the units' are {HOP}"
        )


def _starting(recipe: ContentRecipe, network: Mapping[str, Any]) -> ContentNetwork:
    """The network before the first step."""
    content = build_content(network)
    if not recipe.start:
        return content
    bundle = load_model(recipe.start, KIND)
    if described_network(bundle) != self_contained(network, content):
        raise UsageError(f"recipe {recipe.name}: {recipe.start} has another network")
    return load_content(bundle)


def _ask(
    recipe: ContentRecipe,
    units: Units,
    utterances: Sequence[Utterance],
    of_units: RowCache,
    of_features: RowCache | None,
    hardware: Hardware,
    *,
    quiet: bool,
) -> None:
    """Keep what the teacher says of all utterances."""
    caches = [of_units] if of_features is None else [of_units, of_features]
    if all(cache.has(utterance) for utterance in utterances for cache in caches):
        return
    features = dict(units.features)
    if recipe.teacher:
        whisper = features["source"] == "whisper"
        features |= {"model": recipe.teacher} if whisper else {"ssl": {"source": recipe.teacher}}
    source = load_features(features, device=hardware.device)

    def compute(waves: Sequence[FloatArray]) -> list[list[npt.NDArray[Any]]]:
        found = source.features_many(waves)
        rows: list[list[npt.NDArray[Any]]] = [[units.of(frames)] for frames in found]
        if of_features is not None:
            for own, frames in zip(rows, found, strict=True):
                own.append(half(units.scaled(frames)))
        return rows

    fill_caches(caches, utterances, compute, label="teacher", quiet=quiet)


def _crops(prepared: Prepared) -> ContentCrops:
    recipe = prepared.recipe
    crops = ContentCrops(
        prepared.training,
        voices=prepared.voices,
        units=prepared.units,
        features=prepared.features,
        frames=round(recipe.data.crop_seconds * RATE / HOP),
        seed=recipe.data.seed,
        perturbation=recipe.perturbation,
        voice_share=recipe.voices.share,
    )
    noises = Noises(prepared.noises) if prepared.noises else None
    crops.augmenter = Augmenter(
        recipe.augmentation, RATE, prepared.rooms, crops.other_speech, noises
    )
    return crops


def _collate(items: Sequence[ContentBatch]) -> ContentBatch:
    return ContentBatch(*(torch.stack(tensors) for tensors in zip(*items, strict=True)))


def _export(
    recipe: ContentRecipe,
    network: Mapping[str, Any],
    corpus: Corpus,
    folder: Path,
    units: Units,
    *,
    licence: str,
) -> Bundle:
    content = trained_network(network, folder)
    heard, held = hold_out(corpus, recipe.data.validation, recipe.data.seed)
    figures = newest(folder, VALIDATED)
    metadata = {
        "name": recipe.name,
        "summary": recipe.summary or f"Content encoder: {content.channels} values a frame.",
        "licence": licence,
        "figures": figures,
    }
    card = content_card(recipe, content, units, heard, held, figures, licence=licence)
    return write_content(folder / recipe.name, content, network, metadata, card, replace=True)
