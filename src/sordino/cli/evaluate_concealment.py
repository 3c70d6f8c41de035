"""`sordino evaluate concealment`: compare concealers by what they hide and what they keep."""

from __future__ import annotations

import argparse
import math
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from sordino.cli.concealment import epsilon as epsilon_above_0
from sordino.cli.evaluation import settings_of
from sordino.cli.inputs import add_row_options, pair, path, positive
from sordino.cli.status import EXIT_DONE, EXIT_FAILED
from sordino.cli.text import say
from sordino.errors import OutputError, UsageError

if TYPE_CHECKING:
    from sordino.conceal.concealer import Concealer
    from sordino.evaluate.attributes.table import AttributeTable
    from sordino.evaluate.concealment.settings import Settings
    from sordino.evaluate.concealment.ways import Way
    from sordino.speaker.vectors import Vectors

_EPILOG = """\
examples:
  sordino evaluate concealment test.npz --attributes speakers.csv --attribute sex -o report \\
      --concealer mine=my-concealer --concealer "mine, released=my-concealer:epsilon=15"
  sordino evaluate concealment vectors.npz --only split=test --attributes speakers.csv \\
      --attribute sex -o report --concealer paper=runs/p1/paper runs/p2/paper runs/p3/paper \\
      --sweep laplace=runs/p1/paper --sweep privunit=runs/s1/sordino:mechanism=privunit \\
      --sweep-training "paper's figure 2=runs/e5/paper" runs/e10/paper runs/e15/paper
"""
_RESULTS, _CSV, _MARKDOWN = "results.json", "concealment.csv", "concealment.md"
_LEACE = "LEACE"
_QUICK_DRAWS = 200
_EPSILONS = (5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, math.inf)
_MODELS = ("[NAME=]MODEL[:SETTING=VALUE,...]", "MODEL")


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to `sordino evaluate`."""
    parser = commands.add_parser(
        "concealment",
        help="compare concealers: what attackers guess, what verification keeps",
        description="Conceal vectors by several concealers, guess attributes by attackers who know"
        " nothing of them and by such as have retrained, and verify speakers with one side"
        " concealed or both. VECTORS is a file of `sordino embed`, with speakers whom no concealer"
        f" was trained on. Besides the report, {_CSV} and {_MARKDOWN} have a row for each. Needs"
        " the extra evaluate.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("vectors", type=path, metavar="VECTORS", help="unprotected vectors (npz, h5, ark, csv)")
    add(
        "--attributes",
        type=path,
        required=True,
        metavar="CSV",
        help="table with a column key or speaker, and columns of attributes",
    )
    add(
        "--attribute",
        action="append",
        required=True,
        metavar="NAME",
        help="a column of it to guess (repeatable)",
    )
    add(
        "--only",
        action="append",
        default=[],
        type=pair,
        metavar="COLUMN=VALUE",
        help="use only vectors with this in the table (repeatable; values of a column add up)",
    )
    add_row_options(add, "attributes", only=False)
    add("-o", "--output", type=path, required=True, metavar="REPORT", help="folder for the report")

    ways = parser.add_argument_group(
        "what is compared (each repeatable; further MODELs are the same, trained with other seeds;"
        " settings: epsilon, mechanism)"
    )
    for option, what in (
        ("--concealer", "a row: without epsilon, no noise at release"),
        ("--sweep", "one curve over --epsilons, at release"),
        ("--sweep-training", "one curve over what the MODELs were trained with"),
    ):
        ways.add_argument(
            option, action="append", default=[], nargs="+", metavar=_MODELS, help=what
        )
    ways.add_argument(
        "--erasure",
        type=pair,
        metavar="COLUMN=VALUE",
        help=f"a row {_LEACE!r}: closed-form erasure, fitted to vectors with this in the table;"
        " --only has to leave their speakers out",
    )
    ways.add_argument(
        "--epsilons",
        nargs="+",
        type=epsilon_above_0,
        default=_EPSILONS,
        metavar="E",
        help="for --sweep; inf for no noise (default: 5 10 15 20 30 40 50 inf)",
    )

    how = parser.add_argument_group("attackers")
    add = how.add_argument
    either = how.add_mutually_exclusive_group()
    either.add_argument(
        "--train",
        type=pair,
        metavar="COLUMN=VALUE",
        help="train attackers on these rows of the table and guess all others",
    )
    either.add_argument(
        "--folds",
        type=positive,
        default=5,
        metavar="N",
        help="part speakers so often; each part is guessed once (default: %(default)s)",
    )
    add(
        "--attacker",
        action="append",
        default=[],
        metavar="NAME",
        help="paper-classifier, logistic-regression, gradient-boosting, mlp, nearest-neighbours,"
        " quadratic, rbf-svm (default: all)",
    )
    add(
        "--sweep-attacker",
        action="append",
        default=[],
        metavar="NAME",
        help="for sweeps (default: logistic-regression, nearest-neighbours, quadratic)",
    )
    add(
        "--copies",
        type=positive,
        default=4,
        metavar="N",
        help="noisy releases of each vector that attackers retrain on (default: %(default)s)",
    )
    add("--quick", action="store_true", help="the attackers of sweeps only, 200 draws")
    add("--enrolments", type=positive, default=3, metavar="N", help="templates (default: 3)")
    add("--draws", type=positive, metavar="N", help="bootstrap (default: 1000)")
    add("--seed", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier report")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read, evaluate, write, show."""
    from sordino.anonymize.record import write_whole
    from sordino.cli.stages import Stages
    from sordino.evaluate.attributes.table import AttributeTable, without
    from sordino.evaluate.concealment.impossible import BUG
    from sordino.evaluate.concealment.run import evaluate_concealment
    from sordino.evaluate.concealment.table import as_csv, as_markdown
    from sordino.evaluate.embeddings.templates import only
    from sordino.evaluate.machine import facts
    from sordino.evaluate.report import summary, write_report
    from sordino.speaker.vectors_files import read_vectors

    _prepare(options.output, overwrite=options.overwrite)
    settings = _settings(options)
    table = without(AttributeTable.read(options.attributes), options.attribute, options.unknown)
    everything = read_vectors(options.vectors)
    ways = list(_ways(options, everything, table))
    stages = Stages(quiet=options.quiet)
    try:
        results = evaluate_concealment(
            only(everything, table, options.only),
            table,
            options.attribute,
            ways,
            settings,
            what=f"vectors of {options.vectors}",
            told=stages,
            command=shlex.join(["sordino", *sys.argv[1:]]),
            machine=facts(),
        )
    finally:
        stages.close()
    write_report(results, options.output)
    for name, text in ((_CSV, as_csv(results)), (_MARKDOWN, as_markdown(results))):
        write_whole(options.output / name, text)
    for line in summary(results).splitlines():
        say(line, sys.stdout)
    say(f"report: {options.output / 'report.html'}", sys.stdout)
    say(f"table: {options.output / _MARKDOWN}", sys.stdout)
    broken = any(failure.what == BUG for failure in results.failures)
    return EXIT_FAILED if broken else EXIT_DONE


def _prepare(folder: Path, *, overwrite: bool) -> None:
    """Refuse what stands in the way before any work is done."""
    for name in (_RESULTS, _CSV, _MARKDOWN):
        if (folder / name).exists() and not overwrite:
            raise UsageError(f"{folder / name} exists; use --overwrite or another output")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"output {folder}: {error.strerror}") from error


def _settings(options: argparse.Namespace) -> Settings:
    from sordino.evaluate.concealment.attackers import ATTACKERS, SWEEP
    from sordino.evaluate.concealment.settings import Settings

    return Settings(
        attackers=tuple(options.attacker) or (SWEEP if options.quick else tuple(ATTACKERS)),
        sweep_attackers=tuple(options.sweep_attacker) or SWEEP,
        folds=options.folds,
        train=options.train,
        copies=options.copies,
        enrolments=options.enrolments,
        draws=options.draws or (_QUICK_DRAWS if options.quick else 1000),
        seed=options.seed,
    )


def _ways(options: argparse.Namespace, vectors: Vectors, table: AttributeTable) -> Iterator[Way]:
    from sordino.evaluate.concealment.ways import erased, over_epsilon, over_training, way
    from sordino.evaluate.embeddings.templates import only

    if options.erasure is not None:
        training = only(vectors, table, [options.erasure])
        yield erased(_LEACE, training, table, options.attribute)
    for words in options.concealer:
        name, concealers, epsilon, mechanism = _given("--concealer", words)
        yield way(name, concealers, epsilon, mechanism)
    for words in options.sweep_training:
        name, concealers, epsilon, mechanism = _given("--sweep-training", words)
        yield from over_training(name, concealers, epsilon, mechanism)
    for words in options.sweep:
        name, concealers, epsilon, mechanism = _given("--sweep", words)
        if epsilon is not None:
            raise UsageError(f"--sweep {words[0]}: takes no epsilon; give --epsilons")
        yield from over_epsilon(name, concealers, options.epsilons, mechanism)


def _given(
    option: str, words: Sequence[str]
) -> tuple[str, list[Concealer], float | None, str | None]:
    """Name, concealers, epsilon and mechanism, from [NAME=]MODEL[:SETTING=VALUE,...] MODEL..."""
    from sordino.conceal import load

    head, model, settings = _parsed(option, words[0])
    unknown = settings.keys() - {"epsilon", "mechanism"}
    if unknown:
        raise UsageError(f"{option} {words[0]}: knows epsilon and mechanism, not {min(unknown)}")
    epsilon, mechanism = settings.get("epsilon"), settings.get("mechanism")
    if epsilon is not None:
        try:
            epsilon = epsilon_above_0(str(epsilon))
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"{option} {words[0]}: epsilon {error}") from error
    if mechanism is not None and not isinstance(mechanism, str):
        raise UsageError(f"{option} {words[0]}: mechanism {mechanism} is no name")
    concealers = [
        load(name, tell=lambda text: say(text, sys.stderr)) for name in (model, *words[1:])
    ]
    return head or _label(model, epsilon, mechanism), concealers, epsilon, mechanism


def _parsed(option: str, text: str) -> tuple[str, str, dict[str, object]]:
    """Name (may be empty), model and settings; a model may be hub:OWNER/NAME."""
    head, equals, tail = text.partition("=")
    # An equals sign behind a colon belongs to a setting.
    label = head if equals and ":" not in head else ""
    rest = tail if label else text
    model, colon, settings = rest.rpartition(":")
    if not colon or "=" not in settings:
        model, settings = rest, ""
    if not model:
        raise UsageError(f"{option} {text}: names no model")
    return label, model, settings_of(f"{option} {text}", settings) if settings else {}


def _label(model: str, epsilon: float | None, mechanism: str | None) -> str:
    parts = [PurePath(model).name]
    if mechanism is not None:
        parts.append(mechanism)
    if epsilon is not None:
        parts.append(f"epsilon {epsilon:g}")
    return ", ".join(parts)
