"""A training run: prepare, launch, learn, validate, keep, export."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.utils.data import DataLoader
from tqdm import tqdm

from sordino.corpus.corpus import Corpus
from sordino.corpus.utterance import Utterance
from sordino.errors import OutputError, UsageError
from sordino.training.augment.chain import Augmenter
from sordino.training.augment.reverberation import simulate_rooms
from sordino.training.launch import Hardware, is_first, launch
from sordino.training.networks.encoder import build_encoder, dimension_of
from sordino.training.schedule import warm_cosine
from sordino.training.speaker.data import Batch, Crops, StepSampler, collate, read_crop
from sordino.training.speaker.recipe import SpeakerRecipe
from sordino.training.speaker.task import Losses, SpeakerTask
from sordino.training.speaker.teacher import teacher_targets
from sordino.training.speaker.validation import hold_out, thinned, validation_error
from sordino.training.voices import make_voices

if TYPE_CHECKING:
    from lightning_fabric import Fabric

SAMPLE_RATE = 16000
CHECKPOINT = "checkpoint.ckpt"
LOG = "log.csv"
RECIPE = "recipe.json"
LOG_FIELDS = ("step", "total", "classification", "distillation", "learning_rate", "eer")

_MOST_VALIDATION = 2000
_LONGEST_GRADIENT = 5.0

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Prepared:
    """What all processes of a run need; it can be pickled.

    Attributes:
        recipe: what to do.
        folder: of the run.
        training: utterances to hear, further voices among them.
        validation: utterances of other speakers.
        targets: the teacher's vectors for the training utterances, or None.
        rooms: impulse responses.
        noises: recordings of noise.
        keep_every: steps between two checkpoints.
        workers: processes that prepare crops, for each device.
        quiet: whether progress is not shown.
    """

    recipe: SpeakerRecipe
    folder: Path
    training: tuple[Utterance, ...]
    validation: tuple[Utterance, ...]
    targets: FloatArray | None
    rooms: tuple[FloatArray, ...]
    noises: tuple[Utterance, ...]
    keep_every: int
    workers: int
    quiet: bool


def train_speaker(
    recipe: SpeakerRecipe,
    corpus: Corpus,
    folder: Path,
    *,
    hardware: Hardware = Hardware(),
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
        hardware: devices and precision.
        resume: go on from the folder's checkpoint, with the same recipe and data.
        noises: recordings of noise to mix in.
        keep_every: steps between two checkpoints.
        jobs: processes that make further voices.
        quiet: show no progress.

    Returns:
        The trained encoder, in evaluation mode.

    Raises:
        UsageError: the folder holds a run and `resume` is not set, or one of another recipe.
        OutputError: the loss is no number any more.
    """
    _settle_folder(recipe, folder, resume=resume)
    prepared = prepare(
        recipe,
        corpus,
        folder,
        noises=noises,
        keep_every=keep_every,
        workers=hardware.workers,
        jobs=jobs,
        quiet=quiet,
    )
    launch(hardware, folder / "curves", learn, prepared)
    return trained_encoder(recipe, folder)


def trained_encoder(recipe: SpeakerRecipe, folder: Path) -> nn.Module:
    """The encoder of a run's newest checkpoint, in evaluation mode."""
    state = torch.load(folder / CHECKPOINT, map_location="cpu", weights_only=True)
    prefix = "encoder."
    weights = {
        name[len(prefix) :]: value
        for name, value in state["task"].items()
        if name.startswith(prefix)
    }
    encoder = build_encoder(recipe.network)
    encoder.load_state_dict(weights)
    return encoder.eval()


def prepare(
    recipe: SpeakerRecipe,
    corpus: Corpus,
    folder: Path,
    *,
    noises: Sequence[Path],
    keep_every: int,
    workers: int,
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
    targets = None
    if recipe.teacher.encoder:
        from sordino.speaker.encoders import load_encoder

        with tqdm(total=len(heard), desc="teacher", unit="utt", disable=quiet) as bar:
            targets = teacher_targets(
                load_encoder(recipe.teacher.encoder),
                heard,
                dimension=dimension_of(build_encoder(recipe.network)),
                shrinkage=recipe.teacher.shrinkage,
                cache=folder / "teacher.npz",
                tick=bar.update,
            )
    rooms = simulate_rooms(recipe.augmentation.rooms, SAMPLE_RATE, seed)
    return Prepared(
        recipe=recipe,
        folder=folder,
        training=heard,
        validation=tuple(thinned(validation.utterances, _MOST_VALIDATION, seed)),
        targets=targets,
        rooms=tuple(rooms),
        noises=tuple(Utterance(str(noise), noise, "noise") for noise in noises),
        keep_every=keep_every,
        workers=workers,
        quiet=quiet,
    )


def learn(fabric: Fabric, prepared: Prepared) -> None:
    """The loop, in each process."""
    recipe, wanted = prepared.recipe, prepared.recipe.optimisation
    crops = _crops(prepared)
    fabric.seed_everything(recipe.data.seed, verbose=False)
    task = SpeakerTask(
        recipe, crops.classes, 0 if prepared.targets is None else prepared.targets.shape[1]
    )
    if fabric.world_size > 1 and fabric.device.type == "cuda":
        task = nn.SyncBatchNorm.convert_sync_batchnorm(task)
    optimizer = torch.optim.AdamW(
        task.parameters(), lr=wanted.learning_rate, weight_decay=wanted.weight_decay
    )
    wrapped, optimizer = fabric.setup(task, optimizer)
    checkpoint = prepared.folder / CHECKPOINT
    state: dict[str, Any] = {"task": wrapped, "optimizer": optimizer, "step": 0}
    if checkpoint.exists():
        fabric.load(checkpoint, state)
    loader = DataLoader(
        crops,
        batch_sampler=StepSampler(
            state["step"],
            wanted.steps,
            wanted.batch,
            rank=fabric.global_rank,
            processes=fabric.world_size,
        ),
        num_workers=prepared.workers,
        collate_fn=collate,
    )
    first = is_first(fabric)
    with Log(prepared.folder / LOG, state["step"], active=first) as log:
        bar = tqdm(
            total=wanted.steps,
            initial=state["step"],
            desc=recipe.name,
            unit="step",
            disable=prepared.quiet or not first,
        )
        for batch in _on_device(loader, fabric):
            rate = wanted.learning_rate * warm_cosine(
                state["step"], warmup=wanted.warmup, steps=wanted.steps
            )
            losses = _update(fabric, wrapped, optimizer, batch, rate)
            state["step"] += 1
            row = _row(fabric, state["step"], losses, rate)
            last = state["step"] == wanted.steps
            if first and (state["step"] % recipe.validate_every == 0 or last):
                error = validation_error(
                    task.encoder, prepared.validation, SAMPLE_RATE, fabric.device
                )
                if error is not None:
                    row["eer"] = error
            if state["step"] % prepared.keep_every == 0 or last:
                _keep(fabric, checkpoint, state)
            log.write(row)
            fabric.log_dict(
                {name: value for name, value in row.items() if name != "step"}, step=state["step"]
            )
            bar.set_postfix({"loss": f"{row['total']:.3f}"}, refresh=False)
            bar.update()
        bar.close()


class Log:
    """A CSV file with a line for each step; on resuming, later lines than the checkpoint's go.

    Args:
        path: of the file.
        step: what has been done.
        active: whether this process writes.
    """

    def __init__(self, path: Path, step: int, *, active: bool) -> None:
        self._active = active
        if not active:
            return
        kept = []
        if step and path.exists():
            with path.open(newline="") as file:
                kept = [row for row in csv.DictReader(file) if int(row["step"]) <= step]
        self._file = path.open("w", newline="")
        self._writer = csv.DictWriter(self._file, LOG_FIELDS)
        self._writer.writeheader()
        self._writer.writerows(kept)

    def write(self, row: dict[str, float]) -> None:
        """Add a step."""
        if self._active:
            self._writer.writerow(row)
            self._file.flush()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        if self._active:
            self._file.close()


def _settle_folder(recipe: SpeakerRecipe, folder: Path, *, resume: bool) -> None:
    described = json.loads(json.dumps(asdict(recipe)))
    written = folder / RECIPE
    if written.exists():
        if not resume:
            raise UsageError(f"{folder} holds a run; go on with --resume or name another folder")
        if json.loads(written.read_text()) != described:
            raise UsageError(f"{folder} holds a run of another recipe; name another folder")
        return
    if resume:
        raise UsageError(f"{folder} holds no run that could be resumed")
    folder.mkdir(parents=True, exist_ok=True)
    written.write_text(json.dumps(described, indent=2) + "\n")


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
    )
    noises = Noises(prepared.noises) if prepared.noises else None
    crops.augmenter = Augmenter(
        recipe.augmentation, SAMPLE_RATE, prepared.rooms, crops.other_speech, noises
    )
    return crops


class Noises:
    """Parts of recordings of noise."""

    def __init__(self, recordings: Sequence[Utterance]) -> None:
        self._recordings = recordings

    def __call__(self, length: int, generator: np.random.Generator) -> FloatArray:
        """A part of any of them, said again where it is too short."""
        chosen = self._recordings[int(generator.integers(len(self._recordings)))]
        return np.resize(read_crop(chosen, SAMPLE_RATE, length, generator.random()), length)


def _on_device(loader: DataLoader[Any], fabric: Fabric) -> Iterator[Batch]:
    for batch in loader:
        yield Batch(
            batch.waves.to(fabric.device),
            batch.speakers.to(fabric.device),
            batch.targets.to(fabric.device),
        )


def _update(
    fabric: Fabric, task: nn.Module, optimizer: torch.optim.Optimizer, batch: Batch, rate: float
) -> Losses:
    for group in optimizer.param_groups:
        group["lr"] = rate
    task.train()
    losses: Losses = task(batch.waves, batch.speakers, batch.targets)
    if not torch.isfinite(losses.total):
        raise OutputError("the loss is no number any more; lower optimisation.learning_rate")
    optimizer.zero_grad()
    fabric.backward(losses.total)
    fabric.clip_gradients(task, optimizer, max_norm=_LONGEST_GRADIENT)
    optimizer.step()
    return losses


def _row(fabric: Fabric, step: int, losses: Losses, rate: float) -> dict[str, float]:
    means = fabric.all_reduce(
        torch.stack([losses.total, losses.classification, losses.distillation]).detach()
    )
    names = ("total", "classification", "distillation")
    values = dict(zip(names, means.tolist(), strict=True))
    return {"step": step, **values, "learning_rate": rate}


def _keep(fabric: Fabric, checkpoint: Path, state: dict[str, Any]) -> None:
    part = checkpoint.with_suffix(".part")
    fabric.save(part, state)
    fabric.barrier()
    if is_first(fabric):
        part.replace(checkpoint)
    fabric.barrier()
