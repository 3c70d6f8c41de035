"""`sordino federate simulate`: train on many users in one process, under several regimes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sordino.cli.inputs import pair, path, positive
from sordino.cli.status import EXIT_DONE
from sordino.cli.text import counted, say
from sordino.errors import OutputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sordino.federated.populations.base import Population
    from sordino.federated.simulate.compare import Budget, Comparison
    from sordino.federated.simulate.run import Plan, Round
    from sordino.federated.task import ClassifierTask

SYNTHETIC = "synthetic"

_COMPARED = ("none", "central", "central-local", "local", "local-laplace")
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
    parser.add_argument(
        "data",
        metavar="DATA",
        help=f"speaker vectors (npz, h5, ark, parquet), or the word {SYNTHETIC}",
    )
    parser.add_argument(
        "-o", "--output", type=path, required=True, metavar="RUN", help="folder for the results"
    )
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
    task, budget = _task(options, first), _budget(options)
    plan = _plan(options, first, task, budget)
    say(
        f"{counted(first.users, 'user')}, {len(first.classes)} classes"
        f" ({', '.join(first.classes)}), {counted(task.dimension, 'parameter')};"
        f" {plan.rounds} rounds of about {counted(plan.sampling.cohort, 'user')}",
        sys.stderr,
    )
    names = list(dict.fromkeys(options.regime or _COMPARED))
    if "all" in names:
        names = list(_COMPARED)
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
    add("--labels", type=path, metavar="CSV", help="table with a column key or speaker, and labels")
    add(
        "--label",
        action="append",
        default=[],
        metavar="COLUMN",
        help="the private label; several columns make one class together",
    )
    add(
        "--only",
        action="append",
        default=[],
        type=pair,
        metavar="COLUMN=VALUE",
        help="take only vectors of which the table says this (repeatable)",
    )
    add(
        "--unknown",
        action="append",
        default=[],
        type=pair,
        metavar="COLUMN=VALUE",
        help="take no labels from rows of the table that say this (repeatable)",
    )
    add(
        "--held-out",
        type=pair,
        metavar="COLUMN=VALUE",
        help="speakers to measure with (default: a third, another for each seed)",
    )
    add(
        "--least-speakers",
        type=positive,
        default=5,
        metavar="N",
        help="leave out rarer classes (default: %(default)s)",
    )
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
        choices=(*_COMPARED, "all"),
        help="who adds noise (repeatable; default: all)",
    )
    add(
        "--epsilon",
        type=float,
        default=2.0,
        help="of the training; in the local regimes, of each upload (default: 2)",
    )
    add(
        "--noise-multiplier",
        type=float,
        metavar="Z",
        help="of the central regimes, instead of what --epsilon asks for",
    )
    add("--delta", type=float, default=1e-6, help="default: 1e-6")
    add(
        "--local-epsilon",
        type=float,
        default=25.5,
        metavar="E",
        help="of each upload in regime central-local (default: 25.5)",
    )
    add("--clip", type=float, default=0.3, metavar="C", help="norm of updates (default: 0.3)")
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
    add("--hidden", type=_widths, default=(16,), metavar="N,N", help="widths (default: 16)")
    add("--activation", choices=("sigmoid", "relu"), default="sigmoid", help="default: sigmoid")
    add("--local-steps", type=positive, default=1, metavar="N", help="on a device (default: 1)")
    add("--local-rate", type=float, default=0.5, metavar="X", help="on a device (default: 0.5)")
    add("--server-rate", type=float, default=1.0, metavar="X", help="default: 1")
    add("--momentum", type=float, default=0.0, metavar="X", help="of the server (default: 0)")
    add("--seed", type=int, default=0, metavar="N", help="the first (default: 0)")
    add("--seeds", type=positive, default=1, metavar="N", help="how many (default: 1)")
    add("--resume", action="store_true", help="go on with a run that was cut short")
    add("--quiet", action="store_true", help="show no progress")


def _widths(text: str) -> tuple[int, ...]:
    """Widths of layers: "64,32"; "0" for none."""
    return tuple(positive(part) for part in text.split(",") if part.strip() != "0")


def _refuse_existing(options: argparse.Namespace) -> None:
    nearest = next(place for place in (options.output, *options.output.parents) if place.exists())
    if not nearest.is_dir():
        raise UsageError(f"{nearest} is not a folder; name another output")
    if not options.resume and (options.output / "checkpoints").exists():
        raise UsageError(f"{options.output}: there is a run already; go on with it by --resume")


def _population(options: argparse.Namespace) -> Callable[[int], Population]:
    """The users for a seed."""
    if options.data == SYNTHETIC:
        from sordino.federated.populations.synthetic import SyntheticPopulation

        users = 100_000 if options.users is None else options.users
        return lambda seed: SyntheticPopulation(users, seed=seed)
    from sordino.evaluate.attributes.table import AttributeTable
    from sordino.federated.populations.read import PARQUET, labelled, population_of, read_parquet
    from sordino.speaker.vectors_files import read_vectors

    if not options.label:
        raise UsageError("--label names the column of the private label")
    source = Path(options.data)
    if source.suffix.lower() == PARQUET:
        vectors, table = read_parquet(source)
    else:
        vectors, table = read_vectors(source), None
    if options.labels is not None:
        table = AttributeTable.read(options.labels)
    if table is None:
        raise UsageError("--labels names the table of the private labels")
    data = labelled(
        vectors,
        table,
        options.label,
        only=options.only,
        unknown=options.unknown,
        held_out=options.held_out,
        least=options.least_speakers,
    )
    return lambda seed: population_of(
        data,
        seed,
        users=options.users,
        examples=options.examples,
        concentration=options.dirichlet,
    )


def _task(options: argparse.Namespace, population: Population) -> ClassifierTask:
    from sordino.federated.task import ClassifierTask, LocalTraining

    return ClassifierTask(
        population.inputs,
        population.classes,
        options.hidden,
        options.activation,
        training=LocalTraining(options.local_steps, options.local_rate),
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
    from sordino.anonymize.record import write_whole
    from sordino.federated.simulate.plot import accuracy_plot
    from sordino.federated.simulate.table import as_csv, as_markdown

    contents = {
        _RESULTS: done.to_json(),
        _TABLE: as_markdown(done),
        _CSV: as_csv(done),
        _PLOT: accuracy_plot(done),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror}") from error
    for name, text in contents.items():
        write_whole(folder / name, text)
