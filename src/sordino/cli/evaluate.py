"""`sordino evaluate`: attacks, and what they find."""

from __future__ import annotations

import argparse

from sordino.cli import (
    evaluate_ablation,
    evaluate_anonymization,
    evaluate_concealment,
    evaluate_embeddings,
    evaluate_scores,
)


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the command line."""
    parser = commands.add_parser(
        "evaluate",
        help="measure how well speakers are protected",
        description="Measure how well speakers are protected, and at what loss.",
    )
    kinds = parser.add_subparsers(title="what to evaluate", required=True, metavar="KIND")
    for module in (
        evaluate_anonymization,
        evaluate_ablation,
        evaluate_embeddings,
        evaluate_concealment,
        evaluate_scores,
    ):
        module.add_parser(kinds)
