"""Recipes for vocoders: what comes with the package, and what is refused."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is in the extra train, not installed")

from sordino.errors import UsageError
from sordino.training.networks.discriminators import DiscriminatorSettings
from sordino.training.networks.encoder import settings_from
from sordino.training.recipes import read_recipe, recipe_names
from sordino.training.vocoder.along import build_listener
from sordino.training.vocoder.network import build_vocoder, described_network
from sordino.training.vocoder.recipe import VocoderRecipe
from tests.training.tiny_hubert import CONFIG


def recipe(name: str, *overrides: str) -> VocoderRecipe:
    return VocoderRecipe.from_values(read_recipe(name, overrides, "vocoder"))


@pytest.mark.parametrize("name", recipe_names("vocoder"))
def test_those_of_the_package_describe_networks(name):
    found = recipe(name)
    assert found.name == name
    content = {"channels": 8, "hop": 320}
    network = described_network({**found.network, "bottleneck": 4}, content, 16)
    assert build_vocoder(network).conditions.channels == 8
    settings_from(DiscriminatorSettings, found.discriminators)


def test_hifigan_is_the_papers():
    found = recipe("hifigan")
    assert (found.data.segment, found.optimisation.batch) == (8960, 32)
    assert found.optimisation.learning_rate == 2e-4
    assert found.optimisation.betas == (0.8, 0.99)
    assert (found.optimisation.schedule, found.optimisation.decay) == ("epochs", 0.999)
    assert (found.losses.mel, found.losses.features, found.losses.adversarial) == (45, 2, 1)
    assert found.losses.spectral == found.losses.acoustic == 0
    assert found.losses.adversarial_from == 1
    judges = settings_from(DiscriminatorSettings, found.discriminators)
    assert (judges.periods, judges.scales) == ((2, 3, 5, 7, 11), 3)
    assert (found.tracker, found.network["pitch"]) == ("yaapt", "hertz")
    content = {"channels": 200, "hop": 320}
    network = described_network(found.network, content, 192)
    assert build_vocoder(network).conditions.width == 393


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ('name="a b"', "its name"),
        ("data.validation=0", r"data\.validation"),
        ("data.segment=9000", "multiple of 320"),
        ("data.shortest_seconds=0.1", r"data\.shortest_seconds"),
        ("data.seed=-1", r"data\.seed"),
        ('speaker.of="nobody"', "utterance, another, speaker, mixed"),
        ("speaker.noise=-1", r"speaker\.noise"),
        ("speaker.dropout=1", r"speaker\.dropout"),
        ("losses.mel=-1", r"losses\.mel"),
        ("losses.mel=0", "more than 0"),
        ("losses.resolutions=[]", r"losses\.resolutions"),
        ("losses.resolutions=[[512, 300, 240]]", r"losses\.resolutions"),
        ("losses.adversarial_from=0", r"losses\.adversarial_from"),
        ("optimisation.steps=0", r"optimisation\.steps"),
        ("optimisation.batch=0", r"optimisation\.batch"),
        ("optimisation.learning_rate=0", r"optimisation\.learning_rate"),
        ("optimisation.betas=[0.5, 1]", r"optimisation\.betas"),
        ('optimisation.schedule="steps"', "epochs, cosine"),
        ("optimisation.decay=0", r"optimisation\.decay"),
        ("optimisation.average=1", r"optimisation\.average"),
        ("validate_every=0", "validate_every"),
        ("colour=1", "no setting 'colour'"),
    ],
)
def test_what_is_out_of_range_is_named(setting, told):
    with pytest.raises(UsageError, match=told):
        recipe("hifigan", setting)


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ('content="soft"', "either content or along"),
        ("along.network={}", "no along.network"),
        ("losses.resolutions=[[16384, 300, 600]]", r"data\.segment"),
        ("along.warp=1.5", r"along\.warp"),
        ("along.equaliser_db=-1", r"along\.equaliser_db"),
        ("along.level_db=-1", r"along\.level_db"),
        ("along.hiss_db=[-50, -90]", r"along\.hiss_db"),
        ("along.noise=-1", r"along\.noise"),
        ("along.feature_weight=-1", r"along\.feature_weight"),
        ("along.speaker_weight=-1", r"along\.speaker_weight"),
        ("along.speaker_ramp=-1", r"along\.speaker_ramp"),
        ("along.head=0", r"along\.head"),
        ("along.adversary=0", r"along\.head and \.adversary"),
        ("along.colour=1", "no setting 'colour'"),
        ("along.heard=3200", r"along\.heard"),
        ("along.heard=16100", r"along\.heard"),
        ("losses.words=1", r"losses\.listener"),
        ('losses.listener.source="tiny.en"', r"losses\.words"),
        ("losses.likeness=-1", r"losses\.likeness"),
        ("losses.likeness_share=0", r"losses\.likeness_share"),
    ],
)
def test_what_cannot_learn_along_is_named(setting, told):
    values = read_recipe("istft-along", kind="vocoder")
    if setting == "along.network={}":
        values["along"].pop("network")
    else:
        values = read_recipe("istft-along", [setting], "vocoder")
    with pytest.raises(UsageError, match=told):
        VocoderRecipe.from_values(values)


@pytest.mark.parametrize(
    ("network", "told"),
    [
        ({"architecture": "ssl", "output": "bottleneck"}, "conv and whisper"),
        ({"architecture": "conv", "output": "units", "units": 5}, "no gradient"),
        ({"architecture": "conv", "output": "bottleneck", "sizes": {"hop": 160}}, "160 samples"),
    ],
)
def test_networks_that_cannot_learn_along(network, told):
    if network["architecture"] == "ssl":
        pytest.importorskip("transformers", reason="needs the extra ssl")
        network = {**network, "ssl": {"config": CONFIG}}
    with pytest.raises(UsageError, match=told):
        build_listener(network)


def test_no_discriminators_where_they_would_come_after_the_end():
    assert recipe("hifigan").adversarial
    assert not recipe("hifigan", "losses.adversarial_from=100001").adversarial
    assert not recipe("hifigan", "losses.adversarial=0", "losses.features=0").adversarial


def test_bottleneck_is_a_whole_number():
    network = {"architecture": "istft", "bottleneck": 0, "content": {"channels": 8}, "speaker": 4}
    with pytest.raises(UsageError, match="bottleneck of 0"):
        build_vocoder(network)
