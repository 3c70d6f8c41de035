"""Encoders as their descriptions say."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from sordino.errors import UsageError
from sordino.training.networks.ecapa import Ecapa, EcapaSettings
from sordino.training.networks.encoder import build_encoder, dimension_of, settings_from
from sordino.training.networks.filterbank import FilterbankSettings
from sordino.training.networks.ge2e import Ge2e
from sordino.training.networks.xvector import Xvector

SMALL = {"channels": 64, "aggregated": 96}


def test_ecapa():
    network = {
        "architecture": "ecapa",
        "sizes": {**SMALL, "dimension": 30, "kernels": [5, 3, 3, 3, 1]},
        "filterbank": {"bands": 40, "hop": 200},
    }
    encoder = build_encoder(network)
    assert isinstance(encoder.body, Ecapa)
    assert encoder.body.settings == EcapaSettings(**SMALL, dimension=30, inputs=40)
    assert encoder.filterbank.settings == FilterbankSettings(bands=40, hop=200)
    assert dimension_of(encoder) == 30


def test_xvector():
    encoder = build_encoder({"architecture": "xvector"})
    assert isinstance(encoder.body, Xvector)
    assert encoder.filterbank.settings.bands == encoder.body.settings.inputs == 24
    assert dimension_of(encoder) == 512


def test_ge2e():
    encoder = build_encoder({"architecture": "ge2e"})
    assert isinstance(encoder, Ge2e)
    assert dimension_of(encoder) == 256


def test_the_mean_over_the_utterance_is_taken_off(speech_like):
    """A gain is a constant in dB, and so leaves no trace."""
    encoder = build_encoder({"architecture": "ecapa", "sizes": SMALL}).eval()
    wave = torch.from_numpy(speech_like(16000, 1))
    torch.testing.assert_close(encoder(wave), encoder(0.1 * wave), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("training", [True, False])
def test_asking_for_the_dimension_changes_nothing(training):
    encoder = build_encoder({"architecture": "ecapa", "sizes": SMALL}).train(training)
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    dimension_of(encoder)
    assert all(module.training is training for module in encoder.modules())
    for name, value in encoder.state_dict().items():
        assert torch.equal(value, before[name]), name


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ({"architecture": "resnet"}, "there is no architecture 'resnet'; there are ecapa"),
        ({}, "there is no architecture None"),
        ({"architecture": "ecapa", "sizes": {"chanels": 3}}, "EcapaSettings has no 'chanels'"),
        ({"architecture": "xvector", "filterbank": {"mels": 3}}, "FilterbankSettings has no"),
    ],
)
def test_wrong_descriptions(network, message):
    with pytest.raises(UsageError, match=message):
        build_encoder(network)


def test_settings_from_a_dictionary():
    assert settings_from(EcapaSettings, {"kernels": [1, 2]}).kernels == (1, 2)
    assert settings_from(EcapaSettings, {}) == EcapaSettings()


def test_mean_of_the_level_keeps_the_average_spectrum():
    frames = []
    for mean in ("band", "level"):
        network = build_encoder({"architecture": "xvector", "mean": mean}).eval()
        network.body = torch.nn.Identity()
        with torch.inference_mode():
            frames.append(network(torch.randn(1, 16000, generator=torch.manual_seed(0))))
    by_band, by_level = frames
    assert by_band.mean(dim=2).abs().max() < 1e-3
    assert by_level.mean(dim=2).abs().max() > 1
    assert by_level.mean().abs() < 1e-3
    # Apart from the mean of each band the two are the same.
    assert torch.allclose(by_level - by_level.mean(dim=2, keepdim=True), by_band, atol=1e-3)


def test_unknown_mean_is_refused():
    with pytest.raises(UsageError, match="the mean 'median' is not one of band, level"):
        build_encoder({"architecture": "xvector", "mean": "median"})
