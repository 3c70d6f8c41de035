"""Where a model is found by its name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sordino.errors import UsageError
from sordino.models.bundle import METADATA_NAME, Bundle

MODELS_VARIABLE = "SORDINO_MODELS"
HUB_PREFIX = "hub:"


@dataclass(frozen=True)
class Place:
    """A folder that holds models.

    Attributes:
        name: what it is called in lists.
        folder: each model is a folder in it.
    """

    name: str
    folder: Path


def places(environment: Mapping[str, str] = os.environ) -> tuple[Place, ...]:
    """Where models are looked for by name, first come first served.

    Args:
        environment: its SORDINO_MODELS, if set, stands for the user's models folder.

    Example:
        >>> [place.name for place in places({"SORDINO_MODELS": "models"})]
        ['user', 'package']
    """
    return (
        Place("user", user_models(environment)),
        Place("package", Path(__file__).with_name("bundled")),
    )


def user_models(environment: Mapping[str, str] = os.environ) -> Path:
    """The user's own models folder, which need not exist."""
    import platformdirs

    chosen = environment.get(MODELS_VARIABLE)
    if chosen:
        return Path(chosen)
    return platformdirs.user_data_path("sordino", appauthor=False) / "models"


def installed(environment: Mapping[str, str] = os.environ) -> Iterator[tuple[str, Place]]:
    """Names of all models that can be found by name, each with the place that has it."""
    seen: set[str] = set()
    for place in places(environment):
        if not place.folder.is_dir():
            continue
        for folder in sorted(place.folder.iterdir()):
            hidden = folder.name.startswith(".")
            if folder.name not in seen and not hidden and (folder / METADATA_NAME).is_file():
                seen.add(folder.name)
                yield folder.name, place


def find_model(
    name: str,
    *,
    environment: Mapping[str, str] = os.environ,
    tell: Callable[[str], None] = lambda text: None,
) -> Path:
    """The folder of a model.

    Args:
        name: in this order: "hub:OWNER/NAME[@REVISION]"; the path of a folder (with a separator in
            it); a name in the user's models folder; a name in the package; a folder of that name
            where the program runs.
        environment: see `places`.
        tell: told what is downloaded and how big it is, before it is.

    Raises:
        UsageError: there is no such model; the message names those that there are.
    """
    if name.startswith(HUB_PREFIX):
        from sordino.models.hub import download

        return download(name, tell=tell)
    is_path = any(separator and separator in name for separator in (os.sep, os.altsep))
    if not is_path:
        for place in places(environment):
            if name not in ("", ".", "..") and (place.folder / name / METADATA_NAME).is_file():
                return place.folder / name
    folder = Path(name).expanduser()
    if name and (is_path or (folder / METADATA_NAME).is_file()):
        return folder
    known = ", ".join(found for found, _ in installed(environment)) or "none"
    raise UsageError(f"there is no model {name!r}; there are: {known} (or give its folder)")


def load_model(
    name: str, kind: str | None = None, *, tell: Callable[[str], None] = lambda text: None
) -> Bundle:
    """Find a model, open it and check it.

    Args:
        name: see `find_model`.
        kind: what it must be for; None for anything.
        tell: see `find_model`.

    Raises:
        UsageError: there is none, it is damaged, or it is of another kind.
    """
    bundle = Bundle.load(find_model(name, tell=tell))
    if kind is not None and bundle.kind != kind:
        raise UsageError(f"model {name}: is a {bundle.kind}; a {kind} is needed here")
    return bundle
