from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is in the extra train, not installed")

from torch import nn
from torch.nn.functional import cosine_similarity

from sordino.training.speaker.task import SpeakerTask
from tests.talkers import tiny_recipe

WAVES = 0.1 * torch.randn(4, 8000, generator=torch.Generator().manual_seed(0))
SPEAKERS = torch.tensor([0, 1, 2, 0])


def task(target_dimension: int, **sections) -> SpeakerTask:
    torch.manual_seed(0)
    return SpeakerTask(tiny_recipe(**sections), 3, target_dimension).eval()


def test_without_a_teacher_the_loss_is_that_of_the_classes():
    made = task(0)
    losses = made(WAVES, SPEAKERS, torch.zeros(4, 0))
    vectors = made.encoder(WAVES)
    assert losses.classification == made.head(vectors, SPEAKERS)
    assert losses.total == losses.classification
    assert losses.distillation == 0


def test_losses_are_weighed():
    sections = {
        "teacher": {"encoder": "x", "weight": 3.0},
        "optimisation": {"classification_weight": 0.5},
    }
    targets = torch.randn(4, 24)
    made = task(24, **sections)
    losses = made(WAVES, SPEAKERS, targets)
    expected = 1 - cosine_similarity(made.encoder(WAVES), targets).mean()
    assert losses.distillation.item() == pytest.approx(expected.item(), abs=1e-6)
    assert isinstance(made.to_teacher, nn.Identity)
    total = 0.5 * losses.classification + 3 * losses.distillation
    assert losses.total.item() == pytest.approx(total.item(), rel=1e-6)


def test_a_side_head_learns_what_is_said_of_speakers():
    said = torch.tensor([[2.0, -2.0], [-1.0, 1.0], [float("nan")] * 2])
    torch.manual_seed(0)
    made = SpeakerTask(
        tiny_recipe(side={"file": "x", "weight": 4.0, "temperature": 3.0}), 3, 0, said
    ).eval()
    losses = made(WAVES, SPEAKERS, torch.zeros(4, 0))
    # The third is of a speaker of whom nothing is said.
    heard = torch.tensor([0, 1, 3])
    own = (made.side_head(made.encoder(WAVES))[heard] / 3).softmax(dim=1)
    wanted = (said[SPEAKERS[heard]] / 3).softmax(dim=1)
    expected = 9 * (wanted - own).square().mean()
    assert losses.side.item() == pytest.approx(expected.item(), rel=1e-5)
    assert losses.total.item() == pytest.approx(
        (losses.classification + 4 * losses.side).item(), rel=1e-6
    )
    losses.total.backward()
    assert made.side_head.weight.grad.abs().sum() > 0


def test_where_nothing_is_said_there_is_no_side_loss_but_a_gradient():
    torch.manual_seed(0)
    said = torch.full((3, 2), float("nan"))
    made = SpeakerTask(tiny_recipe(side={"file": "x", "weight": 1.0}), 3, 0, said).eval()
    losses = made(WAVES, SPEAKERS, torch.zeros(4, 0))
    assert losses.side == 0
    losses.total.backward()
    assert made.side_head.weight.grad is not None


def test_the_side_head_does_not_go_with_the_encoder():
    made = SpeakerTask(tiny_recipe(side={"file": "x", "weight": 1.0}), 3, 0, torch.zeros(3, 2))
    assert not [name for name in made.encoder.state_dict() if "side" in name]
    assert "said" not in made.state_dict()


def test_layer_comes_between_where_dimensions_differ():
    made = task(7, teacher={"encoder": "x", "weight": 1.0})
    losses = made(WAVES, SPEAKERS, torch.randn(4, 7))
    losses.total.backward()
    assert made.to_teacher.weight.shape == (7, 24)
    assert made.to_teacher.weight.grad.abs().sum() > 0


def test_angles_are_computed_in_32_bits_whatever_comes_before():
    made = task(24, teacher={"encoder": "x", "weight": 1.0})
    with torch.autocast("cpu", dtype=torch.bfloat16):
        losses = made(WAVES, SPEAKERS, torch.randn(4, 24))
        vectors = made.encoder(WAVES)
    assert vectors.dtype == torch.bfloat16
    assert {loss.dtype for loss in losses} == {torch.float32}
    assert losses.classification == made.head(vectors.float(), SPEAKERS)
