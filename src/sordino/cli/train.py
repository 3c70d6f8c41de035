"""`sordino train`: make models of your own."""

from __future__ import annotations

import argparse

from sordino.cli import (
    train_concealer,
    train_content,
    train_speaker,
    train_units,
    train_vocoder,
    train_voice,
)


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the command line."""
    parser = commands.add_parser(
        "train", help="train models", description="Train models. Needs the extra train."
    )
    models = parser.add_subparsers(title="models", required=True, metavar="MODEL")
    for module in (
        train_speaker,
        train_units,
        train_content,
        train_vocoder,
        train_voice,
        train_concealer,
    ):
        module.add_parser(models)
