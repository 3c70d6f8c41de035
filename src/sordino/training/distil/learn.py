"""Training of one speaker network, with a teacher or without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from sordino.errors import OutputError, UsageError
from sordino.training.distil.losses import multi_task_loss
from sordino.training.distil.settings import DistilSettings
from sordino.training.networks.supervector import SpeakerNetwork

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Way = Literal["head", "middle"]


@dataclass(frozen=True, eq=False)
class Learnt:
    """A trained network with the head that is dropped afterwards.

    Attributes:
        network: gives embeddings; in evaluation mode.
        speakers: logits of the training speakers from embeddings.
        side: logits of the side classes from embeddings; None without a side head.
    """

    network: SpeakerNetwork
    speakers: nn.Linear
    side: nn.Linear | None

    def embed(self, vectors: Floats, known: Floats | None = None) -> Floats:
        """Embeddings, shape (n, embedding).

        Args:
            vectors: shape (n, inputs).
            known: what goes into the middle layer, where the network has one, (n, middle).
        """
        with torch.inference_mode():
            middle = torch.from_numpy(known) if self.network.middle and known is not None else None
            embeddings: Floats = self.network(torch.from_numpy(vectors), middle).numpy()
        return embeddings

    def speaker_accuracy(self, embeddings: Floats, numbers: Ints) -> float:
        """Part of the embeddings whose training speaker is told rightly, 0 to 1."""
        return _accuracy(self.speakers, embeddings, numbers)

    def side_accuracy(self, embeddings: Floats, labels: Ints) -> float | None:
        """The same of the side classes; None without a side head."""
        return None if self.side is None else _accuracy(self.side, embeddings, labels)


def learn(
    settings: DistilSettings,
    vectors: Floats,
    speakers: Ints,
    seed: int,
    *,
    teacher: Floats | None = None,
    way: Way = "head",
    further: tuple[Floats, Floats] | None = None,
) -> Learnt:
    """Train a speaker network; the same seed gives the same start and the same batches.

    Args:
        settings: how.
        vectors: of the training speakers, shape (n, inputs).
        speakers: numbers of speakers from 0, shape (n,).
        seed: from 0.
        teacher: logits of the classifier, shape (n, classes); None for the baseline.
        way: "head": a side head learns to say what the teacher says (Eq. 2); "middle": what the
            teacher says goes into a middle layer, then and ever after.
        further: vectors of nobody knows whom, shape (m, inputs), and what the teacher says of them,
            (m, classes): with "head" the side head learns from as many of them in each batch.

    Raises:
        UsageError: the shapes differ, or there is one speaker only.
        OutputError: the loss is no number any more.

    Example:
        >>> vectors = np.random.default_rng(0).normal(size=(8, 5)).astype(np.float32)
        >>> learnt = learn(DistilSettings(width=4, steps=4), vectors, np.arange(8) // 2, seed=0)
        >>> learnt.embed(vectors).shape
        (8, 100)
    """
    count = int(speakers.max()) + 1
    if count < 2 or len(speakers) != len(vectors):
        raise UsageError("a speaker network needs two speakers or more, one for each vector")
    if teacher is not None and len(teacher) != len(vectors):
        raise UsageError("the teacher has to say something about each vector")
    # Not only this seed: it is drawn from by nothing else.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        known = None if teacher is None else teacher.shape[1]
        middle = known if known is not None and way == "middle" else 0
        network = SpeakerNetwork(vectors.shape[1], settings.width, settings.embedding, middle)
        head = nn.Linear(settings.embedding, count)
        side = nn.Linear(settings.embedding, known) if known is not None and not middle else None
    learnt = Learnt(network, head, side)
    _descend(learnt, settings, vectors, speakers, teacher, further, seed)
    network.eval()
    return learnt


def softened(logits: Floats, temperature: float) -> Floats:
    """Probabilities of a classifier at a temperature, shape (n, classes).

    Example:
        >>> softened(np.zeros((1, 2), np.float32), 2.0).tolist()
        [[0.5, 0.5]]
    """
    probabilities: Floats = torch.softmax(torch.from_numpy(logits) / temperature, dim=1).numpy()
    return probabilities


def _descend(
    learnt: Learnt,
    settings: DistilSettings,
    vectors: Floats,
    speakers: Ints,
    teacher: Floats | None,
    further: tuple[Floats, Floats] | None,
    seed: int,
) -> None:
    data, numbers = torch.from_numpy(vectors), torch.from_numpy(speakers)
    said = None if teacher is None else torch.from_numpy(teacher)
    inside = None if said is None else torch.softmax(said / settings.temperature, dim=1)
    parts = [part for part in (learnt.network, learnt.speakers, learnt.side) if part is not None]
    optimiser = torch.optim.SGD(
        [parameter for part in parts for parameter in part.parameters()],
        lr=settings.learning_rate,
        momentum=settings.momentum,
        weight_decay=settings.weight_decay,
        nesterov=settings.momentum > 0,
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, settings.learning_rate, total_steps=settings.steps
    )
    generator = torch.Generator().manual_seed(seed)
    unknown = None
    if further is not None and learnt.side is not None:
        unknown = torch.from_numpy(further[0]), torch.from_numpy(further[1])
    for _ in range(settings.steps):
        rows = torch.randint(len(data), (settings.batch,), generator=generator)
        middle = inside[rows] if inside is not None and learnt.side is None else None
        batch, wanted = data[rows], None if said is None else said[rows]
        if unknown is not None and wanted is not None:
            others = torch.randint(len(unknown[0]), (settings.batch,), generator=generator)
            batch = torch.cat([batch, unknown[0][others]])
            wanted = torch.cat([wanted, unknown[1][others]])
        noise = torch.randn(batch.shape, generator=generator)
        embeddings = learnt.network(batch + settings.input_noise * noise, middle)
        loss = _loss(learnt, settings, embeddings, numbers[rows], wanted)
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
        schedule.step()
    if not torch.isfinite(loss):
        raise OutputError("the loss is no number any more; lower learning_rate")


def _loss(
    learnt: Learnt,
    settings: DistilSettings,
    embeddings: Tensor,
    numbers: Tensor,
    said: Tensor | None,
) -> Tensor:
    # Further vectors come last, and nobody knows whose they are.
    of_speakers = learnt.speakers(embeddings[: len(numbers)])
    if learnt.side is None or said is None:
        return cross_entropy(of_speakers, numbers)
    return multi_task_loss(
        of_speakers,
        numbers,
        learnt.side(embeddings),
        said,
        gamma=settings.gamma,
        temperature=settings.temperature,
    )


def _accuracy(head: nn.Linear, embeddings: Floats, numbers: Ints) -> float:
    with torch.inference_mode():
        guesses = head(torch.from_numpy(embeddings)).argmax(dim=1).numpy()
    return float(np.mean(guesses == numbers))
