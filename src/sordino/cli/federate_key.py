"""`sordino federate key`: the key by which a node is known."""

from __future__ import annotations

import argparse
import sys

from sordino.cli.inputs import path
from sordino.cli.status import EXIT_DONE
from sordino.cli.text import say


def add_parser(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to `sordino federate`."""
    parser = actions.add_parser(
        "key",
        help="make the key of a node",
        description="Write a new private key to FILE, readable by you only, and the public key to"
        " FILE.pub. The private key stays on the node; the server gets FILE.pub, and calls the node"
        " by its name.",
    )
    parser.add_argument("file", type=path, metavar="FILE")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from sordino.federated.flower.node_keys import create_node_key

    public = create_node_key(options.file)
    say(f"wrote {options.file}, which stays here, and {public}, for the server", sys.stdout)
    return EXIT_DONE
