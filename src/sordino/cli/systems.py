"""`sordino systems`: which anonymizers there are."""

from __future__ import annotations

import argparse


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
        print(f"{name}: {summary}")
        for parameter in inspect.signature(system).parameters.values():
            print(f"  {parameter.name} (default: {parameter.default})")
    return 0
