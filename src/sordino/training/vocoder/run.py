"""A training run: prepare, launch, learn, validate, keep."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from lightning_fabric import Fabric

from sordino.corpus.corpus import Corpus
from sordino.models.bundle import Bundle
from sordino.models.find import load_model
from sordino.speaker.encoders import KIND as ENCODER_KIND
from sordino.training.hold_out import hold_out, thinned
from sordino.training.launch import Hardware, check_batch, first_process, is_first, launch_run
from sordino.training.loop import LoopSettings, run_loop, seed_step
from sordino.training.networks.discriminators import Discriminators, DiscriminatorSettings
from sordino.training.networks.encoder import settings_from
from sordino.training.networks.generators import add_weight_norm
from sordino.training.record import described, settle
from sordino.training.vocoder.along import Along, build_listener
from sordino.training.vocoder.data import Crops
from sordino.training.vocoder.finish import export_vocoder
from sordino.training.vocoder.frames import Framed, Standard, make_frames, standard_of
from sordino.training.vocoder.likeness import Likeness
from sordino.training.vocoder.listener import Listener
from sordino.training.vocoder.models import FRAMES, Models, sources_of
from sordino.training.vocoder.network import build_vocoder
from sordino.training.vocoder.recipe import STEP, SpeakerSettings, VocoderRecipe
from sordino.training.vocoder.task import VocoderTask
from sordino.training.vocoder.validation import FIELDS, Validation

_MOST_VALIDATION = 16
_VALIDATION_ROWS = 200

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Prepared:
    """What all processes of a run need; it can be pickled.

    Attributes:
        recipe: what to do.
        network: the recipe's, complete.
        folder: of the run.
        training: utterances to hear, with their frames.
        vectors: their speaker vectors, shape (utterances, dimension).
        validation: utterances of other speakers.
        validation_vectors: theirs.
        standard: of the teacher's features; None without a teacher.
        keep_every: steps between two checkpoints.
        hardware: what may be used.
        quiet: whether progress is not shown.
    """

    recipe: VocoderRecipe
    network: dict[str, Any]
    folder: Path
    training: tuple[Framed, ...]
    vectors: FloatArray
    validation: tuple[Framed, ...]
    validation_vectors: FloatArray
    standard: Standard | None
    keep_every: int
    hardware: Hardware
    quiet: bool


def train_vocoder(
    recipe: VocoderRecipe,
    corpus: Corpus,
    folder: Path,
    *,
    hardware: Hardware | None = None,
    resume: bool = False,
    keep_every: int = 1000,
    jobs: int = 1,
    licence: str = "not stated",
    quiet: bool = False,
) -> Bundle | None:
    """Train a generator of speech; see `sordino train vocoder`.

    Args:
        recipe: what to do.
        corpus: speech of at least a few speakers.
        folder: of the run: frames, checkpoint, log, TensorBoard curves and sound.
        hardware: devices and precision; None for one device.
        resume: go on from the folder's checkpoint, with the same recipe, models and data.
        keep_every: steps between two checkpoints.
        jobs: processes that make frames.
        licence: of the weights; it depends on the speech.
        quiet: show no progress.

    Returns:
        The bundle, which is in the run's folder under the recipe's name; None in a process of a
        launcher's that is not the first.

    Raises:
        UsageError: the recipe or the hardware will not do, the folder holds a run and `resume` is
            not set, or one of another recipe or other data.
        AudioError: a recording cannot be read.
        OutputError: the loss is no number any more, or the bundle cannot be written.

    Example:
        >>> train_vocoder(recipe, corpus, Path("runs/hifigan"))  # doctest: +SKIP
    """
    hardware = hardware or Hardware()
    models = Models.of(recipe)
    _check(recipe, models, corpus, hardware)
    notes = _notes(recipe, models, corpus, _teacher(recipe, hardware))
    begin = partial(settle, *notes, folder, resume=resume)
    ready = partial(
        prepare,
        recipe,
        corpus,
        folder,
        keep_every=keep_every,
        hardware=hardware,
        jobs=jobs,
        quiet=quiet,
    )
    launch_run(hardware, folder, begin, ready, learn)
    if not first_process():
        return None
    place = folder / recipe.name
    return export_vocoder(recipe, corpus, folder, place, licence=licence, replace=True)


def prepare(
    recipe: VocoderRecipe,
    corpus: Corpus,
    folder: Path,
    *,
    keep_every: int,
    hardware: Hardware,
    jobs: int,
    quiet: bool,
) -> Prepared:
    """Part the speakers and make all frames."""
    seed = recipe.data.seed
    training, validation = hold_out(corpus, recipe.data.validation, seed)
    some = thinned(validation.utterances, _MOST_VALIDATION, seed)
    sources = sources_of(recipe, hardware.device)
    make = partial(make_frames, folder=folder / FRAMES, sources=sources, jobs=jobs, quiet=quiet)
    framed, vectors = make(training.utterances, speeds=recipe.data.speeds)
    held, held_vectors = make(some)
    return Prepared(
        recipe=recipe,
        network=Models.of(recipe).network(recipe),
        folder=folder,
        training=tuple(framed),
        vectors=vectors,
        validation=tuple(held),
        validation_vectors=held_vectors,
        standard=standard_of(framed) if recipe.taught else None,
        keep_every=keep_every,
        hardware=hardware,
        quiet=quiet,
    )


def learn(fabric: Fabric, prepared: Prepared) -> None:
    """The loop, in each process."""
    recipe = prepared.recipe
    wanted = recipe.optimisation
    seed_step(recipe.data.seed, 0, 0)
    generator = add_weight_norm(build_vocoder(prepared.network))
    judges = _discriminators(recipe) if recipe.adversarial else None
    crops = Crops(
        prepared.training,
        prepared.vectors,
        recipe.data,
        recipe.speaker,
        generator.inputs,
        heard=recipe.along.heard,
        others=recipe.losses.likeness > 0,
    )
    along = None
    if recipe.trains_along:
        listener = build_listener(recipe.along.network)
        along = Along(recipe.along, listener, crops.speakers, prepared.standard)
    ears = _listener(recipe)
    task = VocoderTask(
        fabric,
        recipe,
        generator,
        judges,
        len(prepared.training),
        along=along,
        listener=ears,
        likeness=_likeness(recipe),
    )
    validation = None
    if is_first(fabric):
        held = Crops(
            prepared.validation,
            prepared.validation_vectors,
            recipe.data,
            SpeakerSettings(),
            generator.inputs,
        )
        validation = Validation(held, recipe.tracker, _VALIDATION_ROWS, ears)

    def after(number: int) -> dict[str, float]:
        if validation is None or (number % recipe.validate_every and number != wanted.steps):
            return {}
        validation.show(task.best, fabric, number, task.best_content)
        return validation.figures(task.best, fabric.device, task.best_content)

    run_loop(
        fabric,
        LoopSettings(
            name=recipe.name,
            folder=prepared.folder,
            steps=wanted.steps,
            batch=wanted.batch,
            seed=recipe.data.seed,
            fields=(*task.fields, *FIELDS),
            keep_every=prepared.keep_every,
            hardware=prepared.hardware,
            quiet=prepared.quiet,
        ),
        task.state(),
        crops,
        task.step,
        after=after,
    )


def _check(recipe: VocoderRecipe, models: Models, corpus: Corpus, hardware: Hardware) -> None:
    """Refuse at once what would fail after hours of preparation."""
    from sordino.dsp.pitch import load_tracker

    check_batch(recipe.optimisation.batch, hardware)
    hold_out(corpus, recipe.data.validation, recipe.data.seed)
    load_tracker(recipe.tracker).track(np.zeros(STEP))
    build_vocoder(models.network(recipe))
    if recipe.adversarial:
        _discriminators(recipe)
    _listener(recipe)
    _likeness(recipe)


def _discriminators(recipe: VocoderRecipe) -> Discriminators:
    return Discriminators(settings_from(DiscriminatorSettings, recipe.discriminators))


def _listener(recipe: VocoderRecipe) -> Listener | None:
    wanted = recipe.losses.listener
    if not wanted:
        return None
    from sordino.training.networks.content_whisper import load_whisper

    return Listener(load_whisper(str(wanted["source"]), wanted.get("layers")))


def _likeness(recipe: VocoderRecipe) -> Likeness | None:
    if not recipe.losses.likeness:
        return None
    from sordino.training.export import load_network

    return Likeness(load_network(load_model(recipe.encoder, ENCODER_KIND)))


def _teacher(recipe: VocoderRecipe, hardware: Hardware) -> str | None:
    """The key of the teacher's features; opening it tells before all else whether it is there."""
    if not recipe.taught:
        return None
    from sordino.training.features.base import load_features

    return load_features(recipe.along.features, device=hardware.device).key


def _notes(
    recipe: VocoderRecipe, models: Models, corpus: Corpus, teacher: str | None
) -> tuple[dict[str, object], dict[str, object]]:
    # Models are known by their names and digests, wherever they lie.
    named = replace(recipe, encoder=models.encoder.name)
    facts: dict[str, object] = {"encoder": models.encoder.digest}
    if models.content is not None:
        named = replace(named, content=models.content.name)
        facts["content"] = models.content.digest
    if teacher is not None:
        facts["teacher"] = teacher
    return asdict(named), described(corpus, **facts)
