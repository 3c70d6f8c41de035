"""`sordino train speaker`: a speaker encoder from a corpus."""

from __future__ import annotations

import argparse

from sordino.cli.status import EXIT_DONE
from sordino.cli.train_options import (
    add_hardware_options,
    add_jobs_option,
    add_noise_option,
    add_run_options,
    corpus_of,
    hardware_of,
    noises_of,
    require_extra,
    tell_trained,
)

_EPILOG = """\
examples:
  sordino train speaker speech/manifest.csv --only split=dev -o runs/first --recipe ecapa-small
  sordino train speaker VoxCeleb2/dev -o runs/vox --recipe f-ecapa --devices 4 --precision 16-mixed
  sordino train speaker VoxCeleb2/dev -o runs/vox --recipe f-ecapa --devices 4 --resume
"""


def add_parser(models: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to `sordino train`."""
    parser = models.add_parser(
        "speaker",
        help="train a speaker encoder",
        description="Train a speaker encoder and write it as a model. DATA is a CSV manifest, a"
        " Kaldi directory, VoxCeleb, LibriSpeech, or a folder with a folder for each speaker.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_run_options(
        parser,
        recipes="ecapa-small, f-ecapa, f-ecapa-1024, s-ecapa, xvector",
        default="f-ecapa",
    )
    add_jobs_option(parser, "make further voices")
    add_noise_option(parser)
    add_hardware_options(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    require_extra()
    from sordino.training.launch import first_process
    from sordino.training.recipes import read_recipe
    from sordino.training.speaker.finish import export_run
    from sordino.training.speaker.recipe import SpeakerRecipe
    from sordino.training.speaker.run import train_speaker

    recipe = SpeakerRecipe.from_values(read_recipe(options.recipe, options.set))
    corpus = corpus_of(options)
    train_speaker(
        recipe,
        corpus,
        options.output,
        hardware=hardware_of(options),
        resume=options.resume,
        noises=noises_of(options),
        jobs=options.jobs,
        quiet=options.quiet,
    )
    if first_process():
        place = options.output / recipe.name
        bundle = export_run(
            recipe, corpus, options.output, place, licence=options.licence, replace=True
        )
        tell_trained(bundle.name, place)
    return EXIT_DONE
