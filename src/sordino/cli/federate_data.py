"""What commands of `sordino federate` that train on users in one process have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sordino.cli.inputs import add_row_options, path, positive
from sordino.errors import OutputError, UsageError

if TYPE_CHECKING:
    from sordino.evaluate.attributes.table import AttributeTable
    from sordino.federated.populations.base import Population
    from sordino.federated.populations.read import Labelled
    from sordino.federated.task import ClassifierTask

Add = Callable[..., object]
"""`add_argument` of a parser or a group."""

SYNTHETIC = "synthetic"
"""In the place of DATA: users who are made up."""

COMPARED = ("none", "central", "central-local", "local", "local-laplace")
"""Regimes that are compared with each other."""


def add_places(parser: argparse.ArgumentParser) -> None:
    """Add DATA and --output."""
    parser.add_argument(
        "data",
        metavar="DATA",
        help=f"speaker vectors (npz, h5, ark, parquet), or the word {SYNTHETIC}",
    )
    parser.add_argument(
        "-o", "--output", type=path, required=True, metavar="RUN", help="folder for the results"
    )


def add_labels(add: Add) -> None:
    """Add --labels, --label, --only and --unknown."""
    add_table(add)
    add(
        "--label",
        action="append",
        default=[],
        metavar="COLUMN",
        help="the private label; several columns make one class together",
    )
    add_row_options(add, "labels")


def add_table(add: Add) -> None:
    """Add --labels."""
    add("--labels", type=path, metavar="CSV", help="table with a column key or speaker, and labels")


def add_least_speakers(add: Add, default: int) -> None:
    """Add --least-speakers."""
    add(
        "--least-speakers",
        type=positive,
        default=default,
        metavar="N",
        help="leave out rarer classes (default: %(default)s)",
    )


def add_budget(add: Add, *, delta: float) -> None:
    """Add what the noise follows from: --epsilon, --noise-multiplier and the like."""
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
    add("--delta", type=float, default=delta, help="default: %(default)g")
    add(
        "--local-epsilon",
        type=float,
        default=25.5,
        metavar="E",
        help="of each upload in regime central-local (default: 25.5)",
    )
    add("--clip", type=float, default=0.3, metavar="C", help="norm of updates (default: 0.3)")


def add_network(add: Add) -> None:
    """Add what the network is and how devices train it."""
    add("--hidden", type=_widths, default=(16,), metavar="N,N", help="widths (default: 16)")
    add("--activation", choices=("sigmoid", "relu"), default="sigmoid", help="default: sigmoid")
    add("--local-steps", type=positive, default=1, metavar="N", help="on a device (default: 1)")
    add("--local-rate", type=float, default=0.5, metavar="X", help="on a device (default: 0.5)")


def require_folder(output: Path) -> None:
    """Refuse an output that cannot be a folder.

    Raises:
        UsageError: it, or what it would lie in, is something else.
    """
    nearest = next(place for place in (output, *output.parents) if place.exists())
    if not nearest.is_dir():
        raise UsageError(f"{nearest} is not a folder; name another output")


def table_of(labels: Path | None, given: AttributeTable | None) -> AttributeTable:
    """What is known of the vectors: the table of --labels, else what came along with them.

    Raises:
        UsageError: there is none.
    """
    from sordino.evaluate.attributes.table import AttributeTable

    if labels is not None:
        return AttributeTable.read(labels)
    if given is None:
        raise UsageError("--labels names the table of the private labels")
    return given


def labelled_vectors(
    options: argparse.Namespace, held_out: tuple[str, str] | None = None
) -> Labelled:
    """The vectors of DATA with their labels.

    Args:
        options: of `add_places`, `add_labels` and `add_least_speakers`.
        held_out: column and value of those to measure with.

    Raises:
        UsageError: a file cannot be read, or labels are missing.
    """
    from sordino.federated.populations.read import PARQUET, labelled, read_parquet
    from sordino.speaker.vectors_files import read_vectors

    if not options.label:
        raise UsageError("--label names the column of the private label")
    source = Path(options.data)
    given = None
    if source.suffix.lower() == PARQUET:
        vectors, given = read_parquet(source)
    else:
        vectors = read_vectors(source)
    return labelled(
        vectors,
        table_of(options.labels, given),
        options.label,
        only=options.only,
        unknown=options.unknown,
        held_out=held_out,
        least=options.least_speakers,
    )


def task_of(options: argparse.Namespace, population: Population) -> ClassifierTask:
    """The classifier for a population, by the options of `add_network`."""
    from sordino.federated.task import ClassifierTask, LocalTraining

    return ClassifierTask(
        population.inputs,
        population.classes,
        options.hidden,
        options.activation,
        training=LocalTraining(options.local_steps, options.local_rate),
    )


def write_all(folder: Path, contents: Mapping[str, str]) -> None:
    """Write text files, each whole.

    Args:
        folder: made if it is not there.
        contents: by file name.

    Raises:
        OutputError: they cannot be written.
    """
    from sordino.anonymize.record import write_whole

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror}") from error
    for name, text in contents.items():
        write_whole(folder / name, text)


def _widths(text: str) -> tuple[int, ...]:
    """Widths of layers: "64,32"; "0" for none."""
    return tuple(positive(part) for part in text.split(",") if part.strip() != "0")
