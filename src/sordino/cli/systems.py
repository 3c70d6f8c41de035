"""`sordino systems`: which anonymizers there are."""

from __future__ import annotations

import argparse
import inspect
import sys

from sordino.cli.status import EXIT_DONE
from sordino.cli.text import say


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the command line."""
    parser = commands.add_parser(
        "systems",
        help="list the anonymizers and their settings",
        description="List the anonymizers and the settings that --param takes.",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the list."""
    from sordino.anonymize.systems import SYSTEMS

    for name, system in SYSTEMS.items():
        summary, settings = described(inspect.getdoc(system) or "")
        say(f"{name}: {summary}", sys.stdout)
        for line in settings:
            say(f"  {line}", sys.stdout)
        say(f"  {system.protection}", sys.stdout)
    return EXIT_DONE


def described(docstring: str) -> tuple[str, list[str]]:
    """The first line of a class's docstring and the lines of its arguments, without the level.

    Example:
        >>> described("Does it.\\n\\nArgs:\\n    much: how much.\\n    level: who.\\n\\nRaises:")
        ('Does it.', ['much: how much.'])
    """
    first, _, rest = docstring.partition("\n")
    arguments = rest.partition("Args:\n")[2].partition("\n\n")[0]
    without_level = arguments.partition("    level:")[0]
    return first, [line.removeprefix("    ") for line in without_level.splitlines()]
