"""Packages of the extra `evaluate`, imported when a measure needs them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from sordino.errors import UsageError

INSTALL = "pip install 'sordino[evaluate]'"


def load_extra(module: str, what: str, package: str) -> ModuleType:
    """Import a module of the extra.

    Args:
        module: its name.
        what: needs it, in the plural, for the message.
        package: what it is installed as.

    Raises:
        UsageError: it is not installed.

    Example:
        >>> load_extra("nowhere", "figures", "nowhere")
        Traceback (most recent call last):
        sordino.errors.UsageError: figures need the package nowhere: pip install 'sordino[evaluate]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise _missing(what, package) from error


def folder_of(module: str, what: str, package: str) -> Path:
    """The folder of an installed package, which is not imported.

    Args:
        module: its name, without dots.
        what: see `load_extra`.
        package: see `load_extra`.

    Raises:
        UsageError: it is not installed.
    """
    folder = installed_folder(module)
    if folder is None:
        raise _missing(what, package)
    return folder


def installed_folder(module: str) -> Path | None:
    """The folder of a package, or None where it is not installed.

    Args:
        module: its name, without dots.

    Example:
        >>> installed_folder("sordino").name, installed_folder("nowhere")
        ('sordino', None)
    """
    found = find_spec(module)
    if found is None or not found.submodule_search_locations:
        return None
    return Path(next(iter(found.submodule_search_locations)))


def _missing(what: str, package: str) -> UsageError:
    return UsageError(f"{what} need the package {package}: {INSTALL}")
