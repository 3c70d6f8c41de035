from __future__ import annotations

import pytest

from sordino.errors import UsageError
from sordino.training.recipes import read_recipe, recipe_names
from sordino.training.speaker.recipe import SpeakerRecipe
from tests.talkers import TINY, tiny_recipe


@pytest.mark.parametrize("name", recipe_names())
def test_bundled_recipes_are_right(name):
    recipe = SpeakerRecipe.from_values(read_recipe(name))
    assert recipe.name == name
    assert recipe.summary


@pytest.mark.parametrize("name", sorted({*recipe_names()} - {"s-ecapa"}))
def test_networks_of_bundled_recipes_can_be_built(name):
    torch = pytest.importorskip("torch", reason="torch is in the extra train, not installed")
    from sordino.training.networks.encoder import build_encoder, dimension_of

    network = read_recipe(name)["network"]
    with torch.device("meta"):
        sizes = sum(weight.numel() for weight in build_encoder(network).parameters())
    expected = {"ecapa-small": 1.44e6, "f-ecapa": 6.2e6, "f-ecapa-1024": 20.8e6, "xvector": 4.2e6}
    assert sizes == pytest.approx(expected[name], rel=0.05)
    if name == "ecapa-small":
        assert dimension_of(build_encoder(network)) == 192


def test_papers_settings_are_the_defaults():
    recipe = SpeakerRecipe.from_values(read_recipe("f-ecapa"))
    assert (recipe.optimisation.margin, recipe.optimisation.scale) == (0.2, 30.0)
    assert recipe.data.crop_seconds == (3.0, 3.0)


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ({"data": {"validation": 0}}, "data.validation is a share"),
        ({"data": {"validation": 1.0}}, "data.validation is a share"),
        ({"data": {"crop_seconds": [3.0, 1.0]}}, "data.crop_seconds"),
        ({"data": {"crop_seconds": [0.1, 1.0]}}, "data.crop_seconds"),
        ({"data": {"speeds": [3.0]}}, "data.speeds"),
        ({"data": {"speeds": [0.9, 0.9]}}, "data.speeds differ"),
        ({"data": {"speeds": [1.0]}}, "data.speeds differ"),
        ({"data": {"seed": -1}}, "data.seed"),
        ({"voices": {"copies": -1}}, "voices.copies"),
        ({"voices": {"share": 1.5}}, "voices.share"),
        ({"voices": {"tempo": -0.1}}, "voices.pitch, .tract and .tempo"),
        ({"augmentation": {"noise": 1.5}}, "augmentation.noise is a share"),
        ({"augmentation": {"lossy": -0.1}}, "augmentation.lossy is a share"),
        ({"augmentation": {"rooms": -1}}, "augmentation.rooms"),
        ({"augmentation": {"noise_db": [20, 0]}}, "augmentation.noise_db"),
        ({"augmentation": {"level_db": -1}}, "augmentation.level_db"),
        ({"perturbation": {"speed_octaves": -0.1}}, "perturbation.speed_octaves"),
        ({"perturbation": {"tilt_db": -1}}, "perturbation.tilt_db"),
        ({"perturbation": {"overlap": 1.1}}, "perturbation.overlap is a share"),
        ({"perturbation": {"overlap_db": [15, 0]}}, "perturbation.overlap_db"),
        ({"optimisation": {"steps": 0}}, "optimisation.steps"),
        ({"optimisation": {"batch": 1}}, "optimisation.batch"),
        ({"optimisation": {"learning_rate": 0}}, "optimisation.learning_rate"),
        ({"optimisation": {"warmup": -1}}, "optimisation.warmup"),
        ({"optimisation": {"weight_decay": -1}}, "optimisation.weight_decay"),
        ({"optimisation": {"margin": 2.0}}, "optimisation.margin"),
        ({"optimisation": {"scale": 0}}, "optimisation.scale"),
        ({"optimisation": {"classification_weight": 0}}, "nothing is learned"),
        ({"optimisation": {"classification_weight": -1}}, "classification_weight"),
        ({"teacher": {"encoder": "ge2e"}}, "a teacher has a weight"),
        ({"teacher": {"weight": 1.0}}, "a teacher has a weight"),
        ({"teacher": {"encoder": "ge2e", "weight": 1, "shrinkage": 2}}, "teacher.shrinkage"),
        (
            {"teacher": {"encoder": "ge2e", "weight": 1}, "data": {"speeds": [0.9]}},
            "a teacher does not know other speeds",
        ),
        ({"validate_every": 0}, "validate_every"),
    ],
)
def test_what_is_out_of_range_is_told_in_a_line(sections, told):
    with pytest.raises(UsageError) as caught:
        tiny_recipe(**sections)
    assert str(caught.value).startswith("recipe tiny: ")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("missing", ["name", "network"])
def test_what_is_missing_is_told(missing):
    values = {"name": "x", "network": dict(TINY)}
    del values[missing]
    with pytest.raises(UsageError, match=f"the recipe has no {missing}"):
        SpeakerRecipe.from_values(values)


def test_overrides_reach_the_recipe():
    values = read_recipe("ecapa-small", ["data.crop_seconds=[1, 2]", "optimisation.batch=32"])
    recipe = SpeakerRecipe.from_values(values)
    assert recipe.data.crop_seconds == (1.0, 2.0)
    assert recipe.optimisation.batch == 32
