"""`sordino key`: make a secret key."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sordino.cli.status import EXIT_DONE
from sordino.cli.text import say


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the command line."""
    parser = commands.add_parser(
        "key",
        help="make a secret key",
        description="Write a new random key to FILE, readable by you only. Keep it apart from the"
        " anonymized recordings: whoever has it can tell whose recordings belong together.",
    )
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Make the key file."""
    from sordino.privacy.keys import create_key_file

    create_key_file(options.file)
    say(f"wrote a new key to {options.file}; keep it apart from the recordings", sys.stdout)
    return EXIT_DONE
