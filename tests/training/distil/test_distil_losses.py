"""The loss of Eq. 2 and 3, against sums written out."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is in the extra train, not installed")
import torch
from scipy.special import log_softmax, softmax

from sordino.errors import UsageError
from sordino.training.distil.losses import multi_task_loss, side_loss


def _drawn(rows: int, classes: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(rows)
    both = torch.randn(2, rows, classes, generator=generator, dtype=torch.float64)
    return both[0], 3 * both[1]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
def test_is_the_paper_s_third_equation(temperature: float) -> None:
    logits, teacher = _drawn(7, 6)
    own, wanted = (softmax(part.numpy() / temperature, axis=1) for part in (logits, teacher))
    each = temperature**2 / 6 * ((wanted - own) ** 2).sum(axis=1)
    found = side_loss(logits, teacher, temperature)
    assert found.item() == pytest.approx(each.mean(), rel=1e-12)


def test_gradients_stay_of_one_size_when_it_gets_hot() -> None:
    # Without the factor they would fall with the square of the temperature.
    sizes = []
    for temperature in (50.0, 100.0):
        logits, teacher = _drawn(5, 3)
        logits.requires_grad_()
        side_loss(logits, teacher, temperature).backward()
        assert logits.grad is not None
        sizes.append(logits.grad.norm().item())
    assert sizes[0] == pytest.approx(sizes[1], rel=0.05)


def test_adds_gamma_times_the_side_loss_to_cross_entropy() -> None:
    speakers, _ = _drawn(4, 5)
    logits, teacher = _drawn(4, 2)
    numbers = torch.tensor([0, 4, 2, 2])
    loss = multi_task_loss(speakers, numbers, logits, teacher, gamma=0.7, temperature=2.0)
    entropy = -log_softmax(speakers.numpy(), axis=1)[np.arange(4), numbers.numpy()].mean()
    assert loss.item() == pytest.approx(entropy + 0.7 * side_loss(logits, teacher, 2.0).item())


def test_refuses_shapes_that_differ_and_cold() -> None:
    with pytest.raises(UsageError, match="shape"):
        side_loss(torch.zeros(2, 3), torch.zeros(2, 2), 1.0)
    with pytest.raises(UsageError, match="temperature"):
        side_loss(torch.zeros(2, 3), torch.zeros(2, 3), 0.0)
