"""What a step makes small."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from torch.nn.functional import cosine_similarity

from sordino.training.concealer.adversaries import Adversaries
from sordino.training.concealer.losses import dependence, inverted_loss, scores_loss
from sordino.training.concealer.task import Batch, ConcealerNetwork, losses_of
from sordino.training.networks.concealer import build_concealer
from tests.training.concealer.toy_vectors import toy


def setting(**sections: object):
    """Network, adversaries, what they see of a batch, and the losses."""
    torch.manual_seed(0)
    recipe = toy(**sections)
    network = ConcealerNetwork(recipe, build_concealer(recipe.network, 12), 12, 4)
    adversaries = Adversaries(recipe.adversary, {"latent": 5, "vector": 12}, (torch.ones(2),))
    labels, speakers = torch.arange(16)[:, None] % 2, torch.arange(16) % 4
    originals = torch.randn(16, 12)
    batch = Batch(originals + 1, originals, labels, speakers)
    seen = network(batch.vectors)
    return network, adversaries, batch, seen, losses_of(recipe, network, adversaries, seen, batch)


def test_the_papers_loss_is_of_two_terms():
    _, adversaries, batch, seen, losses = setting()
    reconstruction = 1 - cosine_similarity(seen.vector, batch.originals).mean()
    (member,) = adversaries
    guesses = member.classifiers[0](seen.latent)
    adversary = inverted_loss(guesses, batch.labels[:, 0], torch.ones(2))
    torch.testing.assert_close(losses.reconstruction, reconstruction)
    torch.testing.assert_close(losses.adversary, adversary)
    torch.testing.assert_close(losses.total, reconstruction + adversary)
    assert losses.scores == losses.speakers == losses.dependence == 0


def test_all_terms_with_their_weights():
    wanted = {
        "reconstruction": 2.0,
        "scores": 3.0,
        "speakers": 0.5,
        "dependence": 4.0,
        "still": 5.0,
    }
    network, _, batch, seen, losses = setting(
        optimisation=wanted, adversary={"weight": 0.25, "sees": ["latent", "vector"]}
    )
    torch.testing.assert_close(losses.scores, scores_loss(seen.vector, batch.originals))
    torch.testing.assert_close(losses.dependence, dependence(seen.vector, batch.labels[:, 0]))
    torch.testing.assert_close(losses.speakers, network.head(seen.vector, batch.speakers))
    expected = (
        2 * losses.reconstruction
        + 0.25 * losses.adversary
        + 3 * losses.scores
        + 0.5 * losses.speakers
        + 4 * losses.dependence
    )
    torch.testing.assert_close(losses.total, expected)  # nothing has moved yet


def test_the_way_of_the_weights():
    network, *_ = setting()
    assert network.way().item() == 0
    with torch.no_grad():
        network.decoder[0].bias.add_(2.0)
    assert network.way().item() == pytest.approx(12 * 4)
    before = network.head
    assert before is None


def test_every_part_learns():
    network, _, _, _, losses = setting(optimisation={"speakers": 1.0})
    losses.total.backward()
    for name, weight in network.named_parameters():
        assert weight.grad is not None, name
        assert (weight.grad != 0).any(), name
