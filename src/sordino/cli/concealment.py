"""Options of every command that conceals, and what they say."""

from __future__ import annotations

import argparse
import math
import sys
from typing import TYPE_CHECKING

from sordino.cli.inputs import path
from sordino.cli.text import say
from sordino.errors import UsageError

if TYPE_CHECKING:
    from sordino.conceal.concealment import Concealment
    from sordino.privacy.ledger import Ledger

_MECHANISMS = ("laplace", "gaussian", "privunit", "privunit-g")


def epsilon(text: str) -> float:
    """A number above 0, or inf; for `type=` of an argument.

    Example:
        >>> epsilon("15"), epsilon("inf")
        (15.0, inf)
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not number > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0, nor inf")
    return number


def add_release_options(group: argparse._ArgumentGroup, *, required: bool) -> None:
    """Add --epsilon, --mechanism, --ledger, --ledger-key and --purpose."""
    add = group.add_argument
    add(
        "--epsilon",
        type=epsilon,
        required=required,
        metavar="E",
        help="of the noise at release, above 0; smaller protects more; inf for none, and then"
        " nothing is guaranteed",
    )
    add(
        "--mechanism",
        choices=_MECHANISMS,
        metavar="NAME",
        help=f"{', '.join(_MECHANISMS)} (default: what the concealer was made for)",
    )
    add(
        "--ledger",
        type=path,
        metavar="FILE",
        help="count what each person spends, and stop at a limit; see: sordino ledger",
    )
    add("--purpose", metavar="TEXT", help="what the ledger counts this for")
    add(
        "--ledger-key",
        type=path,
        metavar="FILE",
        help="the key of the ledger (default: beside it, else SORDINO_KEY)",
    )


def concealment_of(model: str, options: argparse.Namespace) -> Concealment:
    """What the options say.

    Raises:
        UsageError: there is no such concealer, or it cannot release in this way.
    """
    from sordino.conceal import load

    if options.epsilon is None:
        raise UsageError("give --epsilon E, or --epsilon inf for no noise and no guarantee")
    concealer = load(model, tell=lambda text: say(text, sys.stderr))
    concealment = concealer.at(options.epsilon, options.mechanism)
    if math.isinf(concealment.epsilon):
        say("note: no DP guarantee: no noise is added at release", sys.stderr)
    return concealment


def ledger_of(options: argparse.Namespace) -> Ledger | None:
    """The ledger of --ledger, if there is one.

    Raises:
        UsageError: --ledger and --purpose do not come together, or there is nothing to count.
    """
    if (options.ledger is None) != (options.purpose is None):
        raise UsageError("--ledger and --purpose go together")
    if options.ledger is None:
        if options.ledger_key is not None:
            raise UsageError("--ledger-key goes with --ledger")
        return None
    if options.epsilon is None or math.isinf(options.epsilon):
        raise UsageError("--ledger counts epsilon; without noise there is nothing to count")
    from sordino.cli.ledger import open_ledger

    return open_ledger(argparse.Namespace(ledger=options.ledger, key_file=options.ledger_key))
