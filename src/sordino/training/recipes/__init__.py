"""Recipes: files in TOML, and how they are read."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from sordino.errors import UsageError

Recipe = TypeVar("Recipe")


def recipe_names() -> tuple[str, ...]:
    """The recipes that come with the package.

    Example:
        >>> "ecapa-small" in recipe_names()
        True
    """
    files = resources.files("sordino.training.recipes").iterdir()
    return tuple(sorted(f.name[:-5] for f in files if f.name.endswith(".toml")))


def read_recipe(name: str, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """A recipe as nested dictionaries.

    Args:
        name: one of `recipe_names`, or the path of a file that ends in .toml.
        overrides: settings to change, as "section.setting=value" with the value in TOML.

    Raises:
        UsageError: no such recipe, or what it says is not TOML.

    Example:
        >>> read_recipe("ecapa-small", ["optimisation.steps=10"])["optimisation"]["steps"]
        10
    """
    if name in recipe_names():
        text = resources.files("sordino.training.recipes").joinpath(f"{name}.toml").read_text()
    elif name.endswith(".toml"):
        try:
            text = Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"recipe {name}: cannot be read ({error})") from error
    else:
        raise UsageError(
            f"there is no recipe {name!r}; there are {', '.join(recipe_names())},"
            " or name a file that ends in .toml"
        )
    recipe = _parsed(text, f"recipe {name}")
    for override in overrides:
        key, equals, _ = override.partition("=")
        if not equals:
            raise UsageError(f"{override!r} is no setting; write section.setting=value")
        _merge(recipe, _parsed(override, f"setting {key}"))
    return recipe


def fill(kind: type[Recipe], values: Mapping[str, Any], where: str = "recipe") -> Recipe:
    """A dataclass, with dataclasses in it, from nested dictionaries; lists become tuples.

    Raises:
        UsageError: a setting that there is not, or one of another type; the message names it.
    """
    hints = get_type_hints(kind)
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    arguments: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise UsageError(
                f"{where} has no setting {name!r}; it has {', '.join(sorted(known))}"
            )
        hint = hints[name]
        if is_dataclass(hint):
            if not isinstance(value, Mapping):
                raise UsageError(f"{where}: {name} is a section, not a value")
            arguments[name] = fill(hint, value, name)
        else:
            arguments[name] = _converted(value, hint, f"{where}: {name}")
    return kind(**arguments)


def _converted(value: Any, hint: Any, where: str) -> Any:
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, list):
        return tuple(value)
    if isinstance(hint, type) and not isinstance(value, hint):
        raise UsageError(f"{where} is {value!r}; expected {hint.__name__}")
    return value


def _parsed(text: str, where: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where} is not TOML: {error}") from error


def _merge(into: dict[str, Any], new: Mapping[str, Any]) -> None:
    for name, value in new.items():
        if isinstance(value, dict) and isinstance(into.get(name), dict):
            _merge(into[name], value)
        else:
            into[name] = value
