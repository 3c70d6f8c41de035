"""The loss that hands a classifier's knowledge on."""

from __future__ import annotations

import torch
from torch import Tensor

from sordino.errors import UsageError


def side_loss(logits: Tensor, teacher: Tensor, temperature: float) -> Tensor:
    """Mean squared difference of two softened softmax distributions, times the temperature squared.

    `T^2 / N sum_i (softmax_i(V / T) - softmax_i(z / T))^2` with N classes, mean over the batch.
    The factor keeps gradients from vanishing at high temperatures.

    Args:
        logits: z, of the network that learns, shape (batch, classes).
        teacher: V, of the classifier, shape (batch, classes).
        temperature: T, above 0.

    Raises:
        UsageError: the temperature is not above 0, or the shapes differ.

    Example:
        >>> side_loss(torch.tensor([[0.0, 0.0]]), torch.tensor([[40.0, -40.0]]), 1.0).item()
        0.25

    Source: F. Granqvist et al., "Improving on-device speaker verification using federated learning
    with privacy", 2020, Eq. 3.
    """
    if not temperature > 0:
        raise UsageError(f"the temperature is {temperature}; expected more than 0")
    if logits.shape != teacher.shape:
        raise UsageError(
            f"the teacher's logits have shape {tuple(teacher.shape)}; expected"
            f" {tuple(logits.shape)}"
        )
    wanted = torch.softmax(teacher / temperature, dim=1)
    gap = wanted - torch.softmax(logits / temperature, dim=1)
    return temperature**2 * gap.square().mean()


def multi_task_loss(
    speakers: Tensor,
    numbers: Tensor,
    logits: Tensor,
    teacher: Tensor,
    *,
    gamma: float,
    temperature: float,
) -> Tensor:
    """Cross-entropy over speakers plus gamma times `side_loss`, mean over the batch (Eq. 2).

    Args:
        speakers: logits of the speakers, shape (batch, speakers).
        numbers: who each is, shape (batch,).
        logits: of the side head, shape (batch, classes).
        teacher: logits of the classifier, the same shape.
        gamma: weight of the side loss, 0 or more.
        temperature: above 0.

    Example:
        >>> speakers, side = torch.zeros(1, 2), torch.zeros(1, 2)
        >>> loss = multi_task_loss(speakers, torch.tensor([0]), side, side, gamma=1, temperature=2)
        >>> round(loss.item(), 4)
        0.6931
    """
    of_speakers = torch.nn.functional.cross_entropy(speakers, numbers)
    return of_speakers + gamma * side_loss(logits, teacher, temperature)
