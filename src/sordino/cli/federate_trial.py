"""`sordino federate trial`: a training over a network, all of it on this machine."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from sordino.cli.federate_serve import tell_served, teller
from sordino.cli.federate_terms import add_terms, terms_of
from sordino.cli.inputs import path, positive
from sordino.cli.status import EXIT_DONE
from sordino.cli.text import say
from sordino.errors import UsageError

if TYPE_CHECKING:
    from sordino.federated.populations.synthetic import SyntheticPopulation

_EPILOG = """\
examples:
  sordino federate trial RUN --nodes 4
  sordino federate trial RUN anna.npz ben.npz cleo.csv --regime local --local-epsilon 8
"""
_CLASSES, _INPUTS = 2, 8


def add_parser(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to `sordino federate`."""
    parser = actions.add_parser(
        "trial",
        help="try a training over a network on this machine",
        description="Run a server and several nodes on this machine, with keys, certificates and"
        " ledgers as in earnest, until the training is over. Each FILE is the data of one node,"
        " as for sordino federate join; without, they are made up. Needs the extra federated.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("run_folder", type=path, metavar="RUN")
    add("data", type=path, nargs="*", metavar="FILE")
    add("--nodes", type=positive, metavar="N", help="nodes with made-up data (default: 4)")
    add("--label", default="label", metavar="NAME", help="array or column of the labels")
    add("--port", type=positive, metavar="N", help="default: one that is free")
    add(
        "--deadline",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="a round ends then, whoever is missing (default: %(default)g)",
    )
    add("-q", "--quiet", action="store_true", help="say nothing of single rounds")
    add_terms(parser, shapes=False, regime="none", rounds=10)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from sordino.federated.flower.examples import shapes_of, write_examples
    from sordino.federated.flower.extra import require_flower
    from sordino.federated.flower.trial import free_port, trial
    from sordino.federated.model import load_model

    require_flower()
    if options.data and options.nodes:
        raise UsageError("--nodes makes up data; there is none to make up beside files")
    population = None if options.data else _made_up(options.nodes or 4, options.seed or 0)
    if population is None:
        data = list(options.data)
        classes, inputs = shapes_of(data, options.label)
    else:
        data = write_examples(options.run_folder / "data", population, options.label)
        classes, inputs = population.classes, population.inputs
    deployment, initial = terms_of(options, len(data), classes=classes, inputs=inputs)
    served = trial(
        options.run_folder,
        data,
        deployment,
        initial,
        options.port or free_port(),
        label=options.label,
        deadline=options.deadline,
        tell=teller(quiet=options.quiet),
    )
    tell_served(served)
    if population is not None:
        held_out = population.held_out
        guesses = load_model(served.model).logits(held_out.vectors).argmax(axis=1)
        say(
            f"accuracy on other speakers {held_out.accuracy(guesses):.1%}, chance"
            f" {held_out.chance:.1%}",
            sys.stdout,
        )
    return EXIT_DONE


def _made_up(nodes: int, seed: int) -> SyntheticPopulation:
    from sordino.federated.populations.synthetic import SyntheticPopulation

    return SyntheticPopulation(nodes, _INPUTS, _CLASSES, seed=seed)
