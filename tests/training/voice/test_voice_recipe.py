"""Recipes for voices: what comes with the package, and what is refused."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is in the extra train, not installed")

from sordino.errors import UsageError
from sordino.training.recipes import read_recipe, recipe_names
from sordino.training.voice.recipe import VoiceRecipe
from sordino.training.voice.run import Steps


def recipe(name: str, *overrides: str) -> VoiceRecipe:
    return VoiceRecipe.from_values(read_recipe(name, overrides, "voice"))


@pytest.mark.parametrize("name", recipe_names("voice"))
def test_all_steps_of_those_of_the_package_are_there(name):
    found = recipe(name)
    assert found.name == name
    steps = Steps.of(found)
    assert steps.vocoder is not None
    assert (steps.content is None) == found.trains_along == (name == "sordino-small")
    assert (steps.units is None) == (name in {"features-f-ecapa", "sordino-small"})
    assert (steps.vocoder.encoder, steps.vocoder.tracker) == (found.encoder, found.tracker)


def test_those_of_the_paper_are_its_rows():
    rows = {
        "soft-f-ecapa": ("soft-hubert", "f-ecapa", "hifigan"),
        "soft-s-ecapa": ("soft-hubert", "s-ecapa", "hifigan"),
        "soft-xvector": ("soft-hubert", "xvector", "hifigan"),
        "units-f-ecapa": ("hubert-units", "f-ecapa", "hifigan"),
        "features-f-ecapa": ("hubert-features", "f-ecapa", "hifigan"),
        "two-stage-xvector": ("soft-hubert", "xvector", "two-stage"),
    }
    for name, (content, encoder, vocoder) in rows.items():
        found = recipe(name)
        assert found.tracker == "yaapt"
        parts = (found.content["recipe"], found.encoder, found.vocoder["recipe"])
        assert parts == (content, encoder, vocoder)


def test_a_section_changes_the_steps_recipe():
    found = recipe("soft-f-ecapa", "vocoder.optimisation.steps=7", "units.units=9")
    steps = Steps.of(found)
    assert steps.vocoder.optimisation.steps == 7
    assert steps.vocoder.optimisation.batch == 32
    assert steps.units.units == 9


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ('name="a b"', "its name"),
        ("content={}", "content.recipe or content.model"),
        ("vocoder={steps=1}", "vocoder.recipe or vocoder.model"),
        ("pool.utterances=0", "utterances is 1 or more"),
        ("pool.speakers=-1", "speakers is 0 or more"),
        ("pool.shortest_seconds=40", "shortest_seconds"),
        ("pool.seed=-1", "seed"),
        ("colour=1", "no setting 'colour'"),
    ],
)
def test_what_will_not_do_is_named(setting, told):
    values = read_recipe("soft-f-ecapa", kind="voice")
    if setting.startswith(("content", "vocoder")):
        values.pop(setting.partition("=")[0])
    key, _, text = setting.partition("=")
    changed = read_recipe("soft-f-ecapa", [setting], "voice")
    if text.startswith("{"):
        changed[key] = {} if text == "{}" else {"steps": 1}
    with pytest.raises(UsageError, match=told):
        VoiceRecipe.from_values(changed)


@pytest.mark.parametrize("section", ["content", "units"])
def test_what_is_trained_along_is_no_step(section):
    found = recipe("sordino-small", f'{section}.model="soft"')
    with pytest.raises(UsageError, match="trains a content network along"):
        Steps.of(found)


def test_a_ready_vocoder_needs_its_content():
    values = read_recipe("sordino-small", kind="voice")
    values["vocoder"] = {"model": "mine"}
    with pytest.raises(UsageError, match=r"content\.recipe or content\.model"):
        VoiceRecipe.from_values(values)
    values["content"] = {"model": "mine-content"}
    assert Steps.of(VoiceRecipe.from_values(values)) == Steps(None, None, None)


def test_a_steps_recipe_is_checked_before_anything_is_done():
    with pytest.raises(UsageError, match=r"optimisation\.steps"):
        Steps.of(recipe("soft-f-ecapa", "vocoder.optimisation.steps=0"))
    with pytest.raises(UsageError, match="no vocoder recipe 'nothing'"):
        Steps.of(recipe("soft-f-ecapa", 'vocoder.recipe="nothing"'))
