"""A generator against its discriminators: what happens at a step."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.nn.functional import l1_loss

from sordino.training.loop import descend
from sordino.training.networks.content import ContentNetwork
from sordino.training.networks.discriminators import Discriminators, Judgement
from sordino.training.networks.generators import Generator
from sordino.training.networks.generators.base import HOP, INPUTS
from sordino.training.networks.generators.two_stage import TwoStage
from sordino.training.networks.spectra import LogMel, MelSettings
from sordino.training.schedule import warm_cosine
from sordino.training.vocoder.along import Along, Heard
from sordino.training.vocoder.data import Batch
from sordino.training.vocoder.likeness import Likeness
from sordino.training.vocoder.listener import Listener
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

GENERATOR, CONTENT = "generator.", "along.content."
"""What the names of their weights begin with in a checkpoint."""

AVERAGE_CONTENT = "average_content"
"""Where a checkpoint has the running mean of a content network's weights."""

ALONG_LOSSES = ("teacher", "adversary", "recognised")
"""What is told of hearing; see `along.Heard`."""

Network = TypeVar("Network", bound=nn.Module)

LOSSES = (
    "total",
    "mel",
    "spectral",
    "words",
    "likeness",
    "acoustic",
    "adversarial",
    "features",
    "discriminator",
)


class Said(NamedTuple):
    """What a generator says of a batch.

    Attributes:
        wave: shape (batch, samples).
        acoustic: how far the frames inside a generator of two stages are from the natural ones,
            without dimensions; 0 for others.
        heard: what came of hearing the batch, where a content network learns along; its code is
            what the generator was told.
        others: the first items in other speakers' voices, shape (items, samples); None where that
            is not asked for.
    """

    wave: Tensor
    acoustic: Tensor
    heard: Heard | None = None
    others: Tensor | None = None


class Speaking(nn.Module):
    """A generator as it learns: one of two stages is told the natural spectrogram in between.

    Args:
        generator: to be trained.
        joint: whether the second stage is told what the first predicts, as it is in use.
        along: hears what the generator is to say; None where the batch holds its content.
        share: of a batch that other speakers say, too.

    Shapes:
        a `Batch` to what is `Said`.
    """

    def __init__(
        self,
        generator: Generator,
        *,
        joint: bool,
        along: Along | None = None,
        share: float = 0.0,
    ) -> None:
        super().__init__()
        self._share = share
        self.generator = generator
        self.along = along
        self._joint = joint
        stages = stages_of(generator)
        self._natural = (
            None if stages is None else LogMel(MelSettings(bands=stages.settings.bands, hop=HOP))
        )

    def forward(self, batch: Batch) -> Said:
        """Speak a batch."""
        heard: Heard | None = None
        if self.along is not None:
            heard = self.along(batch)
            batch = batch._replace(content=heard.code)
        said = self._speak(batch)._replace(heard=heard)
        if not self._share:
            return said
        some = batch.as_other(math.ceil(self._share * len(batch.wave)))
        return said._replace(others=self._speak(some, natural_between=False).wave)

    def _speak(self, batch: Batch, *, natural_between: bool = True) -> Said:
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
        between = natural if natural_between and not self._joint else predicted
        wave = stages.vocode(between, f0, speaker)
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
        along: with fresh weights, where a content network learns along.
        listener: hears whether words are kept; None where the recipe gives that no weight.
        likeness: tells how much speech sounds like a speaker; the same.

    Attributes:
        plain: the generator as it was given; it shares the weights that are trained.
        average: the running mean of its weights, or None.
        average_content: the same of the content network that learns along, or None.
    """

    def __init__(
        self,
        fabric: Fabric,
        recipe: VocoderRecipe,
        generator: Generator,
        discriminators: Discriminators | None,
        utterances: int,
        further: Sequence[Further] = (),
        along: Along | None = None,
        listener: Listener | None = None,
        likeness: Likeness | None = None,
    ) -> None:
        self._fabric = fabric
        self._recipe = recipe
        self._utterances = utterances
        self._further = tuple(further)
        self.plain = generator
        self._along = along
        speaking = Speaking(
            generator,
            joint=recipe.losses.joint,
            along=along,
            share=recipe.losses.likeness_share if likeness is not None else 0.0,
        )
        self._speaking, self._optimizer = fabric.setup(
            speaking, _optimizer(recipe.optimisation, speaking)
        )
        averaged = recipe.optimisation.average > 0
        self.average = _frozen_copy(generator) if averaged else None
        self.average_content = _frozen_copy(along.content) if averaged and along else None
        self._judges = discriminators
        if discriminators is not None:
            self._discriminators, self._opponent = fabric.setup(
                discriminators, _optimizer(recipe.optimisation, discriminators)
            )
        self._listener = None if listener is None else listener.to(fabric.device)
        self._likeness = None if likeness is None else likeness.to(fabric.device)
        self._mel = MelLoss().to(fabric.device)
        self._spectral = SpectralLoss(recipe.losses.resolutions).to(fabric.device)

    @property
    def fields(self) -> tuple[str, ...]:
        """What a step gives."""
        return (*LOSSES, *(ALONG_LOSSES if self._along is not None else ()), "learning_rate")

    @property
    def best(self) -> Generator:
        """What is validated and exported."""
        return self.plain if self.average is None else self.average

    @property
    def best_content(self) -> ContentNetwork | None:
        """The content network that belongs to it; None where none learns along."""
        plain = None if self._along is None else self._along.content
        return plain if self.average_content is None else self.average_content

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        parts: dict[str, Any] = {"speaking": self._speaking, "optimizer": self._optimizer}
        if self._judges is not None:
            parts |= {"discriminators": self._discriminators, "opponent": self._opponent}
        if self.average is not None:
            parts["average"] = self.average
        if self.average_content is not None:
            parts[AVERAGE_CONTENT] = self.average_content
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
        made, acoustic, heard, others = self._speaking(batch)
        losses = dict.fromkeys(LOSSES, made.new_zeros(())) | {"acoustic": acoustic}
        judges = self._judges
        if judges is not None and number >= self._recipe.losses.adversarial_from:
            losses["discriminator"] = self._judge(batch, made, rate)
            with unlearning(judges), self._fabric.autocast():
                losses |= self._persuade(judges, batch, made)
        losses |= self._compare(batch, made)
        if self._likeness is not None and others is not None:
            losses["likeness"] = self._likeness(others, batch.other_speaker[: len(others)])
        added = self._weighted(losses)
        if heard is not None:
            losses |= {name: getattr(heard, name) for name in ALONG_LOSSES}
            added = added + self._of_heard(heard, number)
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
        if self._listener is not None:
            losses["words"] = self._listener(made, batch.wave)
        return losses

    def _weighted(self, losses: Mapping[str, Tensor]) -> Tensor:
        weights = self._recipe.losses
        names = ("mel", "spectral", "words", "likeness", "acoustic", "adversarial", "features")
        return torch.stack([getattr(weights, name) * losses[name] for name in names]).sum()

    def _of_heard(self, heard: Heard, number: int) -> Tensor:
        weights = self._recipe.along
        ramp = min(1.0, number / max(1, weights.speaker_ramp))
        taught = weights.feature_weight * heard.teacher
        return taught + ramp * weights.speaker_weight * heard.adversary

    def _remember(self, number: int) -> None:
        # At first the past is short, and the fresh weights in it are nothing to keep.
        keep = min(self._recipe.optimisation.average, number / (number + 9))
        if self.average is not None:
            _follow(self.average, self.plain, keep)
        if self.average_content is not None and self._along is not None:
            _follow(self.average_content, self._along.content, keep)


def stages_of(generator: Generator) -> TwoStage | None:
    """The generator of two stages that a generator is, or has behind its bottleneck."""
    inner = generator.inner if isinstance(generator, Bottlenecked) else generator
    return inner if isinstance(inner, TwoStage) else None


def conditions_of(generator: Generator, batch: Batch) -> tuple[Tensor | None, ...]:
    """What a generator takes of a batch, in the order of its arguments."""
    return tuple(getattr(batch, name) if name in generator.inputs else None for name in INPUTS)


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


def _frozen_copy(network: Network) -> Network:
    return copy.deepcopy(network).requires_grad_(False).eval()


@torch.no_grad()
def _follow(average: nn.Module, network: nn.Module, keep: float) -> None:
    for mean, weight in zip(average.parameters(), network.parameters(), strict=True):
        mean.lerp_(weight, 1 - keep)
    for kept, value in zip(average.buffers(), network.buffers(), strict=True):
        kept.copy_(value)
