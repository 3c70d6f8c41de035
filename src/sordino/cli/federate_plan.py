"""`sordino federate plan`: what a federated training costs in privacy, before any training."""

from __future__ import annotations

import argparse
import json
import math
import sys
from typing import TYPE_CHECKING

from sordino.cli.inputs import positive
from sordino.cli.status import EXIT_DONE
from sordino.cli.text import say
from sordino.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sordino.federated.plan import Plan, RegimePlan

_REGIMES = ("none", "local", "central", "central-local")
_EPILOG = """\
examples:
  sordino federate plan --population 1000000 --cohort 1000 --rounds 2000 --delta 1e-6 --epsilon 2
  sordino federate plan --population 1000000 --rounds 2000 --delta 1e-6 --epsilon 2 --snr 1
  sordino federate plan --population 1000000 --cohort 400 --rounds 1000 --delta 1e-6 \\
      --noise-multiplier 0.6 --regime central
"""
_HEADER = (
    "regime",
    "cohort",
    "noise",
    "epsilon",
    "by RDP",
    "per upload",
    "norm/clip",
    "SNR",
)


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to `sordino federate`."""
    parser = commands.add_parser(
        "plan",
        help="noise, epsilon and signal of a training, before any training",
        description="Tell what a federated training costs in privacy, how much noise that takes"
        " and what signal is left, before any training.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    who = parser.add_argument_group("who takes part")
    add = who.add_argument
    add("--population", type=positive, required=True, metavar="N", help="users there are")
    add("--cohort", type=positive, metavar="N", help="users in a round (default: as --snr needs)")
    add("--rounds", type=positive, required=True, metavar="N", help="in all")
    add(
        "--sampling",
        choices=("poisson", "fixed"),
        default="poisson",
        help="how a round's users are drawn: each by chance (default), or always as many",
    )
    add(
        "--relation",
        choices=("add-remove", "replace"),
        default="add-remove",
        help="what must not be told apart: one user more (default), or another user; fixed"
        " sampling takes replace",
    )

    budget = parser.add_argument_group("privacy")
    add = budget.add_argument
    add("--delta", type=float, required=True, help="below one over the population")
    either = budget.add_mutually_exclusive_group(required=True)
    either.add_argument(
        "--epsilon",
        type=float,
        help="of the whole training; in regime local, of each upload",
    )
    either.add_argument(
        "--noise-multiplier",
        type=float,
        metavar="Z",
        help="deviation of the central noise over the norm uploaded; tells epsilon",
    )
    add(
        "--regime",
        choices=(*_REGIMES, "all"),
        default="all",
        help="who adds noise (default: all, one beside the other)",
    )
    add(
        "--local-epsilon",
        type=float,
        metavar="E",
        help="of each upload in regime central-local (default: 25.5)",
    )

    model = parser.add_argument_group("updates")
    add = model.add_argument
    add("--parameters", type=positive, metavar="D", help="of the model (default: 5000)")
    add("--snr", type=float, metavar="RATIO", help="wanted norm of the mean update over its noise")
    add(
        "--norm",
        type=float,
        default=1.0,
        metavar="PART",
        help="of a usual update, in parts of the clip (default: 1, the best case)",
    )
    add(
        "--alignment",
        type=float,
        default=1.0,
        metavar="PART",
        help="norm of the mean update, in parts of --norm (default: 1, the best case)",
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Ask, plan, show."""
    from sordino.federated.plan import Question, planned
    from sordino.federated.plan.question import DIMENSION, LOCAL_EPSILON

    for name in ("epsilon", "local_epsilon"):
        value = getattr(options, name)
        if value is not None and not math.isfinite(value):
            raise UsageError(
                f"--{name.replace('_', '-')} {value} is not a finite number; a training without"
                " noise is planned by --regime none"
            )
    plan = planned(
        Question(
            population=options.population,
            rounds=options.rounds,
            delta=options.delta,
            cohort=options.cohort,
            epsilon=options.epsilon,
            noise_multiplier=options.noise_multiplier,
            regimes=_REGIMES if options.regime == "all" else (options.regime,),
            dimension=DIMENSION if options.parameters is None else options.parameters,
            local_epsilon=LOCAL_EPSILON if options.local_epsilon is None else options.local_epsilon,
            sampling=options.sampling,
            relation=options.relation,
            snr=options.snr,
            norm=options.norm,
            alignment=options.alignment,
        )
    )
    if options.json:
        say(json.dumps(plan.json()), sys.stdout)
        return EXIT_DONE
    for line in _table(plan):
        say(line, sys.stdout)
    for note in plan.notes():
        say(f"note: {note}", sys.stderr)
    return EXIT_DONE


def _table(plan: Plan) -> list[str]:
    """Rows of aligned columns, with the smallest cohort where an SNR was wanted."""
    wanted = plan.question.snr
    more = () if wanted is None else (f"cohort for SNR {wanted:g}",)
    rows: list[Sequence[str]] = [(*_HEADER, *more)]
    for regime in plan.regimes:
        last = () if wanted is None else (_count(regime.smallest_cohort, "none"),)
        rows.append((*_cells(regime), *last))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _cells(regime: RegimePlan) -> tuple[str, ...]:
    return (
        regime.regime,
        _count(regime.cohort, "none"),
        _number(regime.noise_multiplier, 4),
        _number(regime.epsilon, 6),
        _number(regime.epsilon_rdp, 6),
        _number(regime.local_epsilon, 6),
        _number(regime.bound, 4),
        _number(regime.snr, 3),
    )


def _count(value: int | None, missing: str) -> str:
    return missing if value is None else f"{value:,}"


def _number(value: float | None, digits: int) -> str:
    if value is None:
        return "-"
    return f"{value:.{digits}g}" if math.isfinite(value) else "inf"
