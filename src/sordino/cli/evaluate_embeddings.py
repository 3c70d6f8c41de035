"""`sordino evaluate embeddings`: attack vectors, original and protected."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sordino.cli.inputs import pair, path, positive
from sordino.cli.status import EXIT_DONE
from sordino.cli.text import say
from sordino.errors import OutputError, UsageError

if TYPE_CHECKING:
    from sordino.evaluate.embeddings.settings import Settings
    from sordino.evaluate.embeddings.templates import Protected

_EPILOG = """\
examples:
  sordino embed corpus/ -o vectors.npz
  sordino evaluate embeddings vectors.npz --attributes speakers.csv --attribute sex -o report
  sordino evaluate embeddings vectors.npz --attributes speakers.csv --attribute sex \\
      --protected masked=masked-1.npz masked-2.npz --train split=dev -o report
"""
_QUICK_DRAWS = 200


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to `sordino evaluate`."""
    parser = commands.add_parser(
        "embeddings",
        help="attack speaker vectors: guess sex and the like, recognise speakers",
        description="Guess attributes such as the sex from vectors, with attackers trained on"
        " other speakers, and recognise speakers by them. ORIGINAL is a file of `sordino embed`."
        " Needs the extra evaluate.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("original", type=path, metavar="ORIGINAL", help="unprotected vectors (npz, h5, ark, csv)")
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
    add("-o", "--output", type=path, required=True, metavar="REPORT", help="folder for the report")
    add(
        "--protected",
        action="append",
        default=[],
        nargs="+",
        metavar="[NAME=]FILE",
        help="NAME=FILE: protected vectors of the same keys; more files are further releases,"
        " which attackers average (repeatable)",
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
        help="logistic-regression, gradient-boosting, mlp, nearest-neighbours, quadratic, rbf-svm"
        " (default: all)",
    )
    add(
        "--quick",
        action="store_true",
        help="logistic-regression, nearest-neighbours and quadratic only, 200 draws: a first look",
    )
    add("--enrolments", type=positive, default=3, metavar="N", help="templates (default: 3)")
    add("--draws", type=positive, metavar="N", help="bootstrap (default: 1000)")
    add("--seed", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier report")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read, evaluate, write, show."""
    from sordino.cli.stages import Stages
    from sordino.evaluate.attributes.table import AttributeTable
    from sordino.evaluate.embeddings.run import evaluate_embeddings
    from sordino.evaluate.machine import facts
    from sordino.evaluate.report import summary, write_report
    from sordino.speaker.vectors_files import read_vectors

    _prepare(options.output, overwrite=options.overwrite)
    settings = _settings(options)
    stages = Stages(quiet=options.quiet)
    try:
        results = evaluate_embeddings(
            read_vectors(options.original),
            AttributeTable.read(options.attributes),
            options.attribute,
            _protected(options.protected),
            settings,
            what=f"vectors of {options.original}",
            told=stages,
            command=shlex.join(["sordino", *sys.argv[1:]]),
            machine=facts(),
        )
    finally:
        stages.close()
    write_report(results, options.output)
    for line in summary(results).splitlines():
        say(line, sys.stdout)
    say(f"report: {options.output / 'report.html'}", sys.stdout)
    return EXIT_DONE


def _prepare(folder: Path, *, overwrite: bool) -> None:
    """Refuse what stands in the way before any work is done."""
    results = folder / "results.json"
    if results.exists() and not overwrite:
        raise UsageError(f"{results} exists; use --overwrite or another output")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"output {folder}: {error.strerror}") from error


def _settings(options: argparse.Namespace) -> Settings:
    from sordino.evaluate.attributes.learners import LEARNERS, QUICK
    from sordino.evaluate.embeddings.settings import Settings

    return Settings(
        learners=tuple(options.attacker) or (QUICK if options.quick else tuple(LEARNERS)),
        folds=options.folds,
        train=options.train,
        enrolments=options.enrolments,
        draws=options.draws or (_QUICK_DRAWS if options.quick else 1000),
        seed=options.seed,
    )


def _protected(given: list[list[str]]) -> list[Protected]:
    from sordino.evaluate.embeddings.templates import Protected
    from sordino.speaker.vectors_files import read_vectors

    sets = []
    for words in given:
        name, equals, first = words[0].partition("=")
        if not (name and equals and first):
            raise UsageError(f"--protected {words[0]}: is not NAME=FILE")
        files = [Path(first), *map(Path, words[1:])]
        releases = tuple(map(read_vectors, files))
        what = "vectors of " + ", ".join(str(file) for file in files[:3])
        if len(files) > 3:
            what += f" and {len(files) - 3} more releases"
        sets.append(Protected(name, releases, what))
    return sets
