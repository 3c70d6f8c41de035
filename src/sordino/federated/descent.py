"""Gradient descent of many small networks at once, each on its own examples."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def changes(
    start: Tensor,
    widths: Sequence[int],
    vectors: Tensor,
    targets: Tensor,
    *,
    activation: str,
    steps: int,
    rate: float,
) -> Tensor:
    """What the parameters of a perceptron change by when each user trains it alone.

    The first layer moves within the span of a user's vectors, so that their inner products are
    all that its steps need: its weights, most of the parameters, are multiplied twice in all and
    not twice a step.

    Args:
        start: weights and biases of all layers in turn, shape (d,).
        widths: of inputs, layers between and classes.
        vectors: shape (users, most, inputs).
        targets: shape (users, most, classes): the weight of an example at its class, 0 elsewhere;
            the loss is the weighted sum of cross entropies.
        activation: "sigmoid" or "relu".
        steps: of full-batch gradient descent, from 1.
        rate: of learning.

    Returns:
        Shape (users, d).
    """
    import torch

    users = len(vectors)
    weights = targets.sum(dim=2, keepdim=True)
    layers = _layers(start, widths)
    (first, bias), above = layers[0], layers[1:]
    matrices = [matrix.expand(users, -1, -1).clone() for matrix, _ in above]
    biases = [row.expand(users, -1).clone() for _, row in above]
    base = vectors @ first.T + bias
    # One more component, always 1, stands for the bias.
    products = torch.bmm(vectors, vectors.transpose(1, 2)) + 1
    total = torch.zeros_like(base)
    for step in range(steps):
        output = torch.baddbmm(base, products, total, alpha=-rate) if step else base
        inputs = []
        for matrix, row in zip(matrices, biases, strict=True):
            inputs.append(torch.sigmoid(output) if activation == "sigmoid" else output.relu())
            output = torch.baddbmm(row.unsqueeze(1), inputs[-1], matrix.transpose(1, 2))
        slope = torch.softmax(output, dim=2) * weights - targets
        for given, matrix, row in zip(inputs[::-1], matrices[::-1], biases[::-1], strict=True):
            bent = given * (1 - given) if activation == "sigmoid" else given > 0
            below = torch.bmm(slope, matrix) * bent
            matrix.baddbmm_(slope.transpose(1, 2), given, alpha=-rate)
            row.sub_(slope.sum(dim=1), alpha=rate)
            slope = below
        total += slope
    result = vectors.new_empty((users, len(start)))
    changed = [(torch.bmm(total.transpose(1, 2), vectors).mul_(-rate), total.sum(dim=1) * -rate)]
    changed += [
        (matrix.sub_(before), row.sub_(level))
        for matrix, row, (before, level) in zip(matrices, biases, above, strict=True)
    ]
    place = 0
    for (before, level), (matrix, row) in zip(layers, changed, strict=True):
        for length, part in ((before.numel(), matrix), (level.numel(), row)):
            result[:, place : place + length] = part.reshape(users, length)
            place += length
    return result


def _layers(start: Tensor, widths: Sequence[int]) -> list[tuple[Tensor, Tensor]]:
    layers, place = [], 0
    for before, after in pairwise(widths):
        matrix = start[place : place + before * after].view(after, before)
        place += before * after
        layers.append((matrix, start[place : place + after]))
        place += after
    return layers
