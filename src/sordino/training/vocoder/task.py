"""A generator against its discriminators: what happens at a step."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.nn.functional import l1_loss

from sordino.training.loop import descend
from sordino.training.networks.discriminators import Discriminators, Judgement
from sordino.training.networks.generators import Generator
from sordino.training.networks.generators.base import HOP
from sordino.training.networks.generators.two_stage import TwoStage
from sordino.training.networks.spectra import LogMel, MelSettings
from sordino.training.schedule import warm_cosine
from sordino.training.vocoder.data import Batch
from sordino.training.vocoder.network import Bottlenecked
from sordino.training.vocoder.recipe import OptimisationSettings, VocoderRecipe
from sordino.training.vocoder_losses import (
    MelLoss,
    SpectralLoss,
    adversarial_loss,
    discriminator_loss,
    feature_loss,
)

Further = Callable[[Batch, Tensor], Mapping[str, Tensor]]
"""A further loss: from a batch and what the generator says, weighted losses with their names."""

GENERATOR = "generator."
"""What the names of a generator's weights begin with in a checkpoint."""

LOSSES = ("total", "mel", "spectral", "acoustic", "adversarial", "features", "discriminator")


class Said(NamedTuple):
    """What a generator says of a batch.

    Attributes:
        wave: shape (batch, samples).
        acoustic: how far the frames inside a generator of two stages are from the natural ones,
            without dimensions; 0 for others.
    """

    wave: Tensor
    acoustic: Tensor


class Speaking(nn.Module):
    """A generator as it learns: one of two stages is told the natural spectrogram in between.

    Args:
        generator: to be trained.
        joint: whether the second stage is told what the first predicts, as it is in use.

    Shapes:
        a `Batch` to what is `Said`.
    """

    def __init__(self, generator: Generator, *, joint: bool) -> None:
        super().__init__()
        self.generator = generator
        self._joint = joint
        stages = stages_of(generator)
        self._natural = (
            None if stages is None else LogMel(MelSettings(bands=stages.settings.bands, hop=HOP))
        )

    def forward(self, batch: Batch) -> Said:
        """Speak a batch."""
        content, f0, speaker, harmonic, noise = conditions_of(self.generator, batch)
        assert content is not None
        if self._natural is None:
            wave: Tensor = self.generator(content, f0, speaker, harmonic, noise)
            return Said(wave, wave.new_zeros(()))
        natural = self._natural(batch.wave).transpose(1, 2)
        stages = stages_of(self.generator)
        assert stages is not None
        if isinstance(self.generator, Bottlenecked):
            content = self.generator.narrow(content)
        predicted = stages.acoustic(content, f0, speaker)
        wave = stages.vocode(predicted if self._joint else natural, f0, speaker)
        return Said(wave, l1_loss(predicted, natural))


class VocoderTask:
    """Generator and discriminators with their optimizers, in one process of a run.

    Args:
        fabric: of this process.
        recipe: weights and rates.
        generator: with fresh weights.
        discriminators: the same; None where the recipe has none at any step.
        utterances: in a pass over all.
        further: losses beside those of the recipe; what they give is added to the total.

    Attributes:
        plain: the generator as it was given; it shares the weights that are trained.
        average: the running mean of its weights, or None.
    """

    def __init__(
        self,
        fabric: Fabric,
        recipe: VocoderRecipe,
        generator: Generator,
        discriminators: Discriminators | None,
        utterances: int,
        further: Sequence[Further] = (),
    ) -> None:
        self._fabric = fabric
        self._recipe = recipe
        self._utterances = utterances
        self._further = tuple(further)
        self.plain = generator
        self._speaking, self._optimizer = fabric.setup(
            Speaking(generator, joint=recipe.losses.joint),
            _optimizer(recipe.optimisation, generator),
        )
        self.average = _frozen_copy(generator) if recipe.optimisation.average else None
        self._judges = discriminators
        if discriminators is not None:
            self._discriminators, self._opponent = fabric.setup(
                discriminators, _optimizer(recipe.optimisation, discriminators)
            )
        self._mel = MelLoss().to(fabric.device)
        self._spectral = SpectralLoss().to(fabric.device)

    @property
    def fields(self) -> tuple[str, ...]:
        """What a step gives."""
        return (*LOSSES, "learning_rate")

    @property
    def best(self) -> Generator:
        """What is validated and exported."""
        return self.plain if self.average is None else self.average

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        parts: dict[str, Any] = {"speaking": self._speaking, "optimizer": self._optimizer}
        if self._judges is not None:
            parts |= {"discriminators": self._discriminators, "opponent": self._opponent}
        if self.average is not None:
            parts["average"] = self.average
        return parts

    def step(self, batch: Batch, number: int) -> dict[str, float | Tensor]:
        """Update the discriminators, where there are any yet, and the generator.

        Args:
            batch: on the device.
            number: of the step, from 1.

        Raises:
            OutputError: a loss is no number any more.
        """
        wanted = self._recipe.optimisation
        rate = learning_rate(wanted, number, self._utterances)
        self._speaking.train()
        made, acoustic = self._speaking(batch)
        losses = dict.fromkeys(LOSSES, made.new_zeros(())) | {"acoustic": acoustic}
        judges = self._judges
        if judges is not None and number >= self._recipe.losses.adversarial_from:
            losses["discriminator"] = self._judge(batch, made, rate)
            with unlearning(judges), self._fabric.autocast():
                losses |= self._persuade(judges, batch, made)
        losses |= self._compare(batch, made)
        added = self._weighted(losses)
        for further in self._further:
            more = further(batch, made)
            losses |= more
            added = added + sum(more.values(), start=made.new_zeros(()))
        losses["total"] = added
        descend(
            self._fabric,
            self._speaking,
            self._optimizer,
            added,
            rate=rate,
            longest=wanted.longest_gradient,
        )
        self._remember(number)
        return {**{name: loss.detach() for name, loss in losses.items()}, "learning_rate": rate}

    def _judge(self, batch: Batch, made: Tensor, rate: float) -> Tensor:
        self._discriminators.train()
        both = self._discriminators(torch.cat([batch.wave, made.detach()])).scores
        halves = [score.chunk(2) for score in both]
        loss = discriminator_loss([half[0] for half in halves], [half[1] for half in halves])
        descend(
            self._fabric,
            self._discriminators,
            self._opponent,
            loss,
            rate=rate,
            longest=self._recipe.optimisation.longest_gradient,
        )
        return loss

    def _persuade(self, judges: Discriminators, batch: Batch, made: Tensor) -> dict[str, Tensor]:
        with torch.no_grad():
            natural: Judgement = judges(batch.wave)
        generated: Judgement = judges(made)
        return {
            "adversarial": adversarial_loss(generated.scores),
            "features": feature_loss(natural.features, generated.features),
        }

    def _compare(self, batch: Batch, made: Tensor) -> dict[str, Tensor]:
        losses = {"mel": self._mel(made, batch.wave)}
        if self._recipe.losses.spectral:
            losses["spectral"] = self._spectral(made, batch.wave)
        return losses

    def _weighted(self, losses: Mapping[str, Tensor]) -> Tensor:
        weights = self._recipe.losses
        names = ("mel", "spectral", "acoustic", "adversarial", "features")
        return torch.stack([getattr(weights, name) * losses[name] for name in names]).sum()

    def _remember(self, number: int) -> None:
        if self.average is None:
            return
        # At first the past is short, and the fresh weights in it are nothing to keep.
        keep = min(self._recipe.optimisation.average, number / (number + 9))
        with torch.no_grad():
            pairs = zip(self.average.parameters(), self.plain.parameters(), strict=True)
            for mean, weight in pairs:
                mean.lerp_(weight, 1 - keep)
            values = zip(self.average.buffers(), self.plain.buffers(), strict=True)
            for kept, value in values:
                kept.copy_(value)


def stages_of(generator: Generator) -> TwoStage | None:
    """The generator of two stages that a generator is, or has behind its bottleneck."""
    inner = generator.inner if isinstance(generator, Bottlenecked) else generator
    return inner if isinstance(inner, TwoStage) else None


def conditions_of(generator: Generator, batch: Batch) -> tuple[Tensor | None, ...]:
    """What a generator takes of a batch, in the order of its arguments."""
    return tuple(
        getattr(batch, name) if name in generator.inputs else None
        for name in ("content", "f0", "speaker", "harmonic", "noise")
    )


def learning_rate(wanted: OptimisationSettings, number: int, utterances: int) -> float:
    """The rate at a step.

    Args:
        wanted: how it goes.
        number: of the step, from 1.
        utterances: in a pass over all.

    Example:
        >>> wanted = OptimisationSettings(batch=5, learning_rate=1.0, decay=0.5)
        >>> [learning_rate(wanted, number, 10) for number in (1, 2, 3, 5)]
        [1.0, 1.0, 0.5, 0.25]
    """
    if wanted.schedule == "cosine":
        share = warm_cosine(number - 1, warmup=wanted.warmup, steps=wanted.steps)
    else:
        share = wanted.decay ** ((number - 1) * wanted.batch // utterances)
    return wanted.learning_rate * share


@contextmanager
def unlearning(network: nn.Module) -> Iterator[None]:
    """A network whose weights get no gradient for a while."""
    network.requires_grad_(False)
    try:
        yield
    finally:
        network.requires_grad_(True)


def _optimizer(wanted: OptimisationSettings, network: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(
        network.parameters(),
        lr=wanted.learning_rate,
        betas=wanted.betas,
        weight_decay=wanted.weight_decay,
    )


def _frozen_copy(generator: Generator) -> Generator:
    return copy.deepcopy(generator).requires_grad_(False).eval()
