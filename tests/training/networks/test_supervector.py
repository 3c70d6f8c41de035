"""The speaker network on fixed vectors."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is in the extra train, not installed")
import torch
from torch import nn

from sordino.errors import UsageError
from sordino.training.networks.supervector import SpeakerNetwork


def test_has_the_layers_of_the_paper() -> None:
    network = SpeakerNetwork(520)
    kinds = [type(module) for module in network.modules() if not list(module.children())]
    bent = [nn.Linear, nn.BatchNorm1d, nn.Sigmoid]
    assert kinds == [*bent * 4, nn.Linear, nn.BatchNorm1d]
    widths = [module.out_features for module in network.modules() if isinstance(module, nn.Linear)]
    assert widths == [256, 256, 256, 256, 100]


def test_embeddings_are_normalised_over_a_batch() -> None:
    embeddings = SpeakerNetwork(8, width=16, embedding=5)(torch.randn(64, 8))
    assert torch.allclose(embeddings.mean(dim=0), torch.zeros(5), atol=1e-5)
    assert torch.allclose(embeddings.var(dim=0, unbiased=False), torch.ones(5), atol=1e-2)


def test_what_comes_into_the_middle_matters() -> None:
    network = SpeakerNetwork(8, width=16, embedding=5, middle=2).eval()
    vectors = torch.randn(3, 8)
    first = network(vectors, torch.tensor([[1.0, 0.0]] * 3))
    assert not torch.allclose(first, network(vectors, torch.tensor([[0.0, 1.0]] * 3)))


def test_a_middle_has_to_be_given() -> None:
    with pytest.raises(UsageError, match="middle layer"):
        SpeakerNetwork(8, middle=2).eval()(torch.zeros(1, 8))


@pytest.mark.parametrize("sizes", [(0, 4, 4, 0), (4, 0, 4, 0), (4, 4, 0, 0), (4, 4, 4, -1)])
def test_refuses_sizes_that_are_none(sizes: tuple[int, int, int, int]) -> None:
    with pytest.raises(UsageError, match="width of at least 1"):
        SpeakerNetwork(*sizes)
