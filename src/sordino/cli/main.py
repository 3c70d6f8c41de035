"""Entry point: choose the command, run it, turn errors into one line and an exit status."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import TextIO

from sordino.cli import (
    anonymize,
    conceal,
    embed,
    evaluate,
    federate,
    key,
    ledger,
    models,
    systems,
    train,
    voices,
)
from sordino.cli.status import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE
from sordino.cli.text import say
from sordino.errors import OutputError, SordinoError, UsageError
from sordino.version import __version__


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="sordino", description="Keep what is said, mute who says it."
    )
    parser.add_argument("--version", action="version", version=f"sordino {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for module in (
        anonymize,
        key,
        systems,
        voices,
        embed,
        conceal,
        ledger,
        evaluate,
        train,
        federate,
        models,
    ):
        module.add_parser(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Args:
        arguments: the command line without the program's name; None for the process's own.

    Returns:
        Exit status: 0 all done, 1 something failed, 2 the request cannot be carried out, 130
        interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    options = build_parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except UsageError as error:
        return _complain(error, EXIT_USAGE)
    except SordinoError as error:
        return _complain(error, EXIT_FAILED)
    except OSError as error:
        return _complain(OutputError(f"{error.filename}: {error.strerror}"), EXIT_FAILED)
    except KeyboardInterrupt:
        say("sordino: interrupted", sys.stderr)
        return EXIT_INTERRUPTED


def entry() -> None:
    """What the installed program calls."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    status = main()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            _settle(stream)
    sys.exit(status)


def _settle(stream: TextIO) -> None:
    try:
        stream.flush()
    except OSError:
        # Nobody reads: keep the interpreter from complaining of it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _complain(error: SordinoError, status: int) -> int:
    say(f"sordino: {error}", sys.stderr)
    return status
