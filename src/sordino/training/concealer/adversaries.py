"""Those who guess attributes in training, so that a concealer learns to leave nothing to guess."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from sordino.training.concealer.losses import confusion_loss, guessing_loss, inverted_loss
from sordino.training.concealer.recipe import AdversarySettings
from sordino.training.networks.concealer import Classifier

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]

_GOALS: Mapping[str, Loss] = {"invert": inverted_loss, "confuse": confusion_loss}


class Seen(NamedTuple):
    """What adversaries may see of a batch.

    Attributes:
        latent: released latents, shape (batch, latent).
        vector: protected vectors, shape (batch, dimension).
    """

    latent: Tensor
    vector: Tensor

    def detached(self) -> Seen:
        """The same, without a way back to the networks that made it."""
        return Seen(self.latent.detach(), self.vector.detach())


class Adversary(nn.Module):
    """Guesses every attribute from what it sees, each with a classifier of its own.

    Args:
        place: "latent" or "vector".
        inputs: numbers that it sees there.
        hidden: units of its hidden layer.
        weights: for each attribute one for each class, shape (classes,).
    """

    def __init__(self, place: str, inputs: int, hidden: int, weights: tuple[Tensor, ...]) -> None:
        super().__init__()
        self.place = place
        self.classifiers = nn.ModuleList(
            Classifier(inputs, hidden, len(of_classes)) for of_classes in weights
        )
        for number, of_classes in enumerate(weights):
            self.register_buffer(f"weight_{number}", of_classes.clone())

    def loss(self, seen: Seen, labels: Tensor, of_guesses: Loss) -> Tensor:
        """The mean over the attributes of a loss of guesses.

        Args:
            seen: of a batch.
            labels: numbers of classes, or -1, shape (batch, attributes).
            of_guesses: see `losses.guessing_loss`.
        """
        vectors = seen.latent if self.place == "latent" else seen.vector
        found = [
            of_guesses(guess(vectors), labels[:, number], getattr(self, f"weight_{number}"))
            for number, guess in enumerate(self.classifiers)
        ]
        return torch.stack(found).mean()

    def forget(self) -> None:
        """Fresh weights."""
        for classifier in self.classifiers:
            assert isinstance(classifier, Classifier)
            classifier.forget()


class Adversaries(nn.Module):
    """All adversaries that a recipe names.

    Args:
        settings: which, and what the concealer wants of them.
        sizes: by place, how many numbers they see.
        weights: for each attribute one for each class, shape (classes,).

    Example:
        >>> few = Adversaries(AdversarySettings(), {"latent": 64}, (torch.ones(2),))
        >>> len(few), few.members[0].classifiers[0].layers[0].in_features
        (1, 64)
    """

    def __init__(
        self,
        settings: AdversarySettings,
        sizes: Mapping[str, int],
        weights: tuple[Tensor, ...],
    ) -> None:
        super().__init__()
        self.settings = settings
        kinds = [(place, hidden) for place in settings.sees for hidden in settings.hidden]
        self.members = nn.ModuleList(
            Adversary(place, sizes[place], hidden, weights)
            for place, hidden in (kinds if settings.weight else [])
        )

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[Adversary]:
        for member in self.members:
            assert isinstance(member, Adversary)
            yield member

    def forward(self, seen: Seen, labels: Tensor) -> Tensor:
        """What they have to make small: the mean of their losses (equation 1)."""
        return torch.stack([member.loss(seen, labels, guessing_loss) for member in self]).mean()

    def fooled(self, seen: Seen, labels: Tensor) -> Tensor:
        """What the concealer has to make small (equation 2, or the confusion)."""
        if not len(self):
            return seen.vector.sum() * 0
        goal = _GOALS[self.settings.goal]
        return torch.stack([member.loss(seen, labels, goal) for member in self]).mean()

    def due(self, step: int) -> tuple[Adversary, ...]:
        """Those whose turn it is to forget everything, at a step counted from 1."""
        every = self.settings.fresh_every
        if not every:
            return ()
        return tuple(
            member
            for number, member in enumerate(self)
            if (step + number * every // len(self)) % every == 0
        )
