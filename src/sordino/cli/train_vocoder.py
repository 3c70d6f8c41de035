"""`sordino train vocoder`: a generator of speech from a corpus."""

from __future__ import annotations

import argparse
from dataclasses import replace

from sordino.cli.status import EXIT_DONE
from sordino.cli.train_options import (
    add_hardware_options,
    add_jobs_option,
    add_run_options,
    corpus_of,
    hardware_of,
    require_extra,
    tell_trained,
)

_EPILOG = """\
examples:
  sordino train vocoder LibriTTS/train-clean-100 -o runs/hifigan --content soft --encoder f-ecapa
  sordino train vocoder speech/manifest.csv -o runs/small --recipe istft-small --content small
  sordino train vocoder speech/manifest.csv -o runs/small --recipe istft-small --content small \\
    --resume
  sordino train vocoder speech/manifest.csv -o runs/both --recipe istft-along
"""


def add_parser(models: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to `sordino train`."""
    parser = models.add_parser(
        "vocoder",
        help="train a generator of speech",
        description="Train a generator that speaks what a content model hears, at a pitch, in the"
        " voice of a speaker vector; the recipes istft-along and istft-whisper train a content"
        " model along. DATA is a corpus in any layout that sordino reads.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_run_options(
        parser,
        recipes="hifigan, istft, istft-small, istft-along, istft-whisper, two-stage",
        default="hifigan",
    )
    add_jobs_option(parser, "make content, pitch and speaker vectors")
    parser.add_argument("--content", metavar="NAME", help="content model that it is for")
    parser.add_argument("--encoder", metavar="NAME", help="speaker encoder that it is for")
    add_hardware_options(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    require_extra()
    from sordino.training.recipes import read_recipe
    from sordino.training.vocoder.recipe import VocoderRecipe
    from sordino.training.vocoder.run import train_vocoder

    recipe = VocoderRecipe.from_values(read_recipe(options.recipe, options.set, "vocoder"))
    recipe = replace(
        recipe,
        content=options.content or recipe.content,
        encoder=options.encoder or recipe.encoder,
    )
    bundle = train_vocoder(
        recipe,
        corpus_of(options),
        options.output,
        hardware=hardware_of(options),
        resume=options.resume,
        jobs=options.jobs,
        licence=options.licence,
        quiet=options.quiet,
    )
    if bundle is not None:
        tell_trained(bundle.name, bundle.folder)
    return EXIT_DONE
