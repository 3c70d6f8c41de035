"""Recipes: files in TOML, and how they are read."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from sordino.errors import UsageError
from sordino.models.bundle import NAME

if TYPE_CHECKING:
    from importlib.abc import Traversable

Recipe = TypeVar("Recipe")

_KINDS: Mapping[type, str] = {
    bool: "true or false",
    dict: "a section",
    float: "a number",
    int: "a whole number",
    str: "text",
    tuple: "a list",
}


Kind = Literal["speaker", "units", "content", "vocoder", "voice", "concealer"]
"""What a recipe makes; its folder here."""


def recipe_names(kind: Kind = "speaker") -> tuple[str, ...]:
    """The recipes that come with the package.

    Example:
        >>> "ecapa-small" in recipe_names("speaker")
        True
    """
    files = _folder(kind).iterdir()
    return tuple(sorted(f.name[:-5] for f in files if f.name.endswith(".toml")))


def read_recipe(name: str, overrides: Sequence[str] = (), kind: Kind = "speaker") -> dict[str, Any]:
    """A recipe as nested dictionaries.

    Args:
        name: one of `recipe_names`, or the path of a file that ends in .toml.
        overrides: settings to change, as "section.setting=value" with the value in TOML.
        kind: what it makes.

    Raises:
        UsageError: no such recipe, or what it says is not TOML.

    Example:
        >>> read_recipe("ecapa-small", ["optimisation.steps=10"])["optimisation"]["steps"]
        10
    """
    if name in recipe_names(kind):
        text = (_folder(kind) / f"{name}.toml").read_text(encoding="utf-8")
    elif name.endswith(".toml"):
        try:
            text = Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"recipe {name}: cannot be read ({error})") from error
    else:
        raise UsageError(
            f"there is no {kind} recipe {name!r}; there are {', '.join(recipe_names(kind))},"
            " or name a file that ends in .toml"
        )
    recipe = _parsed(text, f"recipe {name}")
    for override in overrides:
        key, equals, _ = override.partition("=")
        if not equals:
            raise UsageError(f"{override!r} is no setting; write section.setting=value")
        _merge(recipe, _parsed(override, f"setting {key}"))
    return recipe


def fill(kind: type[Recipe], values: Mapping[str, Any]) -> Recipe:
    """A dataclass, with dataclasses in it, from nested dictionaries; lists become tuples.

    Args:
        kind: the dataclass; those in it have a default factory, which gives what their sections do
            not say.
        values: the settings by their names.

    Raises:
        UsageError: a setting that there is not, one of another type, or one that is missing; the
            message names it.
    """
    arguments = _arguments(kind, values, "recipe")
    for name, field in _fields(kind).items():
        optional = field.default is not MISSING or field.default_factory is not MISSING
        if not optional and name not in arguments:
            raise UsageError(f"the recipe has no {name}")
    return kind(**arguments)


def check(name: str, rules: Iterable[tuple[bool, str]] = ()) -> None:
    """See that a recipe's name can be that of a model, and that what it says is in range.

    Args:
        name: of the recipe; it is needed after the last step.
        rules: whether each holds, and what has to hold.

    Raises:
        UsageError: something does not; the message says what has to.

    Example:
        >>> check("mine", [(True, "data.seed is 0 or more")])
    """
    named = NAME.fullmatch(name) is not None
    letters = f"its name {name!r} has to be of letters, digits, '.', '_' and '-'"
    for right, what in ((named, letters), *rules):
        if not right:
            raise UsageError(f"recipe {name}: {what}")


def _folder(kind: Kind) -> Traversable:
    return resources.files("sordino.training.recipes") / kind


def _fields(kind: type) -> dict[str, Field[Any]]:
    return {field.name: field for field in fields(kind)}


def _arguments(kind: type, values: Mapping[str, Any], where: str) -> dict[str, Any]:
    hints, known = get_type_hints(kind), _fields(kind)
    arguments: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise UsageError(f"{where} has no setting {name!r}; it has {', '.join(sorted(known))}")
        hint = hints[name]
        if isinstance(hint, type) and is_dataclass(hint):
            if not isinstance(value, Mapping):
                raise UsageError(f"{where}: {name} is a section, not a value")
            default: Any = known[name].default_factory
            arguments[name] = replace(default(), **_arguments(hint, value, name))
        else:
            arguments[name] = _converted(value, hint, f"{where}: {name}")
    return arguments


def _converted(value: Any, hint: Any, where: str) -> Any:
    kind = get_origin(hint) or hint
    if kind is tuple and isinstance(value, list | tuple):
        return _converted_list(value, get_args(hint), where)
    if kind is float and type(value) is int:
        return float(value)
    # True is an int in Python, but not in a recipe.
    fits = isinstance(value, kind) and (type(value) is not bool or kind is bool)
    if not fits or (kind is float and not math.isfinite(value)):
        raise UsageError(f"{where} is {value!r}; expected {_KINDS.get(kind, kind.__name__)}")
    return value


def _converted_list(values: Sequence[Any], hints: Sequence[Any], where: str) -> tuple[Any, ...]:
    kinds = [hints[0]] * len(values) if hints[-1] is Ellipsis else hints
    if len(values) != len(kinds):
        raise UsageError(f"{where} is {list(values)!r}; expected {len(kinds)} values")
    return tuple(_converted(v, kind, where) for v, kind in zip(values, kinds, strict=True))


def _parsed(text: str, where: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return dict(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where} is not TOML: {error}") from error


def _merge(into: dict[str, Any], new: Mapping[str, Any]) -> None:
    for name, value in new.items():
        if isinstance(value, dict) and isinstance(into.get(name), dict):
            _merge(into[name], value)
        else:
            into[name] = value
