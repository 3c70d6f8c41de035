"""`sordino train content`: what tells a generator what is said."""

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
  sordino train content LibriSpeech/train-clean-100 -o runs/soft --units runs/units/hubert-200
  sordino train content speech/manifest.csv -o runs/small --recipe conv-soft \\
    --units runs/units/whisper-200
"""


def add_parser(models: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to `sordino train`."""
    parser = models.add_parser(
        "content",
        help="train a content encoder",
        description="Train a network that hears what is said and, as far as can be, not by whom."
        " DATA is a corpus in any layout that sordino reads.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_run_options(
        parser,
        recipes="soft-hubert, hubert-units, hubert-features, conv-soft, conv-bottleneck",
        default="soft-hubert",
    )
    parser.add_argument("--units", metavar="NAME", help="units that it learns: a model or folder")
    add_jobs_option(parser, "make further voices")
    add_noise_option(parser)
    add_hardware_options(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    require_extra()
    from sordino.training.content.recipe import ContentRecipe
    from sordino.training.content.run import train_content
    from sordino.training.recipes import read_recipe

    recipe = ContentRecipe.from_values(read_recipe(options.recipe, options.set, "content"))
    bundle = train_content(
        recipe,
        corpus_of(options),
        options.output,
        units=options.units,
        hardware=hardware_of(options),
        resume=options.resume,
        noises=noises_of(options),
        jobs=options.jobs,
        licence=options.licence,
        quiet=options.quiet,
    )
    if bundle is not None:
        tell_trained(bundle.name, bundle.folder)
    return EXIT_DONE
