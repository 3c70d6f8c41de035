"""Who sees what, who is fooled, and whose turn it is to forget."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from sordino.training.concealer.adversaries import Adversaries, Seen
from sordino.training.concealer.losses import confusion_loss, guessing_loss, inverted_loss
from sordino.training.concealer.recipe import AdversarySettings

SIZES = {"latent": 3, "vector": 5}
WEIGHTS = (torch.ones(2), torch.tensor([1.0, 2.0, 0.5]))


def seen(batch: int = 6) -> Seen:
    return Seen(torch.randn(batch, 3), torch.randn(batch, 5))


def labels(batch: int = 6):
    return torch.stack([torch.arange(batch) % 2, torch.arange(batch) % 3], dim=1)


def test_one_for_each_number_of_units_and_each_place():
    wanted = AdversarySettings(hidden=(4, 8), sees=("latent", "vector"))
    found = [
        (member.place, *(guess.layers[0].weight.shape for guess in member.classifiers))
        for member in Adversaries(wanted, SIZES, WEIGHTS)
    ]
    assert found == [
        ("latent", (4, 3), (4, 3)),
        ("latent", (8, 3), (8, 3)),
        ("vector", (4, 5), (4, 5)),
        ("vector", (8, 5), (8, 5)),
    ]


def test_losses_are_means_over_members_and_attributes():
    torch.manual_seed(0)
    wanted = AdversarySettings(hidden=(4,), sees=("latent", "vector"))
    members, batch, truth = Adversaries(wanted, SIZES, WEIGHTS), seen(), labels()

    def expected(loss):
        return torch.stack(
            [
                loss(guess(given), truth[:, number], WEIGHTS[number])
                for member, given in zip(members, (batch.latent, batch.vector), strict=True)
                for number, guess in enumerate(member.classifiers)
            ]
        ).mean()

    torch.testing.assert_close(members(batch, truth), expected(guessing_loss))
    torch.testing.assert_close(members.fooled(batch, truth), expected(inverted_loss))
    evened = Adversaries(AdversarySettings(goal="confuse"), SIZES, WEIGHTS)
    members = evened
    (member,) = evened
    found = [
        confusion_loss(guess(batch.latent), truth[:, number], WEIGHTS[number])
        for number, guess in enumerate(member.classifiers)
    ]
    torch.testing.assert_close(evened.fooled(batch, truth), torch.stack(found).mean())


def test_detached_vectors_lead_nowhere():
    batch = Seen(torch.randn(4, 3, requires_grad=True), torch.randn(4, 5, requires_grad=True))
    members = Adversaries(AdversarySettings(sees=("latent", "vector")), SIZES, WEIGHTS)
    members(batch.detached(), labels(4)).backward()
    assert batch.latent.grad is batch.vector.grad is None
    members.fooled(batch, labels(4)).backward()
    assert (batch.latent.grad != 0).any()
    assert (batch.vector.grad != 0).any()


def test_without_a_weight_there_are_none():
    members = Adversaries(AdversarySettings(weight=0.0), SIZES, WEIGHTS)
    assert len(members) == 0
    assert members.fooled(seen(), labels()).item() == 0


@pytest.mark.parametrize(
    ("count", "turns"),
    [
        (1, {8: [0], 16: [0], 24: [0]}),
        (2, {4: [1], 8: [0], 12: [1], 16: [0], 20: [1], 24: [0]}),
    ],
)
def test_members_take_turns_to_forget(count, turns):
    wanted = AdversarySettings(hidden=(4,) * count, fresh_every=8)
    members = Adversaries(wanted, SIZES, WEIGHTS)
    numbers = {id(member): number for number, member in enumerate(members)}
    found = {step: [numbers[id(one)] for one in members.due(step)] for step in range(1, 25)}
    assert {step: due for step, due in found.items() if due} == turns
    assert not Adversaries(AdversarySettings(), SIZES, WEIGHTS).due(8)


def test_who_forgets_has_fresh_weights():
    members = Adversaries(AdversarySettings(hidden=(4, 4)), SIZES, WEIGHTS)
    first, second = members
    before = [guess.layers[0].weight.clone() for guess in first.classifiers]
    kept = [guess.layers[0].weight.clone() for guess in second.classifiers]
    first.forget()
    for guess, old in zip(first.classifiers, before, strict=True):
        assert not torch.equal(guess.layers[0].weight, old)
    for guess, old in zip(second.classifiers, kept, strict=True):
        assert torch.equal(guess.layers[0].weight, old)
