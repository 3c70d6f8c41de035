"""`sordino federate distill`: what users' private labels teach, brought into a verifier."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sordino.cli.federate_data import add_least_speakers, add_table, table_of
from sordino.cli.inputs import add_row_options, pair, path, positive
from sordino.cli.status import EXIT_DONE
from sordino.cli.text import say

if TYPE_CHECKING:
    from sordino.evaluate.attributes.table import AttributeTable
    from sordino.federated.distil import DistilRun
    from sordino.speaker.vectors import Vectors
    from sordino.training.distil.comparison import Comparison

WORDS, PHRASES = "words", "phrases"

_EPILOG = """\
examples:
  sordino federate distill vectors.npz --labels speech/speakers.csv --label sex \\
      --held-out split=test -o runs/sex
  sordino federate distill speech/ --features words --label sex --held-out split=test -o runs/words
  sordino federate distill vectors.npz --labels speech/speakers.csv --label sex \\
      --label median_f0_hz:130,200 --teacher runs/simulated/models/central-0.npz -o runs/register
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to `sordino federate`."""
    parser = commands.add_parser(
        "distill",
        help="bring what federated training has learnt into a speaker network",
        description="Train a classifier of private labels on users, let a speaker network learn"
        " from it what it knows, and compare: a baseline without, a teacher from limited central"
        " data, a teacher from users, and the two ways that the paper rejects.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "data",
        type=path,
        metavar="DATA",
        help="speaker vectors (npz, h5, ark, parquet), or speech in any layout that sordino reads",
    )
    parser.add_argument(
        "-o", "--output", type=path, required=True, metavar="RUN", help="folder for the results"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    _add_labels(parser)
    _add_teacher(parser)
    _add_network(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Gather vectors and labels, run, show the table."""
    from sordino.cli.train_options import require_extra

    require_extra()
    from sordino.evaluate.attributes.table import without
    from sordino.federated.distil import distil
    from sordino.training.distil.data import side_data

    wanted = _wanted(options)
    vectors, table = _sources(options)
    columns = [label.partition(":")[0] for label in options.label]
    data = side_data(
        vectors,
        without(table, columns, options.unknown),
        options.label,
        options.held_out,
        least=options.least_speakers,
    )
    source = {"vectors": vectors.encoder, "digest": vectors.digest, "label": list(options.label)}
    tell = (lambda text: None) if options.quiet else (lambda text: say(text, sys.stderr))
    found = distil(data, wanted, options.output, source=source, given=options.teacher, tell=tell)
    _show(found, options.output)
    return EXIT_DONE


def _add_labels(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("vectors and labels").add_argument
    add(
        "--features",
        default=WORDS,
        metavar="KIND",
        help="of speech: words (supervectors of any words; default), phrases (of texts that several"
        " people say), or the name of a speaker encoder",
    )
    add_table(add)
    add(
        "--label",
        action="append",
        required=True,
        metavar="COLUMN[:CUT,CUT]",
        help="the private side information; several columns make one class together; numbers after"
        " a colon cut a column of numbers into bands",
    )
    add(
        "--held-out",
        type=pair,
        metavar="COLUMN=VALUE",
        help="speakers to try verification with (default: half of them)",
    )
    add_row_options(add, "labels", only=False)
    add_least_speakers(add, 4)


def _add_teacher(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("teacher").add_argument
    add(
        "--teacher",
        action="append",
        default=[],
        type=path,
        metavar="MODEL",
        help="a federated model to take; repeat it for one in each training (default: simulate)",
    )
    add(
        "--regime",
        default="central-local",
        choices=("none", "local", "central", "central-local"),
        help="of the simulation (default: %(default)s, as in the paper)",
    )
    add("--users", type=positive, default=20_000, metavar="N", help="by resampling (%(default)s)")
    add("--cohort", type=positive, default=500, metavar="N", help="users a round (%(default)s)")
    add("--rounds", type=positive, default=20, metavar="N", help="default: %(default)s")
    add("--epsilon", type=float, default=2.0, help="default: %(default)g")
    add(
        "--local-epsilon",
        type=float,
        default=25.5,
        metavar="E",
        help="of each upload in regime central-local (default: %(default)g)",
    )
    add("--delta", type=float, default=1e-6, help="default: %(default)g")
    add("--clip", type=float, default=0.5, metavar="C", help="norm of updates (%(default)g)")
    add(
        "--central-share",
        type=float,
        default=0.1,
        metavar="SHARE",
        help="of the users whose labels are known centrally (default: %(default)g)",
    )


def _add_network(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("speaker network").add_argument
    add("--gamma", type=float, metavar="X", help="weight of the side loss")
    add("--temperature", type=float, metavar="T", help="of the side loss")
    add("--input-noise", type=float, metavar="X", help="added to vectors in training")
    add("--width", type=positive, metavar="N", help="of its four layers")
    add("--steps", type=positive, metavar="N", help="of training")
    add("--batch", type=positive, metavar="N", help="vectors in a step")
    add("--learning-rate", type=float, metavar="X", help="the highest")
    add("--confidence", type=float, metavar="P", help="from which the rejecting rule acts")
    add("--speakers", type=positive, metavar="N", help="training speakers at most (default: all)")
    add(
        "--enrolments", type=positive, default=2, metavar="N", help="vectors to enrol (%(default)s)"
    )
    add(
        "--further",
        action="store_true",
        help="let side heads learn from the vectors of all who are not tried, whoever they are",
    )
    add("--seeds", type=positive, default=5, metavar="N", help="trainings (default: %(default)s)")
    add("--no-alternatives", action="store_true", help="leave the two rejected ways out")


def _wanted(options: argparse.Namespace) -> DistilRun:
    from sordino.federated.distil import DistilRun
    from sordino.federated.teachers import FederatedTraining
    from sordino.training.distil.settings import DistilSettings

    names = (
        "gamma",
        "temperature",
        "input_noise",
        "width",
        "steps",
        "batch",
        "learning_rate",
        "confidence",
    )
    asked = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return DistilRun(
        DistilSettings(**asked),
        FederatedTraining(
            options.regime,
            options.users,
            options.cohort,
            options.rounds,
            options.epsilon,
            options.local_epsilon,
            options.delta,
            options.clip,
        ),
        central_share=options.central_share,
        seeds=options.seeds,
        speakers=options.speakers,
        enrolments=options.enrolments,
        further=options.further,
        alternatives=not options.no_alternatives,
    )


def _sources(options: argparse.Namespace) -> tuple[Vectors, AttributeTable]:
    """Vectors, and the table of what is known of them."""
    from sordino.federated.populations.read import PARQUET, read_parquet
    from sordino.speaker.vectors_files import FORMATS, read_vectors

    endings = {ending for form in FORMATS.values() for ending in form.suffixes}
    table: AttributeTable | None = None
    if options.data.suffix.lower() == PARQUET:
        vectors, table = read_parquet(options.data)
    elif options.data.suffix.lower() in endings:
        vectors = read_vectors(options.data)
    else:
        vectors, table = _of_speech(options)
    return vectors, table_of(options.labels, table)


def _of_speech(options: argparse.Namespace) -> tuple[Vectors, AttributeTable]:
    """Supervectors, or what an encoder gives, with what the corpus tells."""
    from tqdm import tqdm

    from sordino.corpus.layouts.detect import read_corpus
    from sordino.federated.features.supervectors import corpus_table, supervectors

    corpus = read_corpus(options.data)
    if options.features not in (WORDS, PHRASES):
        from sordino.speaker.encoders import load_encoder
        from sordino.training.concealer.data import embedded

        encoder = load_encoder(options.features, tell=lambda text: say(text, sys.stderr))
        cache = _beside(options.output)
        return embedded(corpus, encoder, cache, quiet=options.quiet), corpus_table(corpus)
    tried: set[str] = set()
    if options.held_out is not None and options.held_out[0] == "split":
        tried = {one.speaker for one in corpus if one.split == options.held_out[1]}
    with tqdm(total=len(corpus), desc="features", unit="utt", disable=options.quiet) as bar:
        made = supervectors(
            corpus,
            set(corpus.speakers) - tried,
            phrases=options.features == PHRASES,
            tick=bar.update,
        )
    if made.left_out:
        say(f"left out, too short or said by too few: {made.left_out}", sys.stderr)
    return made.vectors, made.table


def _beside(run: Path) -> Path:
    """Where vectors of speech are kept, so that the next run has them."""
    return run.with_name(run.name + "-vectors")


def _show(found: Comparison, folder: Path) -> None:
    from sordino.training.distil.table import percent

    for row in found.rows:
        errors = row.errors
        change = percent(errors.relative, signed=True)
        say(f"{row.name}: EER {percent(errors.eer.mean)}{change and ', ' + change}", sys.stdout)
    say(f"-> {folder}", sys.stdout)
