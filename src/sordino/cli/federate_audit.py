"""`sordino federate audit`: attack a planned training, and tell what comes of it."""

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
from sordino.cli.inputs import positive
from sordino.cli.status import EXIT_DONE, EXIT_FAILED
from sordino.cli.text import counted, say
from sordino.errors import UsageError

if TYPE_CHECKING:
    from sordino.federated.attacks.report import Report
    from sordino.federated.populations.base import Population
    from sordino.federated.simulate.compare import Budget
    from sordino.federated.simulate.run import Plan

_ATTACKS = ("leak", "uploads", "canaries", "membership")
_TABLE, _CSV, _RESULTS = "audit.md", "audit.csv", "audit.json"
_EPILOG = """\
examples:
  sordino federate audit vectors.npz --labels speech/speakers.csv --label sex -o runs/audit
  sordino federate audit synthetic --attack leak --regime none --regime local -o runs/leak
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to `sordino federate`."""
    parser = commands.add_parser(
        "audit",
        help="attack a planned training, and tell what comes of it",
        description="Attack a training as it is planned: recover users' inputs from uploads, tell"
        " whether uploads and models spend more than is claimed, and tell who took part. The exit"
        " status is 1 where a claim is refuted.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_places(parser)
    _add_population(parser)
    _add_attacks(parser)
    _add_training(parser)
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier report")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Gather users, attack, write and show the table."""
    from sordino.cli.train_options import require_extra

    require_extra()
    from sordino.evaluate.report.terminal import aligned
    from sordino.federated.attacks.report import HEAD
    from sordino.federated.attacks.suite import Effort, audit_training

    _refuse_existing(options.output, overwrite=options.overwrite)
    population = _population(options)
    task, plan, budget = task_of(options, population), _plan(options, population), _budget(options)
    say(
        f"{counted(population.users, 'user')}, {len(population.classes)} classes,"
        f" {counted(task.dimension, 'parameter')}; {plan.rounds} rounds of about"
        f" {counted(plan.sampling.cohort, 'user')}",
        sys.stderr,
    )
    effort = Effort(
        tuple(dict.fromkeys(options.attack or _ATTACKS)),
        options.attacked,
        options.canaries,
        options.trials,
        not options.no_mutants,
    )

    def tell(attack: str, regime: str) -> None:
        if not options.quiet:
            say(f"{attack}: {regime}", sys.stderr)

    report = audit_training(
        population,
        task,
        options.clip,
        plan,
        budget,
        list(dict.fromkeys(options.regime or COMPARED)),
        range(options.seed, options.seed + options.seeds),
        effort,
        tell=tell,
    )
    _write(report, options.output)
    if left_out := report.facts["not_applicable"]:
        say(f"note: does not apply, not tried: {', '.join(left_out)}", sys.stderr)
    widths = (10, 13, 25, 13, 24, 8, 8, 32)
    for row in aligned(HEAD, [line.cells() for line in report.lines], widths).splitlines():
        say(row, sys.stdout)
    outcome = "no claim was refuted" if report.sound else "A CLAIM WAS REFUTED, or a mutant missed"
    say(f"{outcome}; a claim that passes is not proved -> {options.output}", sys.stdout)
    return EXIT_DONE if report.sound else EXIT_FAILED


def _add_population(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("users").add_argument
    add_labels(add)
    add_least_speakers(add, 5)
    add(
        "--users",
        type=positive,
        default=1000,
        metavar="N",
        help="of the synthetic population (default: %(default)s); in vectors every speaker is one",
    )


def _add_attacks(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("attacks").add_argument
    add("--attack", action="append", choices=_ATTACKS, help="repeatable (default: all)")
    add(
        "--attacked",
        type=positive,
        default=200,
        metavar="N",
        help="users whose inputs are to be recovered (default: %(default)s)",
    )
    add(
        "--canaries",
        type=positive,
        default=1000,
        metavar="N",
        help="made-up users, and as many who take no part (default: %(default)s)",
    )
    add(
        "--trials",
        type=positive,
        default=20_000,
        metavar="N",
        help="uploads of each input in a check (default: %(default)s)",
    )
    add("--no-mutants", action="store_true", help="do not audit mutants, which must be caught")
    add("--seed", type=int, default=0, metavar="N", help="the first (default: 0)")
    add("--seeds", type=positive, default=3, metavar="N", help="how many (default: 3)")
    add("--quiet", action="store_true", help="show no progress")


def _add_training(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("training that is attacked").add_argument
    add("--regime", action="append", choices=COMPARED, help="repeatable (default: all)")
    add_budget(add, delta=1e-5)
    add("--rounds", type=positive, default=20, metavar="N", help="default: 20")
    add(
        "--cohort",
        type=positive,
        metavar="N",
        help="users in a round (default: a quarter of all)",
    )
    add_network(add)


def _refuse_existing(folder: Path, *, overwrite: bool) -> None:
    require_folder(folder)
    for name in (_TABLE, _CSV, _RESULTS):
        if (folder / name).exists() and not overwrite:
            raise UsageError(f"{folder / name} exists; use --overwrite or another output")


def _population(options: argparse.Namespace) -> Population:
    if options.data == SYNTHETIC:
        from sordino.federated.populations.synthetic import SyntheticPopulation

        return SyntheticPopulation(options.users, seed=options.seed)
    from sordino.federated.populations.read import population_of

    return population_of(labelled_vectors(options), options.seed)


def _plan(options: argparse.Namespace, population: Population) -> Plan:
    from sordino.federated.simulate.run import Plan
    from sordino.federated.simulate.sampling import Sampling

    cohort = max(1, population.users // 4) if options.cohort is None else options.cohort
    return Plan(Sampling("poisson", cohort), options.rounds)


def _budget(options: argparse.Namespace) -> Budget:
    from sordino.federated.simulate.compare import Budget

    return Budget(
        epsilon=options.epsilon,
        delta=options.delta,
        local_epsilon=options.local_epsilon,
        noise_multiplier=options.noise_multiplier,
    )


def _write(report: Report, folder: Path) -> None:
    from sordino.federated.attacks.report import as_csv, as_markdown

    contents = {_TABLE: as_markdown(report), _CSV: as_csv(report), _RESULTS: report.to_json()}
    write_all(folder, contents)
