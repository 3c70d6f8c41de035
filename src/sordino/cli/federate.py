"""`sordino federate`: learn from private voices without collecting them."""

from __future__ import annotations

import argparse

from sordino.cli import (
    federate_audit,
    federate_distill,
    federate_join,
    federate_key,
    federate_plan,
    federate_serve,
    federate_simulate,
    federate_trial,
)


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the command line."""
    parser = commands.add_parser(
        "federate",
        help="learn from private voices, with differential privacy",
        description="Train on data that stays on devices, with differential privacy. Needs the"
        " extras train and federated.",
    )
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION")
    for module in (
        federate_plan,
        federate_simulate,
        federate_serve,
        federate_join,
        federate_key,
        federate_trial,
        federate_distill,
        federate_audit,
    ):
        module.add_parser(actions)
