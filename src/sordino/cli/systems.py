"""`sordino systems`: which anonymizers there are."""

from __future__ import annotations

import argparse
import inspect
import sys
import textwrap
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from sordino.cli.status import EXIT_DONE
from sordino.cli.text import say
from sordino.errors import UsageError

if TYPE_CHECKING:
    from sordino.anonymize.base import Anonymizer

_WIDTH = 100


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the command line."""
    parser = commands.add_parser(
        "systems",
        help="list the anonymizers and their settings",
        description="List the anonymizers and the settings that --param takes.",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="tell of this one only")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the list."""
    from sordino.anonymize.systems import SYSTEMS

    if options.name not in {None, *SYSTEMS}:
        raise UsageError(f"there is no system {options.name!r}; there are: {', '.join(SYSTEMS)}")
    for name, system in SYSTEMS.items():
        if options.name in {None, name}:
            for line in told(name, system):
                say(line, sys.stdout)
    return EXIT_DONE


def told(name: str, system: type[Anonymizer]) -> list[str]:
    """What a system is, what it protects from, and its settings in columns, with defaults."""
    summary, settings = described(inspect.getdoc(system) or "")
    known = inspect.signature(system).parameters
    wrap = partial(textwrap.wrap, width=_WIDTH, break_on_hyphens=False)
    lines = wrap(system.protection, initial_indent="  ", subsequent_indent="  ")
    column = 2 + max(map(len, settings), default=0)
    for setting, text in settings.items():
        default = known[setting].default if setting in known else None
        shown = "" if default in {None, inspect.Parameter.empty} else f" ({default})"
        lines += wrap(
            text.rstrip(".") + shown,
            initial_indent=f"  {setting:<{column}}",
            subsequent_indent=" " * (2 + column),
        )
    return [f"{name}: {summary}", *lines]


def described(docstring: str) -> tuple[str, Mapping[str, str]]:
    """The first line of a class's docstring, and what it says of its arguments but the level.

    Example:
        >>> described("Does it.\\n\\nArgs:\\n    much: how\\n        much.\\n    level: who.\\n")
        ('Does it.', {'much': 'how much.'})
    """
    first, _, rest = docstring.partition("\n")
    settings: dict[str, str] = {}
    for line in rest.partition("Args:\n")[2].partition("\n\n")[0].splitlines():
        if line.startswith(" " * 8) and settings:
            settings[list(settings)[-1]] += f" {line.strip()}"
        else:
            name, _, text = line.strip().partition(": ")
            settings[name] = text
    settings.pop("level", None)
    return first, settings
