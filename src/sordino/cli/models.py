"""`sordino models`: which models there are, what one is, and models from elsewhere."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sordino.cli.inputs import path, positive
from sordino.cli.status import EXIT_DONE, EXIT_FAILED
from sordino.cli.text import say
from sordino.errors import SordinoError, UsageError
from sordino.training.importers import IMPORTERS, import_model

# What is taken from the hub for an import.
_CHECKPOINTS = (
    *("*.ckpt", "*.pt", "*.yaml"),
    *("*.json", "*.safetensors", "*.bin"),  # as transformers names them
    *("g_*", "*/g_*", "*.xvector"),  # HiFi-GAN's generators, and pools
)
_QUANTISE_FROM = 16


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the command line."""
    parser = commands.add_parser(
        "models",
        help="list, show, pull, import and quantise models",
        description="List, show, pull, import and quantise models.",
    )
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION")

    listing = actions.add_parser(
        "list",
        help="list the models that can be named",
        description="List the models that can be named: those in your models folder (set"
        " SORDINO_MODELS to choose it) and those that come with sordino.",
    )
    listing.set_defaults(run=_list)

    show = actions.add_parser(
        "show",
        help="check a model and print its card",
        description="Check a model, print its card.",
    )
    show.add_argument("name", metavar="MODEL", help="name, folder or hub:OWNER/NAME[@REVISION]")
    show.set_defaults(run=_show)

    pull = actions.add_parser(
        "pull",
        help="copy a model from the hub into your models folder",
        description="Copy a model from the Hugging Face hub into your models folder, so that it"
        " can be named and used without a network. Its name and size are told before anything is"
        " downloaded, and all of it is checked. Needs the extra hub.",
    )
    pull.add_argument("source", metavar="MODEL", help="hub:OWNER/NAME[@REVISION]")
    pull.add_argument("--name", metavar="NAME", help="what it will be called (default: its own)")
    pull.set_defaults(run=_pull)

    importing = actions.add_parser(
        "import",
        help="make a model from a checkpoint of another project",
        description="Make a model from a checkpoint of another project. Needs the extra train.",
    )
    add = importing.add_argument
    add("kind", choices=tuple(IMPORTERS), metavar="KIND", help=", ".join(IMPORTERS))
    add("source", metavar="SOURCE", help="a folder or file, or hub:OWNER/NAME[@REVISION]")
    add("-o", "--output", type=path, metavar="FOLDER", help="default: in your models folder")
    add("--name", metavar="NAME", help="what it will be called (default: KIND)")
    add("--layer", type=positive, metavar="N", help="ssl-features: of which layer (default: last)")
    add("--pool", type=path, metavar="FOLDER", help="speaker-anonymization-release: its pool")
    add("--vocoder", metavar="NAME", help="speaker-anonymization-release: which, if several")
    importing.set_defaults(run=_import)

    quantising = actions.add_parser(
        "quantise",
        help="make a voice smaller and faster, in 8 bits",
        description="Make a copy of a voice that computes in 8-bit whole numbers. It is smaller,"
        " and faster where convolutions take the time. What is lost depends on the voice: compare"
        " both with `sordino evaluate anonymization`. Needs the package onnx.",
    )
    add = quantising.add_argument
    add("voice", metavar="VOICE", help="name, folder or hub:OWNER/NAME[@REVISION]")
    add("speech", type=path, metavar="SPEECH", help="recordings of several people, 10 s or more")
    add("-o", "--output", type=path, metavar="FOLDER", help="default: in your models folder")
    add("--name", metavar="NAME", help="what it will be called (default: VOICE-int8)")
    add("--content", action="store_true", help="its content network, too")
    quantising.set_defaults(run=_quantise)


def _list(options: argparse.Namespace) -> int:
    from sordino.models.bundle import Bundle
    from sordino.models.find import installed, user_models

    status = EXIT_DONE
    for name, place in installed():
        try:
            bundle = Bundle.peek(place.folder / name)
        except SordinoError as error:
            say(f"sordino: {error}", sys.stderr)
            status = EXIT_FAILED
            continue
        size = f"{bundle.size / 1e6:.1f} MB"
        say(f"{name}: {bundle.kind}, {size}, {bundle.licence}, {place.name}", sys.stdout)
        say(f"  {bundle.summary}", sys.stdout)
    say(f"note: your models folder is {user_models()}", sys.stderr)
    return status


def _show(options: argparse.Namespace) -> int:
    from sordino.models.find import load_model

    bundle = load_model(options.name, tell=lambda text: say(text, sys.stderr))
    facts = {
        "name": bundle.name,
        "kind": bundle.kind,
        "size": f"{bundle.size / 1e6:.1f} MB in {len(bundle.files)} files, checked",
        "licence": bundle.licence,
        "folder": bundle.folder,
        "digest": bundle.digest,
    }
    for key, value in facts.items():
        say(f"{key}: {value}", sys.stdout)
    say("", sys.stdout)
    for line in bundle.card.splitlines():
        say(line, sys.stdout)
    return EXIT_DONE


def _pull(options: argparse.Namespace) -> int:
    from sordino.models.find import user_models
    from sordino.models.pull import pull

    bundle = pull(
        options.source,
        user_models(),
        name=options.name,
        tell=lambda text: say(text, sys.stderr),
    )
    what = f"{bundle.kind}, {bundle.size / 1e6:.1f} MB, {bundle.licence}"
    say(f"{bundle.name}: {what} -> {bundle.folder}", sys.stdout)
    say(f"  {bundle.summary}", sys.stdout)
    return EXIT_DONE


def _import(options: argparse.Namespace) -> int:
    from sordino.models.find import HUB_PREFIX, user_models
    from sordino.models.hub import download

    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise UsageError(
            "importing a model needs PyTorch; install sordino with the extra train:"
            ' pip install "sordino[train]"'
        ) from error
    source = Path(options.source)
    if options.source.startswith(HUB_PREFIX):
        source = download(
            options.source, only=_CHECKPOINTS, tell=lambda text: say(text, sys.stderr)
        )
    name = options.name or options.kind
    target = options.output or user_models() / name
    import_model(
        options.kind,
        source,
        target,
        name,
        layer=options.layer,
        pool=options.pool,
        vocoder=options.vocoder,
    )
    say(f"imported {options.source} as {name} -> {target}", sys.stdout)
    return EXIT_DONE


def _quantise(options: argparse.Namespace) -> int:
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise UsageError('quantising needs the package onnx: pip install "onnx>=1.17"') from error
    from sordino.anonymize.voice import Voice
    from sordino.audio.recording import Recording
    from sordino.corpus.discover import find_recordings
    from sordino.models.find import user_models
    from sordino.training.voice.quantise import quantise_voice

    voice = Voice.load(options.voice)
    name = options.name or f"{voice.name}-int8"
    target = options.output or user_models() / name
    found = find_recordings(options.speech).recordings
    # From all over the folder, so that several people are among them.
    some = found[:: max(1, len(found) // _QUANTISE_FROM)]
    bundle = quantise_voice(
        voice,
        (Recording.read(place) for place in some),
        target,
        name=name,
        parts=("generator", "content") if options.content else ("generator",),
    )
    size = f"{voice.bundle.size / 1e6:.1f} MB -> {bundle.size / 1e6:.1f} MB"
    say(f"quantised {voice.name} as {name}, {size} -> {target}", sys.stdout)
    return EXIT_DONE
