"""`sordino federate simulate`: train on many users in one process, under several regimes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sordino.cli.federate_data import (
    COMPARED,
    SYNTHETIC,
    add_budget,
    add_labels,
    add_least_speakers,
    add_network,
    add_places,
    labelled_vectors,
    require_folder,
    task_of,
    write_all,
)
from sordino.cli.inputs import pair, positive
from sordino.cli.status import EXIT_DONE
from sordino.cli.text import counted, say
from sordino.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sordino.federated.populations.base import Population
    from sordino.federated.simulate.compare import Budget, Comparison
    from sordino.federated.simulate.run import Plan, Round
    from sordino.federated.task import ClassifierTask

_TABLE, _CSV, _RESULTS, _PLOT = "table.md", "table.csv", "results.json", "plot.svg"
_EPILOG = """\
examples:
  sordino embed speech/ -o vectors.npz --speakers speech/manifest.csv
  sordino federate simulate vectors.npz --labels speech/speakers.csv --label sex \\
      --held-out split=test --users 1000 --cohort 200 -o runs/sex
  sordino federate simulate synthetic --users 100000 --rounds 60 --epsilon 2 -o runs/synthetic
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to `sordino federate`."""
    parser = commands.add_parser(
        "simulate",
        help="train on many users in one process, under several regimes",
        description="Train a classifier of private labels as federated training would, with the"
        " noise of each regime, and measure what it learns. A simulation shows what a plan is good"
        " for; it protects nobody, as a seed decides the noise.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_places(parser)
    _add_population(parser)
    _add_privacy(parser)
    _add_training(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Gather users, train all regimes with all seeds, write and show the table."""
    from sordino.cli.train_options import require_extra

    require_extra()
    from sordino.evaluate.report.terminal import aligned
    from sordino.federated.simulate.compare import compare
    from sordino.federated.simulate.table import HEAD, lines

    _refuse_existing(options)
    population_of = _population(options)
    first = population_of(options.seed)
    task, budget = task_of(options, first), _budget(options)
    plan = _plan(options, first, task, budget)
    say(
        f"{counted(first.users, 'user')}, {len(first.classes)} classes"
        f" ({', '.join(first.classes)}), {counted(task.dimension, 'parameter')};"
        f" {plan.rounds} rounds of about {counted(plan.sampling.cohort, 'user')}",
        sys.stderr,
    )
    names = list(dict.fromkeys(options.regime or COMPARED))
    if "all" in names:
        names = list(COMPARED)
    done = compare(
        population_of,
        task,
        options.clip,
        plan,
        budget,
        names,
        range(options.seed, options.seed + options.seeds),
        options.output,
        tell=None if options.quiet else _told(plan.rounds),
    )
    _write(done, options.output)
    rows = [line.cells() for line in lines(done)]
    chance = ["chance", f"{100 * done.chance:.1f} %", *[""] * (len(HEAD) - 2)]
    for row in aligned(HEAD, [*rows, chance], (16, 16, 16, 10, 10, 12, 10, 14)).splitlines():
        say(row, sys.stdout)
    say(f"simulation, no guarantee -> {options.output}", sys.stdout)
    return EXIT_DONE


def _add_population(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("users").add_argument
    add_labels(add)
    add(
        "--held-out",
        type=pair,
        metavar="COLUMN=VALUE",
        help="speakers to measure with (default: a third, another for each seed)",
    )
    add_least_speakers(add, 5)
    add(
        "--users",
        type=positive,
        metavar="N",
        help="resample speakers to so many users (default: one user a speaker; synthetic: 100000)",
    )
    add("--examples", type=positive, default=4, metavar="N", help="of such a user (default: 4)")
    add(
        "--dirichlet",
        type=float,
        metavar="A",
        help="deal vectors to users by class instead: 0.1 very unevenly, 100 evenly",
    )


def _add_privacy(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("privacy").add_argument
    add(
        "--regime",
        action="append",
        choices=(*COMPARED, "all"),
        help="who adds noise (repeatable; default: all)",
    )
    add_budget(add, delta=1e-6)
    add(
        "--sampling",
        choices=("poisson", "fixed"),
        default="poisson",
        help="each user by chance (default), or always as many",
    )
    add(
        "--relation",
        choices=("add-remove", "replace"),
        default="add-remove",
        help="what must not be told apart; fixed sampling takes replace",
    )


def _add_training(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("training").add_argument
    add("--rounds", type=positive, default=40, metavar="N", help="default: 40")
    add(
        "--cohort",
        type=positive,
        metavar="N",
        help="users in a round (default: as many as the plan asks for, see --snr)",
    )
    add(
        "--snr",
        type=float,
        default=2.0,
        metavar="X",
        help="signal over noise in regime central that the cohort is chosen for (default: 2)",
    )
    add_network(add)
    add("--server-rate", type=float, default=1.0, metavar="X", help="default: 1")
    add("--momentum", type=float, default=0.0, metavar="X", help="of the server (default: 0)")
    add("--seed", type=int, default=0, metavar="N", help="the first (default: 0)")
    add("--seeds", type=positive, default=1, metavar="N", help="how many (default: 1)")
    add("--resume", action="store_true", help="go on with a run that was cut short")
    add("--quiet", action="store_true", help="show no progress")


def _refuse_existing(options: argparse.Namespace) -> None:
    require_folder(options.output)
    if not options.resume and (options.output / "checkpoints").exists():
        raise UsageError(f"{options.output}: there is a run already; go on with it by --resume")


def _population(options: argparse.Namespace) -> Callable[[int], Population]:
    """The users for a seed."""
    if options.data == SYNTHETIC:
        from sordino.federated.populations.synthetic import SyntheticPopulation

        users = 100_000 if options.users is None else options.users
        return lambda seed: SyntheticPopulation(users, seed=seed)
    from sordino.federated.populations.read import population_of

    data = labelled_vectors(options, options.held_out)
    return lambda seed: population_of(
        data,
        seed,
        users=options.users,
        examples=options.examples,
        concentration=options.dirichlet,
    )


def _budget(options: argparse.Namespace) -> Budget:
    from sordino.federated.simulate.compare import Budget

    return Budget(
        epsilon=options.epsilon,
        delta=options.delta,
        local_epsilon=options.local_epsilon,
        relation=options.relation,
        noise_multiplier=options.noise_multiplier,
    )


def _plan(
    options: argparse.Namespace, population: Population, task: ClassifierTask, budget: Budget
) -> Plan:
    from sordino.federated.optimiser import ServerOptimiser
    from sordino.federated.simulate.compare import asked_cohort
    from sordino.federated.simulate.run import Plan
    from sordino.federated.simulate.sampling import Sampling
    from sordino.privacy.accounting.sampled_gaussian import accountant_for

    # Before anything is trained: who is drawn and what is counted have to fit.
    accountant_for(options.sampling, options.relation)
    cohort = options.cohort
    if cohort is None:
        cohort = asked_cohort(
            population,
            task,
            options.clip,
            options.rounds,
            budget,
            options.snr,
            sampling=options.sampling,
            seed=options.seed,
        )
        say(f"the plan asks for a cohort of {cohort} for an SNR of {options.snr:g}", sys.stderr)
    optimiser = ServerOptimiser(learning_rate=options.server_rate, momentum=options.momentum)
    return Plan(Sampling(options.sampling, cohort), options.rounds, optimiser)


def _told(rounds: int) -> Callable[[str, int, Round], None]:
    def tell(name: str, seed: int, one: Round) -> None:
        if one.round + 1 == rounds or one.round % 10 == 0:
            say(
                f"{name}, seed {seed}: round {one.round + 1} of {rounds}, accuracy"
                f" {100 * one.accuracy:.1f} %, SNR {one.snr:.3g}",
                sys.stderr,
            )

    return tell


def _write(done: Comparison, folder: Path) -> None:
    from sordino.federated.simulate.plot import accuracy_plot
    from sordino.federated.simulate.table import as_csv, as_markdown

    contents = {
        _RESULTS: done.to_json(),
        _TABLE: as_markdown(done),
        _CSV: as_csv(done),
        _PLOT: accuracy_plot(done),
    }
    write_all(folder, contents)
