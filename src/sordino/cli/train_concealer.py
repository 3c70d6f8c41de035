"""`sordino train concealer`: what hides an attribute in speaker vectors."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from sordino.cli.inputs import add_row_options, path
from sordino.cli.status import EXIT_DONE
from sordino.cli.text import counted, say
from sordino.cli.train_options import hardware_of, require_extra, tell_trained
from sordino.errors import UsageError
from sordino.speaker import DEFAULT_ENCODER

if TYPE_CHECKING:
    from sordino.speaker.vectors import Vectors

_EPILOG = """\
examples:
  sordino embed speech/ -o vectors.npz --speakers speech/manifest.csv
  sordino train concealer vectors.npz --labels speech/speakers.csv --attribute sex \\
      --only split=dev --unknown label_check=doubtful -o runs/sex
  sordino train concealer vectors.npz --labels speech/speakers.csv --attribute sex \\
      --attribute corpus --recipe paper --set noise.epsilon=20.0 -o runs/paper-20
"""


def add_parser(models: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to `sordino train`."""
    parser = models.add_parser(
        "concealer",
        help="train what hides sex and the like in speaker vectors",
        description="Train a concealer: speaker vectors in, protected templates out, in which"
        " speakers can still be recognised. VECTORS is a file of `sordino embed`, or a corpus in"
        " any layout that sordino reads, which is embedded first.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "vectors",
        type=path,
        metavar="VECTORS",
        help="speaker vectors (npz, h5, ark, csv), or speech",
    )
    add(
        "--labels",
        type=path,
        required=True,
        metavar="CSV",
        help="table with a column key or speaker, and columns of attributes",
    )
    add(
        "--attribute",
        action="append",
        required=True,
        metavar="NAME",
        help="a column of it to conceal (repeatable)",
    )
    add("-o", "--output", type=path, required=True, metavar="RUN", help="folder for the whole run")
    add(
        "--recipe",
        default="sordino",
        metavar="NAME",
        help="paper, paper-noiseless, privunit, sordino, or a .toml file (default: %(default)s)",
    )
    add(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.SETTING=VALUE",
        help="change a setting of the recipe",
    )
    add_row_options(add, "attributes")
    add(
        "--encoder",
        metavar="MODEL",
        help=f"for speech: name, folder or hub:OWNER/NAME (default: {DEFAULT_ENCODER})",
    )
    add("--licence", default="not stated", metavar="TEXT", help="of the weights, for the card")
    add("--resume", action="store_true", help="go on with a run that was cut short")
    add("--quiet", action="store_true", help="show no progress")
    add("--accelerator", default="auto", metavar="NAME", help="cpu, cuda, mps or auto (default)")
    parser.set_defaults(run=_run, devices=1, nodes=1, precision="32-true", workers=1)


def _run(options: argparse.Namespace) -> int:
    require_extra()
    from sordino.evaluate.attributes.table import AttributeTable
    from sordino.training.concealer.data import chosen, without
    from sordino.training.concealer.recipe import ConcealerRecipe
    from sordino.training.concealer.run import train_concealer
    from sordino.training.recipes import read_recipe

    recipe = ConcealerRecipe.from_values(read_recipe(options.recipe, options.set, "concealer"))
    table = AttributeTable.read(options.labels)
    vectors = chosen(_vectors(options), table, options.only)
    speakers = len(set(vectors.speakers))
    say(f"{counted(len(vectors), 'vector')} of {counted(speakers, 'speaker')}", sys.stderr)
    bundle = train_concealer(
        recipe,
        vectors,
        without(table, options.attribute, options.unknown),
        options.attribute,
        options.output,
        hardware=hardware_of(options),
        resume=options.resume,
        licence=options.licence,
        quiet=options.quiet,
    )
    tell_trained(bundle.name, bundle.folder)
    return EXIT_DONE


def _vectors(options: argparse.Namespace) -> Vectors:
    """Those of a file, or of speech."""
    from sordino.speaker.vectors_files import is_vectors_file, read_vectors

    if is_vectors_file(options.vectors):
        if options.encoder is not None:
            raise UsageError("--encoder goes with speech, not with vectors")
        return read_vectors(options.vectors)
    from sordino.corpus.layouts.detect import read_corpus
    from sordino.speaker.encoders import load_encoder
    from sordino.training.concealer.data import embedded

    corpus = read_corpus(options.vectors)
    name = options.encoder or DEFAULT_ENCODER
    encoder = load_encoder(name, tell=lambda text: say(text, sys.stderr))
    return embedded(corpus, encoder, options.output, quiet=options.quiet)
