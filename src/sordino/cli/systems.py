"""`sordino systems`: which anonymizers there are."""

from __future__ import annotations

import argparse
import sys

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
    import inspect

    from sordino.anonymize.systems import SYSTEMS

    for name, system in SYSTEMS.items():
        summary = (inspect.getdoc(system) or "").splitlines()[0]
        say(f"{name}: {summary}", sys.stdout)
        for parameter in inspect.signature(system).parameters.values():
            if parameter.name != "level":
                say(f"  {parameter.name} (default: {parameter.default})", sys.stdout)
    return 0
