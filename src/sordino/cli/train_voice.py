"""`sordino train voice`: everything that the neural anonymizer needs, from a corpus."""

from __future__ import annotations

import argparse

from sordino.cli.inputs import pair, path, selected
from sordino.cli.status import EXIT_DONE
from sordino.cli.train_options import (
    add_hardware_options,
    add_jobs_option,
    add_run_options,
    corpus_of,
    hardware_of,
    require_extra,
    tell_size,
    tell_trained,
)
from sordino.errors import UsageError

_EPILOG = """\
examples:
  sordino train voice speech/manifest.csv -o runs/mine --recipe sordino-small
  sordino train voice speech/manifest.csv -o runs/mine --recipe sordino-small --resume
  sordino train voice LibriTTS/train-clean-100 -o runs/paper --pool LibriTTS/train-other-500
  sordino anonymize recordings/ -o out --system neural --param voice=runs/mine/sordino-small
"""


def add_parser(models: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to `sordino train`."""
    parser = models.add_parser(
        "voice",
        help="train a voice: units, content, vocoder and pool",
        description="Make all that the neural anonymizer needs: units, a content encoder, a"
        " generator and a pool of speakers. Steps that are done are not done again. DATA is a"
        " corpus in any layout that sordino reads.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_run_options(
        parser,
        recipes="soft-f-ecapa, soft-s-ecapa, soft-xvector, units-f-ecapa, features-f-ecapa,"
        " two-stage-xvector, small, sordino-small",
        default="soft-f-ecapa",
    )
    pool = parser.add_argument_group("pool (default: the speakers of DATA)")
    add = pool.add_argument
    add("--pool", type=path, metavar="DATA", help="speech of the pool's speakers")
    add("--pool-layout", metavar="NAME", help="how it lies on disk (default: found out)")
    add(
        "--pool-only",
        action="append",
        default=[],
        type=pair,
        metavar="PROPERTY=VALUE",
        help="as --only, for the pool",
    )
    add_jobs_option(parser, "prepare")
    add_hardware_options(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    require_extra()
    from sordino.corpus.layouts.detect import read_corpus
    from sordino.training.recipes import read_recipe
    from sordino.training.voice.recipe import VoiceRecipe
    from sordino.training.voice.run import train_voice

    recipe = VoiceRecipe.from_values(read_recipe(options.recipe, options.set, "voice"))
    if options.pool is None and (options.pool_layout or options.pool_only):
        raise UsageError("--pool-layout and --pool-only are of a pool; give one with --pool")
    corpus, pool = corpus_of(options), None
    if options.pool is not None:
        found = read_corpus(options.pool, options.pool_layout)
        pool = selected(found, options.pool_only, "--pool-only")
        tell_size(pool, "pool: ")
    bundle = train_voice(
        recipe,
        corpus,
        options.output,
        pool=pool,
        hardware=hardware_of(options),
        resume=options.resume,
        jobs=options.jobs,
        licence=options.licence,
        quiet=options.quiet,
    )
    tell_trained(bundle.name, bundle.folder)
    return EXIT_DONE
