from __future__ import annotations

from itertools import pairwise

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from sordino.federated.descent import changes


def by_autograd(start, widths, vectors, targets, activation, steps, rate):
    row = start.clone().requires_grad_(True)
    for _ in range(steps):
        place, output = 0, vectors
        for number, (before, after) in enumerate(pairwise(widths)):
            if number:
                output = torch.sigmoid(output) if activation == "sigmoid" else output.relu()
            matrix = row[place : place + before * after].view(after, before)
            place += before * after
            output = torch.nn.functional.linear(output, matrix, row[place : place + after])
            place += after
        loss = -(torch.log_softmax(output, dim=1) * targets).sum()
        (slope,) = torch.autograd.grad(loss, row)
        row = (row - rate * slope).detach().requires_grad_(True)
    return row.detach() - start


@pytest.mark.parametrize("activation", ["sigmoid", "relu"])
@pytest.mark.parametrize("widths", [(5, 3), (5, 4, 3), (5, 6, 4, 2)])
@pytest.mark.parametrize("steps", [1, 4])
def test_every_user_descends_as_by_autograd(activation, widths, steps):
    torch.manual_seed(0)
    size = sum(before * after + after for before, after in pairwise(widths))
    start = torch.randn(size, dtype=torch.float64)
    vectors = torch.randn(7, 6, widths[0], dtype=torch.float64)
    targets = torch.eye(widths[-1], dtype=torch.float64)[torch.randint(widths[-1], (7, 6))] / 4
    targets[:, 4:] = 0  # four examples each, and two that are none
    settings = {"activation": activation, "steps": steps, "rate": 0.7}
    found = changes(start, widths, vectors, targets, **settings)
    for user in range(7):
        real = vectors[user, :4], targets[user, :4]
        expected = by_autograd(start, widths, *real, **settings)
        torch.testing.assert_close(found[user], expected, rtol=1e-9, atol=1e-12)
