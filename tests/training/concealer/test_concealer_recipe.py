"""Recipes for concealers: those that ship, and what is refused."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from sordino.errors import UsageError
from sordino.training.concealer.recipe import ConcealerRecipe
from sordino.training.concealer.task import noise_of
from sordino.training.recipes import read_recipe, recipe_names

PLAIN = {"architecture": "autoencoder"}


def shipped(name: str) -> ConcealerRecipe:
    return ConcealerRecipe.from_values(read_recipe(name, kind="concealer"))


def test_there_are_the_recipes_that_the_command_names():
    assert set(recipe_names("concealer")) == {"paper", "paper-noiseless", "privunit", "sordino"}


@pytest.mark.parametrize("name", recipe_names("concealer"))
def test_those_that_ship_are_right(name):
    recipe = shipped(name)
    assert recipe.name == name
    assert recipe.summary


def test_the_papers():
    recipe = shipped("paper")
    assert recipe.network == {"architecture": "autoencoder", "latent": 64}
    assert (recipe.noise.mechanism, recipe.noise.epsilon, recipe.noise.clip) == (
        "laplace",
        15,
        "median",
    )
    adversary, wanted = recipe.adversary, recipe.optimisation
    assert (adversary.hidden, adversary.sees, adversary.goal) == ((32,), ("latent",), "invert")
    assert (adversary.weight, adversary.updates, adversary.fresh_every) == (1, 1, 0)
    assert adversary.learning_rate == wanted.learning_rate == 1e-3
    assert (wanted.batch, wanted.weight_decay, adversary.weight_decay) == (128, 0, 0)
    # Equation 4 has two terms.
    assert wanted.reconstruction == 1
    assert {wanted.scores, wanted.speakers, wanted.dependence, wanted.still} == {0}
    assert not recipe.start.erasure
    assert not recipe.data.unit_length


def test_the_papers_first_system_differs_in_its_noise_alone():
    plain, noisy = shipped("paper-noiseless"), shipped("paper")
    assert plain.noise.mechanism == "none"
    for name in ("network", "data", "start", "adversary", "optimisation"):
        assert getattr(plain, name) == getattr(noisy, name)


def test_epsilon_is_infinite_without_noise_in_training():
    values = {"name": "x", "network": PLAIN, "noise": {"in_training": False}}
    assert noise_of(ConcealerRecipe.from_values(values).noise, 64).epsilon == math.inf


GATED = {"architecture": "gated"}


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ({"name": "a/b"}, "its name 'a/b'"),
        ({"network": {"architecture": "vae"}}, "no architecture 'vae'"),
        ({"data": {"validation": 1.0}}, "data.validation"),
        ({"data": {"draw": "row"}}, "data.draw is one of template, speaker"),
        ({"data": {"seed": -1}}, "data.seed"),
        ({"start": {"networks": "random"}}, "start.networks is one of"),
        ({"start": {"networks": "barycentre"}}, "only the architecture gated"),
        ({"start": {"within": 2.0}}, "start.within"),
        ({"start": {"shared": -1.0}}, "start.shared"),
        ({"noise": {"mechanism": "salt"}}, "noise.mechanism is one of"),
        ({"noise": {"epsilon": 0.0}}, "noise.epsilon"),
        ({"noise": {"delta": 1.0}}, "noise.delta"),
        ({"noise": {"length": 0.0}}, "noise.length"),
        ({"noise": {"clip": "mean"}}, "noise.clip is one of"),
        ({"noise": {"clip_epsilon": 0.0}}, "noise.clip_epsilon"),
        ({"noise": {"frozen_at": 0.0}}, "noise.frozen_at"),
        ({"adversary": {"hidden": [0]}}, "adversary.hidden"),
        ({"adversary": {"hidden": []}}, "adversaries with a weight have hidden units"),
        ({"adversary": {"sees": ["eye"]}}, "adversary.sees lists some of"),
        ({"adversary": {"sees": ["latent", "latent"]}}, "each once"),
        ({"adversary": {"goal": "win"}}, "adversary.goal is one of"),
        ({"adversary": {"weight": -1.0}}, "adversary.weight"),
        ({"adversary": {"updates": 0}}, "adversary.updates"),
        ({"adversary": {"learning_rate": 0.0}}, "adversary.learning_rate"),
        ({"adversary": {"weight_decay": -1.0}}, "adversary.weight_decay"),
        ({"adversary": {"fresh_every": -1}}, "adversary.fresh_every"),
        ({"optimisation": {"steps": -1}}, "optimisation.steps"),
        ({"optimisation": {"steps": 0}}, "fresh networks have to learn"),
        ({"optimisation": {"batch": 2}}, "optimisation.batch"),
        ({"optimisation": {"learning_rate": 0.0}}, "optimisation.learning_rate"),
        ({"optimisation": {"weight_decay": -1.0}}, "optimisation.weight_decay"),
        ({"optimisation": {"scores": -1.0}}, "optimisation.scores"),
        ({"optimisation": {"speakers": -1.0}}, "optimisation.speakers"),
        ({"optimisation": {"dependence": -1.0}}, "optimisation.dependence"),
        ({"optimisation": {"still": -1.0}}, "optimisation.still"),
        ({"optimisation": {"margin": 2.0}}, "optimisation.margin"),
        ({"optimisation": {"scale": 0.0}}, "optimisation.scale"),
        ({"optimisation": {"reconstruction": 0.0}}, "nothing keeps speakers apart"),
        ({"validate_every": 0}, "validate_every"),
    ],
)
def test_refusals(section, told):
    with pytest.raises(UsageError, match=told):
        ConcealerRecipe.from_values({"name": "x", "network": PLAIN, **section})


def test_a_computed_concealer_needs_no_steps():
    values = {
        "name": "x",
        "network": GATED,
        "start": {"networks": "barycentre"},
        "optimisation": {"steps": 0},
    }
    assert ConcealerRecipe.from_values(values).optimisation.steps == 0
