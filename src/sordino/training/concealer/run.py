"""A training run of a concealer: prepare, learn, validate, export."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor

from sordino.conceal.erasure import Erasure
from sordino.errors import UsageError
from sordino.evaluate.attributes.table import AttributeTable
from sordino.models.bundle import Bundle
from sordino.speaker.vectors import Vectors
from sordino.training.concealer.adversaries import Adversaries, Seen
from sordino.training.concealer.data import Labelled, Rows, labelled, parted
from sordino.training.concealer.export import Trained, write_trained
from sordino.training.concealer.losses import UNKNOWN, guessing_loss
from sordino.training.concealer.recipe import ConcealerRecipe
from sordino.training.concealer.start import (
    FloatArray,
    erasure_of,
    prepared_vectors,
    starting_networks,
)
from sordino.training.concealer.task import Batch, ConcealerNetwork, Losses, losses_of
from sordino.training.concealer.validation import MEASURES, measure
from sordino.training.launch import Hardware, launch_run
from sordino.training.loop import LoopSettings, descend, kept_weights, run_loop, seed_step
from sordino.training.networks.concealer import AutoEncoder, Gated
from sordino.training.networks.latent_noise import ClippedNoise
from sordino.training.record import newest, settle

VALIDATED = tuple(f"valid_{name}" for name in MEASURES)
LOG_FIELDS = (*Losses._fields, "guessing", "clip", *VALIDATED)


@dataclass(frozen=True)
class Prepared:
    """What a run needs.

    Attributes:
        recipe: what to do.
        folder: of the run.
        training: vectors to learn from.
        validation: those of other speakers.
        erasure: applied before the encoder, or None.
        networks: before the first step.
        keep_every: steps between two checkpoints.
        hardware: what may be used.
        quiet: whether progress is not shown.
    """

    recipe: ConcealerRecipe
    folder: Path
    training: Labelled
    validation: Labelled
    erasure: Erasure | None
    networks: AutoEncoder | Gated
    keep_every: int
    hardware: Hardware
    quiet: bool

    def inputs(self, data: Labelled) -> FloatArray:
        """Vectors as the encoder gets them."""
        return prepared_vectors(
            data, unit_length=self.recipe.data.unit_length, erasure=self.erasure
        )


def train_concealer(
    recipe: ConcealerRecipe,
    vectors: Vectors,
    table: AttributeTable,
    attributes: Sequence[str],
    folder: Path,
    *,
    hardware: Hardware | None = None,
    resume: bool = False,
    keep_every: int = 1000,
    licence: str = "not stated",
    quiet: bool = False,
) -> Bundle:
    """Train a concealer; see `sordino train concealer`.

    Args:
        recipe: what to do.
        vectors: of one speaker encoder, with its digest and with speakers.
        table: what is known of the speakers, or of the vectors.
        attributes: columns of it that are concealed.
        folder: of the run: checkpoint, log, TensorBoard curves.
        hardware: the device; None for any. A concealer is trained in one process.
        resume: go on from the folder's checkpoint, with the same recipe and data.
        keep_every: steps between two checkpoints.
        licence: of the weights; it depends on the speech.
        quiet: show no progress.

    Returns:
        The bundle, which is in the run's folder under the recipe's name.

    Raises:
        UsageError: recipe, vectors and table do not fit each other, the folder holds a run and
            `resume` is not set, or one of another recipe or other data.
        OutputError: the loss is no number any more, or the bundle cannot be written.

    Example:
        >>> train_concealer(recipe, vectors, table, ["sex"], Path("runs/mine"))
        ... # doctest: +SKIP
    """
    # Rows of a table need no processes that prepare them.
    hardware = replace(hardware or Hardware(), workers=0)
    if hardware.processes > 1:
        raise UsageError("a concealer is trained in one process; use one device")
    if not vectors.digest:
        raise UsageError("the vectors do not say of which encoder they are; use sordino embed")
    data = labelled(vectors, table, attributes)
    prepared = prepare(recipe, data, folder, keep_every=keep_every, hardware=hardware, quiet=quiet)
    facts = {**data.facts(), "encoder": vectors.digest}
    begin = partial(settle, asdict(recipe), facts, folder, resume=resume)
    if recipe.optimisation.steps:
        launch_run(hardware, folder, begin, lambda: prepared, learn)
    else:
        begin()
    return write_trained(
        trained(prepared),
        folder / recipe.name,
        encoder=(vectors.encoder, vectors.digest),
        figures=_figures(prepared),
        licence=licence,
    )


def prepare(
    recipe: ConcealerRecipe,
    data: Labelled,
    folder: Path,
    *,
    keep_every: int,
    hardware: Hardware,
    quiet: bool,
) -> Prepared:
    """Part the speakers, and compute what is not learned."""
    training, validation = parted(data, recipe.data.validation, recipe.data.seed)
    erasure = None
    if recipe.start.erasure:
        erasure = erasure_of(training, unit_length=recipe.data.unit_length)
    inputs = prepared_vectors(training, unit_length=recipe.data.unit_length, erasure=erasure)
    seed_step(recipe.data.seed, 0, 0)
    return Prepared(
        recipe=recipe,
        folder=folder,
        training=training,
        validation=validation,
        erasure=erasure,
        networks=starting_networks(recipe, inputs, training),
        keep_every=keep_every,
        hardware=hardware,
        quiet=quiet,
    )


def learn(fabric: Fabric, prepared: Prepared) -> None:
    """The loop."""
    recipe, wanted = prepared.recipe, prepared.recipe.optimisation
    session = _Session(fabric, prepared)

    def after(number: int) -> dict[str, float]:
        if number % recipe.validate_every and number != wanted.steps:
            return {}
        return validated(session.network, prepared, fabric.device)

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
        session.state,
        Rows(prepared.training, recipe.data.draw, recipe.data.seed),
        session.step,
        after=after,
    )


class _Session:
    """Networks, adversaries and their optimizers on a device; learns step by step."""

    def __init__(self, fabric: Fabric, prepared: Prepared) -> None:
        recipe, wanted = prepared.recipe, prepared.recipe.optimisation
        self._fabric, self._recipe = fabric, recipe
        data = prepared.training
        self._data = Batch(
            *(
                fabric.to_device(torch.from_numpy(array))
                for array in (
                    prepared.inputs(data).astype(np.float32),
                    data.vectors.astype(np.float32),
                    data.labels,
                    data.speaker_numbers,
                )
            )
        )
        # In the order of their first weights, before anything else is drawn.
        seed_step(recipe.data.seed, 1, 0)
        self.network = network_of(prepared)
        self._freeze_at = max(1, round(recipe.noise.frozen_at * wanted.steps))
        self._wrapped, self._optimizer = fabric.setup(
            self.network,
            torch.optim.AdamW(
                self.network.parameters(),
                lr=wanted.learning_rate,
                weight_decay=wanted.weight_decay,
            ),
        )
        self.state = {"network": self._wrapped, "optimizer": self._optimizer}
        self._set_up_adversaries(data)

    def _set_up_adversaries(self, data: Labelled) -> None:
        wanted = self._recipe.adversary
        dimension = data.vectors.shape[1]
        sizes = {"latent": self._recipe.network.get("latent", 64), "vector": dimension}
        self._adversaries = Adversaries(wanted, sizes, class_weights(data))
        if not len(self._adversaries):
            return
        self._forgetful = torch.optim.AdamW(
            self._adversaries.parameters(),
            lr=wanted.learning_rate,
            weight_decay=wanted.weight_decay,
        )
        self._judges, self._judging = self._fabric.setup(self._adversaries, self._forgetful)
        self.state |= {"adversaries": self._judges, "judging": self._judging}

    def step(self, rows: Tensor, number: int) -> dict[str, float | Tensor]:
        """One update of encoder and decoder, then of the adversaries."""
        self._wrapped.train()
        batch = self._batch(rows)
        seen: Seen = self._wrapped(batch.vectors)
        losses = losses_of(self._recipe, self.network, self._adversaries, seen, batch)
        descend(self._fabric, self._wrapped, self._optimizer, losses.total, longest=math.inf)
        guessing = self._guess(seen.detached(), batch.labels, number)
        if number == self._freeze_at:
            self.network.noise.freeze()
        told: dict[str, float | Tensor] = {**losses._asdict(), "guessing": guessing}
        if isinstance(self.network.noise, ClippedNoise):
            told["clip"] = self.network.noise.clip.clone()
        return told

    def _batch(self, rows: Tensor) -> Batch:
        return Batch(*(tensor[rows] for tensor in self._data))

    def _guess(self, seen: Seen, labels: Tensor, number: int) -> Tensor:
        """Updates of the adversaries; gives their first loss."""
        if not len(self._adversaries):
            return seen.vector.new_zeros(())
        wanted = self._recipe.adversary
        first: Tensor = self._judges(seen, labels)
        descend(self._fabric, self._judges, self._judging, first, longest=math.inf)
        for _ in range(wanted.updates - 1):
            again = self._judges(*self._more())
            descend(self._fabric, self._judges, self._judging, again, longest=math.inf)
        for member in self._adversaries.due(number):
            member.forget()
            for weight in member.parameters():
                self._forgetful.state.pop(weight, None)
            for _ in range(wanted.fresh_updates):
                own = member.loss(*self._more(), guessing_loss)
                descend(self._fabric, self._judges, self._judging, own, longest=math.inf)
        return first

    def _more(self) -> tuple[Seen, Tensor]:
        """Further protected vectors, by chance."""
        device = self._data.labels.device
        rows = torch.randint(len(self._data.labels), (self._recipe.optimisation.batch,))
        batch = self._batch(rows.to(device))
        with torch.no_grad():
            return self._wrapped(batch.vectors), batch.labels


def network_of(prepared: Prepared) -> ConcealerNetwork:
    """Encoder, noise and decoder before the first step."""
    training = prepared.training
    speakers = int(np.unique(training.speakers).size)
    network = ConcealerNetwork(
        prepared.recipe, prepared.networks, training.vectors.shape[1], speakers
    )
    if not prepared.recipe.optimisation.steps and isinstance(network.noise, ClippedNoise):
        with torch.inference_mode():
            inputs = torch.from_numpy(prepared.inputs(training)).float()
            network.noise.settle(network.encoder(inputs))
    return network


def trained(prepared: Prepared) -> Trained:
    """The networks of a run's newest checkpoint, or of its start where nothing is learned."""
    network = network_of(prepared)
    if prepared.recipe.optimisation.steps:
        network.load_state_dict(kept_weights(prepared.folder, "network"))
    return Trained(
        recipe=prepared.recipe,
        network=network.eval(),
        erasure=prepared.erasure,
        training=prepared.training,
        validation=prepared.validation,
    )


def class_weights(data: Labelled) -> tuple[Tensor, ...]:
    """For each attribute what its values count, so that all count the same: 1 where balanced."""
    weights = []
    for column, attribute in zip(data.labels.T, data.attributes, strict=True):
        counts = np.bincount(column[column != UNKNOWN], minlength=len(attribute.values))
        weights.append(torch.from_numpy(counts.sum() / (counts.size * counts)).float())
    return tuple(weights)


def validated(
    network: ConcealerNetwork, prepared: Prepared, device: torch.device
) -> dict[str, float]:
    """Figures of the concealer without noise at release; see `validation.measure`."""
    sides = (prepared.training, prepared.validation)
    mode = network.training
    network.eval()
    with torch.inference_mode():
        protected = [
            network(torch.from_numpy(prepared.inputs(side)).float().to(device))
            .vector.double()
            .cpu()
            .numpy()
            for side in sides
        ]
    network.train(mode)
    found = measure(protected[0], sides[0], protected[1], sides[1])
    return {f"valid_{name}": value for name, value in found.items()}


def _figures(prepared: Prepared) -> dict[str, float]:
    if prepared.recipe.optimisation.steps:
        return newest(prepared.folder, VALIDATED)
    return validated(network_of(prepared), prepared, torch.device("cpu"))
