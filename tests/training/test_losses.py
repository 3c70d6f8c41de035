"""Losses against the formulas, sample by sample."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn

from sordino.training.losses import AamSoftmax, distillation_loss


def by_hand(vectors, weights, classes, margin, scale):
    """Mean over the batch of -log softmax, in double precision."""
    losses = []
    for vector, own in zip(vectors.astype(np.float64), classes, strict=True):
        logits = []
        for number, weight in enumerate(weights.astype(np.float64)):
            cosine = vector @ weight / np.linalg.norm(vector) / np.linalg.norm(weight)
            if number == own:
                angle = math.acos(cosine)
                if angle + margin < math.pi:
                    cosine = math.cos(angle + margin)
                else:
                    cosine = cosine - margin * math.sin(margin)
            logits.append(scale * cosine)
        highest = max(logits)
        total = highest + math.log(sum(math.exp(logit - highest) for logit in logits))
        losses.append(total - logits[own])
    return sum(losses) / len(losses)


@pytest.mark.parametrize(("margin", "scale"), [(0.2, 30.0), (0.5, 16.0), (0.0, 1.0)])
def test_aam_softmax(margin, scale):
    torch.manual_seed(0)
    vectors, classes = torch.randn(20, 8), torch.randint(0, 6, (20,))
    loss = AamSoftmax(8, 6, margin=margin, scale=scale)
    with torch.no_grad():
        # One whose angle with the margin passes 180 degrees, and one that lies on its class.
        vectors[0], vectors[1] = -3 * loss.weight[classes[0]], 5 * loss.weight[classes[1]]
        vectors[0] += 0.01
    expected = by_hand(
        vectors.numpy(), loss.weight.detach().numpy(), classes.tolist(), margin, scale
    )
    assert loss(vectors, classes).item() == pytest.approx(expected, rel=1e-4)


def test_without_a_margin_it_is_cross_entropy_of_scaled_cosines():
    torch.manual_seed(1)
    vectors, classes = torch.randn(12, 5), torch.randint(0, 4, (12,))
    loss = AamSoftmax(5, 4, margin=0.0, scale=7.0)
    cosines = nn.functional.cosine_similarity(vectors[:, None], loss.weight[None], dim=2)
    expected = nn.functional.cross_entropy(7.0 * cosines, classes)
    torch.testing.assert_close(loss(vectors, classes), expected)


def test_a_margin_makes_the_loss_larger_at_every_angle():
    angles = torch.linspace(0, math.pi, 181)
    vectors = torch.stack([angles.cos(), angles.sin()], dim=1)
    losses = {}
    for margin in (0.0, 0.2):
        loss = AamSoftmax(2, 2, margin=margin, scale=2.0)
        with torch.no_grad():
            loss.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
            losses[margin] = torch.stack(
                [loss(vector[None], torch.tensor([0])) for vector in vectors]
            )
    assert (losses[0.2] > losses[0.0]).all()


def test_gradients_are_finite_where_the_arc_cosine_has_none():
    loss = AamSoftmax(4, 3)
    vectors = torch.stack([loss.weight[0], -loss.weight[1]]).detach().requires_grad_()
    loss(vectors, torch.tensor([0, 1])).backward()
    assert torch.isfinite(vectors.grad).all()
    assert torch.isfinite(loss.weight.grad).all()


def test_only_directions_count():
    torch.manual_seed(2)
    vectors, classes = torch.randn(6, 5), torch.randint(0, 4, (6,))
    loss = AamSoftmax(5, 4)
    before = loss(vectors, classes)
    with torch.no_grad():
        loss.weight.mul_(torch.rand(4, 1) + 0.1)
    torch.testing.assert_close(loss(vectors * (torch.rand(6, 1) + 0.1), classes), before)


def test_training_lowers_it():
    torch.manual_seed(3)
    vectors, classes = torch.randn(30, 10), torch.arange(30) % 5
    loss = AamSoftmax(10, 5)
    optimizer = torch.optim.Adam(loss.parameters(), lr=0.05)
    before = loss(vectors, classes).item()
    for _ in range(50):
        optimizer.zero_grad()
        value = loss(vectors, classes)
        value.backward()
        optimizer.step()
    assert value.item() < 0.7 * before


def test_distillation_loss():
    torch.manual_seed(4)
    vectors, targets = torch.randn(9, 7), torch.randn(9, 7)
    cosines = [
        a @ b / np.linalg.norm(a) / np.linalg.norm(b)
        for a, b in zip(vectors.numpy(), targets.numpy(), strict=True)
    ]
    assert distillation_loss(vectors, targets).item() == pytest.approx(1 - np.mean(cosines))
    assert distillation_loss(vectors, -vectors).item() == pytest.approx(2)
    assert distillation_loss(vectors, 3 * vectors).item() == pytest.approx(0, abs=1e-6)
