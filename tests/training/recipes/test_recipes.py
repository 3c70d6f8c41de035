from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from sordino.errors import UsageError
from sordino.training.recipes import check, fill, read_recipe, recipe_names


@dataclass(frozen=True)
class Inner:
    pair: tuple[float, float] = (1.0, 2.0)
    many: tuple[int, ...] = ()


@dataclass(frozen=True)
class Outer:
    name: str = ""
    whole: int = 1
    real: float = 0.5
    flag: bool = False
    free: dict[str, object] = field(default_factory=dict)
    inner: Inner = field(default_factory=Inner)


def test_there_are_the_recipes_that_the_documentation_names():
    assert set(recipe_names()) == {"ecapa-small", "f-ecapa", "f-ecapa-1024", "s-ecapa", "xvector"}


@pytest.mark.parametrize("name", recipe_names())
def test_each_is_called_as_its_file(name):
    assert read_recipe(name)["name"] == name


def test_overrides_change_what_they_name_and_nothing_else():
    plain = read_recipe("ecapa-small")
    changed = read_recipe(
        "ecapa-small",
        ["optimisation.steps=7", "network.filterbank.bands=40", "augmentation.rooms=0"],
    )
    assert changed["optimisation"] == {**plain["optimisation"], "steps": 7}
    assert changed["network"]["filterbank"] == {**plain["network"]["filterbank"], "bands": 40}
    assert changed["augmentation"] == {**plain["augmentation"], "rooms": 0}
    assert "rooms" not in plain["augmentation"]
    assert changed["voices"] == plain["voices"]


def test_later_override_wins():
    changed = read_recipe("f-ecapa", ["optimisation.steps=7", "optimisation.steps=9"])
    assert changed["optimisation"]["steps"] == 9


def test_own_file_is_read(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\n[network]\narchitecture = "xvector"\n', encoding="utf-8")
    assert read_recipe(str(path)) == {"name": "mine", "network": {"architecture": "xvector"}}


@pytest.mark.parametrize(
    ("name", "override", "told"),
    [
        ("f-ecappa", [], "there is no speaker recipe 'f-ecappa'"),
        ("no/such.toml", [], "no/such.toml: cannot be read"),
        ("f-ecapa", ["optimisation.steps"], "'optimisation.steps' is no setting"),
        ("f-ecapa", ["optimisation.steps=many"], "setting optimisation.steps is not TOML"),
        ("f-ecapa", ["=5"], "is not TOML"),
        ("f-ecapa", ["a..b=5"], "setting a..b is not TOML"),
    ],
)
def test_mistakes_are_told_in_a_line(name, override, told):
    with pytest.raises(UsageError) as caught:
        read_recipe(name, override)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_file_that_is_not_toml_is_told(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text("name = \n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"bad\.toml is not TOML"):
        read_recipe(str(path))


def test_fill_makes_sections_tuples_and_numbers():
    values = {"real": 2, "free": {"a": [1]}, "inner": {"pair": [3, 4.5], "many": [1, 2, 3]}}
    made = fill(Outer, values)
    assert made == Outer(real=2.0, free={"a": [1]}, inner=Inner((3.0, 4.5), (1, 2, 3)))
    assert isinstance(made.real, float)
    assert isinstance(made.inner.pair[0], float)


def test_fill_of_nothing_is_the_default():
    assert fill(Outer, {}) == Outer()


@dataclass(frozen=True)
class Demanding:
    name: str
    inner: Inner = field(default_factory=lambda: Inner(pair=(5.0, 6.0)))


def test_fill_goes_out_from_the_default_of_a_section():
    made = fill(Demanding, {"name": "x", "inner": {"many": [1]}})
    assert made.inner == Inner((5.0, 6.0), (1,))


def test_fill_asks_for_what_has_no_default():
    with pytest.raises(UsageError, match="the recipe has no name"):
        fill(Demanding, {"inner": {}})


def test_check_names_what_has_to_hold():
    check("mine-2", [(True, "steps is 1 or more")])
    with pytest.raises(UsageError, match="recipe mine: steps is 1 or more"):
        check("mine", [(True, "seed is 0"), (False, "steps is 1 or more")])


@pytest.mark.parametrize("name", ["", "a/b", "..", "-x", "a b", "é"])
def test_check_takes_names_that_a_model_can_have(name):
    with pytest.raises(UsageError, match="has to be of letters"):
        check(name)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"nam": "x"}, "recipe has no setting 'nam'; it has flag, free, inner, name, real, whole"),
        ({"inner": {"par": 1}}, "inner has no setting 'par'; it has many, pair"),
        ({"inner": 5}, "recipe: inner is a section, not a value"),
        ({"name": 5}, "recipe: name is 5; expected text"),
        ({"whole": 1.5}, "recipe: whole is 1.5; expected a whole number"),
        ({"whole": True}, "recipe: whole is True; expected a whole number"),
        ({"real": True}, "recipe: real is True; expected a number"),
        ({"real": "0.5"}, "recipe: real is '0.5'; expected a number"),
        ({"real": float("nan")}, "recipe: real is nan; expected a number"),
        ({"real": float("inf")}, "recipe: real is inf; expected a number"),
        ({"flag": 1}, "recipe: flag is 1; expected true or false"),
        ({"free": "x"}, "recipe: free is 'x'; expected a section"),
        ({"inner": {"pair": 3.0}}, "inner: pair is 3.0; expected a list"),
        ({"inner": {"pair": [3.0]}}, "inner: pair is [3.0]; expected 2 values"),
        ({"inner": {"pair": [3.0, "x"]}}, "inner: pair is 'x'; expected a number"),
        ({"inner": {"many": [1, 2.5]}}, "inner: many is 2.5; expected a whole number"),
    ],
)
def test_fill_names_what_is_wrong(values, told):
    with pytest.raises(UsageError) as caught:
        fill(Outer, values)
    assert str(caught.value) == told
