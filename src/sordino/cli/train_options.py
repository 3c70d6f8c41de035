"""Options that are the same in every command that trains, and what they say."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sordino.cli.inputs import pair, path, positive, selected
from sordino.cli.text import counted, say
from sordino.errors import UsageError

if TYPE_CHECKING:
    from sordino.corpus.corpus import Corpus
    from sordino.training.launch import Hardware

_NEEDED = ("torch", "lightning_fabric", "onnx", "tensorboard")


def add_run_options(parser: argparse.ArgumentParser, *, recipes: str, default: str) -> None:
    """Add DATA, -o, --recipe, --set, --layout, --only, --licence, --resume and --quiet.

    Args:
        parser: of the command.
        recipes: names of those that come with the package.
        default: one of them.
    """
    add = parser.add_argument
    add("data", type=path, metavar="DATA", help="speech with speakers")
    add("-o", "--output", type=path, required=True, metavar="RUN", help="folder for the whole run")
    add(
        "--recipe",
        default=default,
        metavar="NAME",
        help=f"{recipes}, or a .toml file (default: %(default)s)",
    )
    add(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.SETTING=VALUE",
        help="change a setting of the recipe",
    )
    add("--layout", metavar="NAME", help="how DATA lies on disk (default: found out)")
    add(
        "--only",
        action="append",
        default=[],
        type=pair,
        metavar="PROPERTY=VALUE",
        help="take only utterances with this split, corpus, sex, language or speaker",
    )
    add("--licence", default="not stated", metavar="TEXT", help="of the weights, for the card")
    add("--resume", action="store_true", help="go on with a run that was cut short")
    add("--quiet", action="store_true", help="show no progress")


def add_jobs_option(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --jobs.

    Args:
        parser: of the command.
        what: the processes do.
    """
    parser.add_argument(
        "--jobs", type=positive, default=1, metavar="N", help=f"processes that {what}"
    )


def add_hardware_options(parser: argparse.ArgumentParser) -> None:
    """Add --accelerator, --devices, --nodes, --precision and --workers."""
    add = parser.add_argument_group("hardware").add_argument
    add("--accelerator", default="auto", metavar="NAME", help="cpu, cuda, mps or auto (default)")
    add("--devices", type=positive, default=1, metavar="N", help="on this machine (default: 1)")
    add("--nodes", type=positive, default=1, metavar="N", help="machines (default: 1)")
    add("--precision", default="32-true", metavar="NAME", help="for example 16-mixed, bf16-mixed")
    add("--workers", type=positive, default=1, metavar="N", help="that prepare crops, per device")


def add_noise_option(parser: argparse.ArgumentParser) -> None:
    """Add --noise."""
    parser.add_argument(
        "--noise", type=path, metavar="FOLDER", help="recordings of noise to mix in"
    )


def noises_of(options: argparse.Namespace) -> tuple[Path, ...]:
    """The recordings that --noise names; none where it is not given.

    Raises:
        UsageError: the folder holds none.
    """
    if options.noise is None:
        return ()
    from sordino.corpus.discover import find_recordings

    found = find_recordings(options.noise).recordings
    if not found:
        raise UsageError(f"{options.noise}: holds no recordings of noise")
    return found


def require_extra() -> None:
    """See that what training needs is installed.

    Raises:
        UsageError: something is not; the message names it.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f'training needs {missing[0]}; install the extra train: pip install "sordino[train]"'
        )


def corpus_of(options: argparse.Namespace) -> Corpus:
    """The utterances of DATA that --only leaves; says on standard error how many they are."""
    from sordino.corpus.layouts.detect import read_corpus
    from sordino.training.launch import first_process

    corpus = selected(read_corpus(options.data, options.layout), options.only)
    if first_process():
        tell_size(corpus)
    return corpus


def tell_size(corpus: Corpus, what: str = "") -> None:
    """Say on standard error how much speech there is."""
    say(
        f"{what}{counted(len(corpus), 'utterance')} of {counted(len(corpus.speakers), 'speaker')}",
        sys.stderr,
    )


def hardware_of(options: argparse.Namespace) -> Hardware:
    """What the options of `add_hardware_options` say."""
    from sordino.training.launch import Hardware

    return Hardware(
        accelerator=options.accelerator,
        devices=options.devices,
        nodes=options.nodes,
        precision=options.precision,
        workers=options.workers,
    )


def tell_trained(name: str, place: Path) -> None:
    """Say on standard output what has been made, and where it lies."""
    say(f"trained {name} -> {place}", sys.stdout)
