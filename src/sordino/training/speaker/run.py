"""A training run: prepare, launch, learn, validate, keep, export."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from tqdm import tqdm

from sordino.corpus.corpus import Corpus
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError
from sordino.training.augment.chain import Augmenter
from sordino.training.augment.reverberation import simulate_rooms
from sordino.training.distil.side_file import SideFile
from sordino.training.hold_out import hold_out, thinned
from sordino.training.launch import Hardware, check_batch, launch_run
from sordino.training.loop import LoopSettings, descend, kept_weights, run_loop, seed_step
from sordino.training.networks.encoder import build_encoder, dimension_of
from sordino.training.record import described, settle
from sordino.training.schedule import warm_cosine
from sordino.training.speaker.data import Batch, Collate, Crops
from sordino.training.speaker.recipe import SpeakerRecipe
from sordino.training.speaker.task import Losses, SpeakerTask
from sordino.training.speaker.teacher import (
    CropTeacher,
    in_space,
    target_space,
    teacher_vectors,
)
from sordino.training.speaker.validation import validation_error
from sordino.training.voices import make_voices
from sordino.training.waves import Noises

SAMPLE_RATE = 16000

_MOST_VALIDATION = 2000
LOG_FIELDS = ("total", "classification", "distillation", "side", "learning_rate", "eer")

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Prepared:
    """What all processes of a run need; it can be pickled.

    Attributes:
        recipe: what to do.
        folder: of the run.
        training: utterances to hear: real speech, then further voices.
        real: how many of them are real speech.
        validation: utterances of other speakers.
        targets: the teacher's vectors for the training utterances, or None.
        teacher: to be asked about each crop, or None.
        rooms: impulse responses.
        noises: recordings of noise.
        keep_every: steps between two checkpoints.
        hardware: what may be used.
        quiet: whether progress is not shown.
    """

    recipe: SpeakerRecipe
    folder: Path
    training: tuple[Utterance, ...]
    real: int
    validation: tuple[Utterance, ...]
    targets: FloatArray | None
    teacher: CropTeacher | None
    rooms: tuple[FloatArray, ...]
    noises: tuple[Utterance, ...]
    keep_every: int
    hardware: Hardware
    quiet: bool


def train_speaker(
    recipe: SpeakerRecipe,
    corpus: Corpus,
    folder: Path,
    *,
    hardware: Hardware | None = None,
    resume: bool = False,
    noises: Sequence[Path] = (),
    keep_every: int = 500,
    jobs: int = 1,
    quiet: bool = False,
) -> nn.Module:
    """Train a speaker encoder; see `sordino train speaker`.

    Args:
        recipe: what to do.
        corpus: speech of at least a few speakers.
        folder: of the run: checkpoint, log, TensorBoard curves, further voices.
        hardware: devices and precision; None for one device.
        resume: go on from the folder's checkpoint, with the same recipe and data.
        noises: recordings of noise to mix in.
        keep_every: steps between two checkpoints.
        jobs: processes that make further voices.
        quiet: show no progress.

    Returns:
        The trained encoder, in evaluation mode.

    Raises:
        UsageError: the recipe or the hardware will not do, the folder holds a run and `resume` is
            not set, or one of another recipe or other data.
        AudioError: a recording cannot be read.
        OutputError: the loss is no number any more.
    """
    hardware = hardware or Hardware()
    _check(recipe, corpus, hardware)
    begin = partial(
        settle, asdict(recipe), described(corpus, noises=len(noises)), folder, resume=resume
    )
    ready = partial(
        prepare,
        recipe,
        corpus,
        folder,
        noises=noises,
        keep_every=keep_every,
        hardware=hardware,
        jobs=jobs,
        quiet=quiet,
    )
    launch_run(hardware, folder, begin, ready, learn)
    return trained_encoder(recipe, folder)


def trained_encoder(recipe: SpeakerRecipe, folder: Path) -> nn.Module:
    """The encoder of a run's newest checkpoint, in evaluation mode."""
    encoder = build_encoder(recipe.network)
    encoder.load_state_dict(kept_weights(folder, "task", "encoder."))
    return encoder.eval()


def starting_network(recipe: SpeakerRecipe) -> nn.Module:
    """The network of the ready encoder that a recipe starts from.

    Raises:
        UsageError: there is no such encoder, or its network is not the recipe's.
    """
    from sordino.models.find import load_model
    from sordino.training.export import load_network

    bundle = load_model(recipe.start, "speaker-encoder")
    if bundle.metadata.get("network") != recipe.network:
        raise UsageError(f"recipe {recipe.name}: {recipe.start} has another network")
    return load_network(bundle)


def prepare(
    recipe: SpeakerRecipe,
    corpus: Corpus,
    folder: Path,
    *,
    noises: Sequence[Path],
    keep_every: int,
    hardware: Hardware,
    jobs: int,
    quiet: bool,
) -> Prepared:
    """Part the speakers, make further voices, ask the teacher, simulate rooms."""
    seed = recipe.data.seed
    training, validation = hold_out(corpus, recipe.data.validation, seed)
    further = make_voices(
        training.utterances, folder / "voices", recipe.voices, seed, jobs, quiet=quiet
    )
    heard = (*training.utterances, *further)
    targets, teacher = _taught(recipe, heard, folder / "teacher.npz", quiet=quiet)
    rooms = simulate_rooms(recipe.augmentation.rooms, SAMPLE_RATE, seed)
    return Prepared(
        recipe=recipe,
        folder=folder,
        training=heard,
        real=len(training),
        validation=tuple(thinned(validation.utterances, _MOST_VALIDATION, seed)),
        targets=targets,
        teacher=teacher,
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
    task = SpeakerTask(recipe, crops.classes, crops.target_dimension, _side(prepared, crops))
    if recipe.start:
        task.encoder.load_state_dict(starting_network(recipe).state_dict())
    if fabric.world_size > 1 and fabric.device.type == "cuda":
        task = nn.SyncBatchNorm.convert_sync_batchnorm(task)  # type: ignore[no-untyped-call]
    wrapped, optimizer = fabric.setup(
        task,
        torch.optim.AdamW(
            task.parameters(), lr=wanted.learning_rate, weight_decay=wanted.weight_decay
        ),
    )

    def step(batch: Batch, number: int) -> dict[str, float | Tensor]:
        rate = wanted.learning_rate * warm_cosine(
            number - 1, warmup=wanted.warmup, steps=wanted.steps
        )
        wrapped.train()
        losses: Losses = wrapped(*batch)
        descend(fabric, wrapped, optimizer, losses.total, rate=rate)
        return {**losses._asdict(), "learning_rate": rate}

    def after(number: int) -> dict[str, float]:
        if number % recipe.validate_every and number != wanted.steps:
            return {}
        error = validation_error(task.encoder, prepared.validation, SAMPLE_RATE, fabric.device)
        return {} if error is None else {"eer": error}

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
        collate=Collate(prepared.teacher, SAMPLE_RATE),
        after=after,
    )


def _check(recipe: SpeakerRecipe, corpus: Corpus, hardware: Hardware) -> None:
    """Refuse at once what would fail after hours of preparation."""
    check_batch(recipe.optimisation.batch, hardware, least=2)
    hold_out(corpus, recipe.data.validation, recipe.data.seed)
    if recipe.side.file:
        SideFile.read(Path(recipe.side.file))
    if recipe.start:
        starting_network(recipe)
    else:
        build_encoder(recipe.network)


def _taught(
    recipe: SpeakerRecipe, heard: Sequence[Utterance], cache: Path, *, quiet: bool
) -> tuple[FloatArray | None, CropTeacher | None]:
    """The targets of all utterances, or who is to be asked about each crop."""
    wanted = recipe.teacher
    if not wanted.encoder:
        return None, None
    from sordino.speaker.encoders import load_encoder

    with tqdm(total=len(heard), desc="teacher", unit="utt", disable=quiet) as bar:
        vectors = teacher_vectors(load_encoder(wanted.encoder), heard, cache=cache, tick=bar.update)
    space = target_space(
        vectors,
        [utterance.speaker for utterance in heard],
        dimension=dimension_of(build_encoder(recipe.network)),
        shrinkage=wanted.shrinkage,
    )
    if wanted.each_crop:
        return None, CropTeacher(wanted.encoder, space)
    return in_space(space, vectors), None


def _side(prepared: Prepared, crops: Crops) -> Tensor | None:
    """What a classifier says of the speakers, in the order of their classes; at one speed only."""
    wanted = prepared.recipe.side
    if not wanted.file:
        return None
    # A voice at another speed may well be taken for another class.
    said = SideFile.read(Path(wanted.file))
    names = sorted({utterance.speaker for utterance in prepared.training})
    rows = torch.full((crops.classes, len(said.classes)), torch.nan)
    rows[: len(names)] = torch.from_numpy(said.of_speakers(names))
    if not rows.isfinite().any():
        raise UsageError(f"{wanted.file}: says nothing of any of the training speakers")
    return rows


def _crops(prepared: Prepared) -> Crops:
    recipe = prepared.recipe
    crops = Crops(
        prepared.training,
        sample_rate=SAMPLE_RATE,
        crop_seconds=recipe.data.crop_seconds,
        speeds=recipe.data.speeds,
        batch=recipe.optimisation.batch,
        seed=recipe.data.seed,
        targets=prepared.targets,
        perturbation=recipe.perturbation,
        teacher=prepared.teacher,
        real=prepared.real,
        further_share=recipe.voices.share,
    )
    noises = Noises(prepared.noises) if prepared.noises else None
    crops.augmenter = Augmenter(
        recipe.augmentation, SAMPLE_RATE, prepared.rooms, crops.other_speech, noises
    )
    return crops
