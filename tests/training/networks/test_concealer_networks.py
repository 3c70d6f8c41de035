"""The networks of concealers, against what the paper says of them and by hand."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
from torch import nn

from sordino.errors import UsageError
from sordino.training.networks.concealer import AutoEncoder, Classifier, Gated, build_concealer
from sordino.training.networks.gated import GatedEncoder


def test_the_papers_networks():
    networks = build_concealer({"architecture": "autoencoder"}, 192)
    assert [type(layer) for layer in networks.encoder] == [nn.Linear, nn.ReLU, nn.BatchNorm1d]
    assert (networks.encoder[0].in_features, networks.encoder[0].out_features) == (192, 64)
    assert [type(layer) for layer in networks.decoder] == [nn.Linear, nn.Tanh]
    assert (networks.decoder[0].in_features, networks.decoder[0].out_features) == (64, 192)


@pytest.mark.parametrize(("inputs", "hidden"), [(64, 32), (192, 100)])
def test_the_papers_classifiers(inputs, hidden):
    first, active, second = Classifier(inputs, hidden).layers
    assert isinstance(active, nn.ReLU)
    assert (first.in_features, first.out_features) == (inputs, hidden)
    assert (second.in_features, second.out_features) == (hidden, 1)


def test_two_classes_are_a_sigmoid_and_its_rest():
    torch.manual_seed(0)
    guesses, seen = Classifier(5, 4), torch.randn(6, 5)
    second = torch.sigmoid(guesses.layers(seen))[:, 0]
    expected = torch.stack([1 - second, second], dim=1)
    torch.testing.assert_close(guesses(seen).exp(), expected)


def test_more_classes_are_a_softmax():
    torch.manual_seed(0)
    guesses, seen = Classifier(5, 4, 3), torch.randn(6, 5)
    torch.testing.assert_close(guesses(seen).exp(), torch.softmax(guesses.layers(seen), dim=1))


def test_forgetting_gives_other_weights():
    guesses = Classifier(5, 4)
    before = {name: value.clone() for name, value in guesses.state_dict().items()}
    guesses.forget()
    assert all(not torch.equal(before[name], new) for name, new in guesses.state_dict().items())


def test_gated_maps_against_a_loop():
    torch.manual_seed(0)
    encoder, vectors = GatedEncoder(5, 3, 4), torch.randn(6, 5)
    nn.init.normal_(encoder.bias)
    weight, bias = encoder.weight.detach().numpy(), encoder.bias.detach().numpy()
    logits = encoder.gate(vectors).detach().numpy()
    for row, logit, found in zip(vectors.numpy(), logits, encoder(vectors), strict=True):
        shares = np.exp(logit) / np.exp(logit).sum()
        expected = sum(s * (w @ row + b) for s, w, b in zip(shares, weight, bias, strict=True))
        np.testing.assert_allclose(found.detach().numpy(), expected, atol=1e-5)


def test_protected_vectors_of_gated_networks_have_length_1():
    networks = Gated(7, 3, 2)
    decoded = networks.decoder(5 * torch.randn(4, 3))
    torch.testing.assert_close(decoded.norm(dim=1), torch.ones(4))


def test_what_is_built():
    assert isinstance(build_concealer({"architecture": "autoencoder", "latent": 8}, 5), AutoEncoder)
    gated = build_concealer({"architecture": "gated", "latent": 8}, 5, 3)
    assert gated.encoder.weight.shape == (3, 8, 5)


@pytest.mark.parametrize(
    ("network", "told"),
    [
        ({}, "no architecture None"),
        ({"architecture": "vae"}, "no architecture 'vae'; there are autoencoder, gated"),
        ({"architecture": "gated", "maps": 2}, "network has no 'maps'"),
        ({"architecture": "autoencoder", "latent": 1}, "network.latent is 1"),
        ({"architecture": "autoencoder", "latent": 64.0}, "network.latent is 64.0"),
        ({"architecture": "autoencoder", "latent": True}, "network.latent is True"),
    ],
)
def test_refusals(network, told):
    with pytest.raises(UsageError, match=told):
        build_concealer(network, 5)
