"""`sordino train`: make models of your own."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sordino.cli.inputs import pair, path, positive, selected
from sordino.cli.status import EXIT_DONE
from sordino.cli.text import counted, say
from sordino.errors import UsageError

if TYPE_CHECKING:
    from sordino.training.launch import Hardware

_NEEDED = ("torch", "lightning_fabric", "onnx", "tensorboard")
_EPILOG = """\
examples:
  sordino train speaker speech/manifest.csv --only split=dev -o runs/first --recipe ecapa-small
  sordino train speaker VoxCeleb2/dev -o runs/vox --recipe f-ecapa --devices 4 --precision 16-mixed
  sordino train speaker VoxCeleb2/dev -o runs/vox --recipe f-ecapa --devices 4 --resume
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the command line."""
    parser = commands.add_parser(
        "train", help="train models", description="Train models. Needs the extra train."
    )
    models = parser.add_subparsers(title="models", required=True, metavar="MODEL")
    speaker = models.add_parser(
        "speaker",
        help="train a speaker encoder",
        description="Train a speaker encoder and write it as a model. DATA is a CSV manifest, a"
        " Kaldi directory, VoxCeleb, LibriSpeech, or a folder with a folder for each speaker.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = speaker.add_argument
    add("data", type=path, metavar="DATA", help="speech with speakers")
    add("-o", "--output", type=path, required=True, metavar="RUN", help="folder for the whole run")
    add(
        "--recipe",
        default="f-ecapa",
        metavar="NAME",
        help="ecapa-small, f-ecapa, f-ecapa-1024, s-ecapa, xvector, or a .toml file"
        " (default: %(default)s)",
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
    add("--noise", type=path, metavar="FOLDER", help="recordings of noise to mix in")
    add("--licence", default="not stated", metavar="TEXT", help="of the weights, for the card")
    add("--resume", action="store_true", help="go on with a run that was cut short")
    add("--jobs", type=positive, default=1, metavar="N", help="processes that make further voices")
    add("--quiet", action="store_true", help="show no progress")

    hardware = speaker.add_argument_group("hardware")
    add = hardware.add_argument
    add("--accelerator", default="auto", metavar="NAME", help="cpu, cuda, mps or auto (default)")
    add("--devices", type=positive, default=1, metavar="N", help="on this machine (default: 1)")
    add("--nodes", type=positive, default=1, metavar="N", help="machines (default: 1)")
    add("--precision", default="32-true", metavar="NAME", help="for example 16-mixed, bf16-mixed")
    add("--workers", type=positive, default=1, metavar="N", help="that prepare crops, per device")
    speaker.set_defaults(run=_speaker)


def _speaker(options: argparse.Namespace) -> int:
    _require_extra()
    from sordino.corpus.layouts.detect import read_corpus
    from sordino.training.launch import first_process
    from sordino.training.recipes import read_recipe
    from sordino.training.speaker.finish import export_run
    from sordino.training.speaker.recipe import SpeakerRecipe
    from sordino.training.speaker.run import train_speaker

    recipe = SpeakerRecipe.from_values(read_recipe(options.recipe, options.set))
    corpus = selected(read_corpus(options.data, options.layout), options.only)
    first = first_process()
    if first:
        say(
            f"{counted(len(corpus), 'utterance')} of {counted(len(corpus.speakers), 'speaker')}",
            sys.stderr,
        )
    train_speaker(
        recipe,
        corpus,
        options.output,
        hardware=_hardware(options),
        resume=options.resume,
        noises=_noises(options.noise),
        jobs=options.jobs,
        quiet=options.quiet,
    )
    if not first:
        return EXIT_DONE
    bundle = export_run(
        recipe,
        corpus,
        options.output,
        options.output / recipe.name,
        licence=options.licence,
        replace=True,
    )
    say(f"trained {bundle.name} -> {options.output / recipe.name}", sys.stdout)
    return EXIT_DONE


def _require_extra() -> None:
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f'training needs {missing[0]}; install the extra train: pip install "sordino[train]"'
        )


def _noises(folder: Path | None) -> tuple[Path, ...]:
    if folder is None:
        return ()
    from sordino.corpus.discover import find_recordings

    found = find_recordings(folder).recordings
    if not found:
        raise UsageError(f"{folder}: holds no recordings of noise")
    return found


def _hardware(options: argparse.Namespace) -> Hardware:
    from sordino.training.launch import Hardware

    return Hardware(
        accelerator=options.accelerator,
        devices=options.devices,
        nodes=options.nodes,
        precision=options.precision,
        workers=options.workers,
    )
