"""`sordino train units`: units of speech from a corpus."""

from __future__ import annotations

import argparse

from sordino.cli.status import EXIT_DONE
from sordino.cli.train_options import add_run_options, corpus_of, require_extra, tell_trained

_EPILOG = """\
examples:
  sordino train units LibriSpeech/train-clean-100 -o runs/units --recipe hubert-200
  sordino train units speech/manifest.csv -o runs/units --recipe whisper-200 --set units=100
"""


def add_parser(models: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to `sordino train`."""
    parser = models.add_parser(
        "units",
        help="find units of speech",
        description="Find units of speech by k-means on the features of a self-supervised model or"
        " of Whisper. DATA is a corpus in any layout that sordino reads.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_run_options(parser, recipes="hubert-200, whisper-200", default="hubert-200")
    parser.add_argument(
        "--accelerator",
        default="auto",
        metavar="NAME",
        help="what features are computed on: cpu, cuda or auto (default)",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    require_extra()
    from sordino.training.recipes import read_recipe
    from sordino.training.units.recipe import UnitsRecipe
    from sordino.training.units.run import train_units

    recipe = UnitsRecipe.from_values(read_recipe(options.recipe, options.set, "units"))
    bundle = train_units(
        recipe,
        corpus_of(options),
        options.output,
        resume=options.resume,
        device=options.accelerator,
        licence=options.licence,
        quiet=options.quiet,
    )
    tell_trained(bundle.name, bundle.folder)
    return EXIT_DONE
