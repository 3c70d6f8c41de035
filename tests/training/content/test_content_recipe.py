"""Recipes for content encoders: those that ship, and what is refused."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from sordino.errors import UsageError
from sordino.training.content.recipe import ContentRecipe
from sordino.training.networks.content import build_content
from sordino.training.recipes import read_recipe, recipe_names

SOFT = {"architecture": "conv", "output": "soft"}


def shipped(name: str) -> ContentRecipe:
    return ContentRecipe.from_values(read_recipe(name, kind="content"))


@pytest.mark.parametrize("name", recipe_names("content"))
def test_those_that_ship_are_right(name):
    recipe = shipped(name)
    assert recipe.name == name
    assert recipe.summary
    if recipe.network["architecture"] == "conv":
        network = build_content({"units": 200, **recipe.network})
        weights = sum(value.numel() for value in network.parameters())
        assert 3e6 < weights < 5e6
        assert network.context <= 20000


def test_the_papers():
    recipe = shipped("soft-hubert")
    assert recipe.network == {"architecture": "ssl", "output": "soft", "temperature": 0.1}
    assert recipe.optimisation.unit_weight == 1
    assert recipe.optimisation.feature_weight == 0
    # It hears speech as it is.
    effects = recipe.augmentation
    assert {effects.reverberation, effects.noise, effects.babble, effects.level_db} == {0}
    assert recipe.perturbation.speed_octaves == recipe.perturbation.tilt_db == 0
    assert recipe.voices.copies == 0
    assert {shipped(name).optimisation.steps for name in ("hubert-features", "hubert-units")} == {0}


def test_nothing_happens_that_is_not_said():
    plain = ContentRecipe.from_values({"name": "x", "network": SOFT})
    noisy = ContentRecipe.from_values(
        {"name": "x", "network": SOFT, "augmentation": {"noise": 0.5}, "voices": {"copies": 2}}
    )
    assert (noisy.augmentation.noise, noisy.augmentation.babble) == (0.5, 0)
    assert noisy.augmentation.rooms == 0
    assert (noisy.voices.tempo, noisy.voices.copies) == (0, 2)
    assert plain.augmentation == ContentRecipe("x", SOFT).augmentation


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ({"name": "a/b"}, "its name 'a/b'"),
        ({"data": {"validation": 1.0}}, "data.validation"),
        ({"data": {"crop_seconds": 0.05}}, "data.crop_seconds"),
        ({"data": {"seed": -1}}, "data.seed"),
        ({"voices": {"copies": -1}}, "voices.copies"),
        ({"voices": {"share": 1.5}}, "voices.share"),
        ({"voices": {"pitch": -0.1}}, "voices.pitch"),
        ({"voices": {"copies": 1, "tempo": 0.1}}, "voices.tempo is 0"),
        ({"validate_every": 0}, "validate_every"),
        ({"augmentation": {"noise": 2.0}}, "augmentation.noise"),
        ({"augmentation": {"rooms": -1}}, "augmentation.rooms"),
        ({"augmentation": {"noise_db": [3.0, 1.0]}}, "augmentation.noise_db"),
        ({"augmentation": {"level_db": -3.0}}, "augmentation.level_db"),
        ({"perturbation": {"speed_octaves": 1.5}}, "perturbation.speed_octaves"),
        ({"perturbation": {"tilt_db": -1.0}}, "perturbation.tilt_db"),
        ({"perturbation": {"overlap": 0.1}}, "no setting 'overlap'"),
        ({"decoder": {"layers": -1}}, "decoder.layers"),
        ({"decoder": {"channels": 0}}, "decoder.channels"),
        ({"decoder": {"kernel": 4}}, "decoder.kernel"),
        ({"decoder": {"noise": -0.1}}, "decoder.noise"),
        ({"optimisation": {"steps": -1}}, "optimisation.steps"),
        ({"optimisation": {"batch": 0}}, "optimisation.batch"),
        ({"optimisation": {"learning_rate": 0.0}}, "optimisation.learning_rate"),
        ({"optimisation": {"warmup": -1}}, "optimisation.warmup"),
        ({"optimisation": {"weight_decay": -1.0}}, "optimisation.weight_decay"),
        ({"optimisation": {"feature_weight": -1.0}}, "optimisation.unit_weight and"),
        ({"optimisation": {"unit_weight": 0.0}}, "nothing is learned"),
        (
            {"optimisation": {"unit_weight": 0.0, "feature_weight": 1.0}},
            "optimisation.unit_weight is more than 0",
        ),
        (
            {"network": {"architecture": "ssl", "output": "units"}},
            "nearest centroids are not trained",
        ),
    ],
)
def test_refusals(section, told):
    with pytest.raises(UsageError, match=told):
        ContentRecipe.from_values({"name": "x", "network": SOFT, **section})


@pytest.mark.parametrize("missing", ["name", "network"])
def test_incomplete(missing):
    values = {"name": "x", "network": SOFT}
    del values[missing]
    with pytest.raises(UsageError, match=f"the recipe has no {missing}"):
        ContentRecipe.from_values(values)
