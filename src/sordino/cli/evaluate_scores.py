"""`sordino evaluate scores`: figures of scores that other tools wrote."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import TYPE_CHECKING

from sordino.cli.inputs import path, positive
from sordino.cli.status import EXIT_DONE
from sordino.cli.text import say
from sordino.errors import UsageError

if TYPE_CHECKING:
    from sordino.evaluate.scores import ScoreSettings

_EPILOG = """\
examples:
  sordino evaluate scores scores.txt --trials trials -o report/    # Kaldi: model utterance score
  sordino evaluate scores labelled.csv -o report/                  # columns score and label
  sordino evaluate scores veri.scores --trials veri_test.txt --ratios -o report/
  sordino evaluate scores first.npz second.npz -o report/          # arrays targets, nontargets
"""
_FORMATS = (
    "kaldi",
    "voxceleb",
    "speechbrain",
    "score-last-but-one",
    "score-label",
    "label-score",
    "scores",
    "table",
    "arrays",
)


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to `sordino evaluate`."""
    parser = commands.add_parser(
        "scores",
        help="measure the scores of other tools",
        description="Measure how well scores tell speakers apart. Each FILE is an attacker: lines"
        " of text, a table with a header, or arrays of NumPy.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("files", nargs="+", type=path, metavar="FILE", help="scores, with labels or names")
    add("-o", "--output", type=path, required=True, metavar="REPORT", help="folder for the report")

    what = parser.add_argument_group("what the scores are of")
    add = what.add_argument
    add(
        "--trials",
        type=path,
        metavar="FILE",
        help="`model utterance target|nontarget` or `1|0 model utterance` in each line",
    )
    add(
        "--nontargets",
        type=path,
        metavar="FILE",
        help="scores of non-targets; FILE then holds those of targets",
    )
    add(
        "--speakers",
        type=path,
        metavar="TABLE",
        help="who speaks: `utterance speaker` in each line, or a table with such columns",
    )
    add(
        "--enrolls",
        type=path,
        metavar="FILE",
        help="`model utterance...` in each line; with --speakers, if models are not speakers",
    )
    add("--format", choices=_FORMATS, help="default: what the file looks like")
    add(
        "--ratios",
        action="store_true",
        help="scores are log-likelihood ratios (natural logarithm): tell their Cllr",
    )

    how = parser.add_argument_group("intervals")
    how.add_argument("--draws", type=positive, default=1000, metavar="N", help="default: 1000")
    how.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier report")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read, measure, write, show."""
    from sordino.evaluate.machine import facts
    from sordino.evaluate.report import summary, write_report
    from sordino.evaluate.scores import evaluate_scores

    earlier = options.output / "results.json"
    if earlier.exists() and not options.overwrite:
        raise UsageError(f"{earlier} exists; use --overwrite or another output")
    results = evaluate_scores(
        options.files,
        _settings(options),
        command=shlex.join(["sordino", *sys.argv[1:]]),
        machine=facts(),
        told=lambda stage: None if options.quiet else say(stage, sys.stderr),
    )
    write_report(results, options.output)
    for line in summary(results).splitlines():
        say(line, sys.stdout)
    say(f"report: {options.output / 'report.html'}", sys.stdout)
    return EXIT_DONE


def _settings(options: argparse.Namespace) -> ScoreSettings:
    from sordino.evaluate.scores import ScoreSettings

    return ScoreSettings(
        trials=options.trials,
        nontargets=options.nontargets,
        speakers=options.speakers,
        enrolls=options.enrolls,
        layout=options.format,
        ratios=options.ratios,
        draws=options.draws,
        seed=options.seed,
    )
