"""`sordino conceal`: speaker vectors in, protected templates out."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sordino.cli.concealment import add_release_options, concealment_of, ledger_of
from sordino.cli.embedding import embedded, refuse_existing, refuse_inputs, tell_input, work_folder
from sordino.cli.inputs import add_speaker_options, path, positive, speaker_rule
from sordino.cli.status import EXIT_DONE, EXIT_FAILED
from sordino.cli.text import counted, say
from sordino.errors import OutputError, UsageError
from sordino.speaker import DEFAULT_ENCODER

if TYPE_CHECKING:
    from sordino.conceal.concealment import Concealment
    from sordino.speaker.base import SpeakerEncoder
    from sordino.speaker.vectors import Vectors
    from sordino.speaker.vectors_jobs import Gathered, Task

_EPILOG = """\
examples:
  sordino conceal vectors.npz -o protected.npz --epsilon 15
  sordino conceal vectors.csv -o protected.csv --model my-concealer --epsilon inf
  sordino conceal recordings/ -o protected.npz --epsilon 15 \\
      --ledger budget.sqlite --purpose log-in
"""
_SPEAKER_OPTIONS = ("speakers", "speaker_regex", "only", "encoder")


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the command line."""
    parser = commands.add_parser(
        "conceal",
        help="hide sex and the like in speaker vectors",
        description="Write protected templates of speaker vectors: a verifier can go on working,"
        " an attribute such as the sex is hidden. What is guaranteed of them, and what is not, is"
        " written beside. Recordings are embedded first.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "inputs",
        nargs="+",
        type=path,
        metavar="INPUT",
        help="one file of `sordino embed` (npz, h5, ark, csv), or recordings and folders",
    )
    add("-o", "--output", type=path, required=True, metavar="OUT", help="the file to write")
    add(
        "--model",
        metavar="MODEL",
        help="the concealer: name, folder or hub:OWNER/NAME (default: the one that is made for the"
        " encoder of the vectors); see: sordino models list",
    )
    add(
        "--encoder",
        metavar="MODEL",
        help=f"for recordings (default: the one that the concealer names, else {DEFAULT_ENCODER})",
    )
    add("--format", metavar="NAME", help="npz, hdf5, ark or csv (default: by the ending of OUT)")
    add("--overwrite", action="store_true", help="replace OUT if it exists")
    add("--jobs", type=positive, metavar="N", help="worker processes (default: as is fastest here)")
    release = parser.add_argument_group("release")
    add_release_options(release, required=True)
    release.add_argument(
        "--person", metavar="NAME", help="whom the ledger counts all for (default: the speakers)"
    )
    add_speaker_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read or embed, conceal, write, show."""
    from sordino.conceal.vectors import conceal_vectors, statement_of, statement_path
    from sordino.speaker.vectors_files import files_of, format_name_of, write_vectors

    started = time.monotonic()
    format_name = format_name_of(options.output, options.format)
    statement = statement_path(options.output)
    files = (*files_of(options.output, format_name), statement)
    refuse_existing(files, overwrite=options.overwrite)
    if options.person is not None and options.ledger is None:
        raise UsageError("--person goes with --ledger")
    ledger = ledger_of(options)
    given, gathered = _inputs(options, files)
    concealment, encoder = _concealment(options, given)
    refuse_inputs(files, gathered.tasks if gathered else ())
    failed: list[tuple[Task, str]] = []
    with work_folder(options.output) as work:
        if gathered is not None:
            tell_input(gathered, options)
            assert encoder is not None
            given, failed = _embedded(gathered, encoder, options, work)
        if given is not None and len(given) == 0:
            given = None
        if given is not None:
            protected = conceal_vectors(
                given,
                concealment,
                ledger=ledger,
                purpose=options.purpose or "",
                person=options.person,
            )
            said = statement_of(protected, concealment, options.person)
            # First, so that there never are templates without it.
            _write_json(said, statement, work)
            write_vectors(protected, options.output, format_name, work)
            _tell(said, concealment, options, statement, time.monotonic() - started)
    for task, reason in failed:
        say(f"failed: {task.source}: {reason}", sys.stderr)
    if given is None:
        say("concealed nothing; nothing is written", sys.stdout)
    return EXIT_FAILED if failed or given is None else EXIT_DONE


def _inputs(
    options: argparse.Namespace, outputs: tuple[Path, ...]
) -> tuple[Vectors | None, Gathered | None]:
    """The vectors of a file, or the recordings that they will be made of."""
    from sordino.speaker.vectors_files import FORMATS, read_vectors
    from sordino.speaker.vectors_jobs import gather

    endings = {ending for form in FORMATS.values() for ending in form.suffixes}
    tables = [given for given in options.inputs if given.suffix.lower() in endings]
    if not tables:
        return None, gather(options.inputs, speaker_rule(options))
    if len(options.inputs) > 1:
        raise UsageError(f"{tables[0]}: a file of vectors is concealed alone; give nothing else")
    for name in _SPEAKER_OPTIONS:
        if getattr(options, name):
            raise UsageError(f"--{name.replace('_', '-')} goes with recordings, not with vectors")
    if any(file.exists() and file.samefile(tables[0]) for file in outputs):
        raise UsageError(f"output {tables[0]}: is the input; name another")
    return read_vectors(tables[0]), None


def _concealment(
    options: argparse.Namespace, given: Vectors | None
) -> tuple[Concealment, SpeakerEncoder | None]:
    """What protects the vectors; and for recordings the encoder that makes them."""
    from sordino.conceal.choose import concealer_for
    from sordino.conceal.protected import is_protected, require_encoder
    from sordino.conceal.vectors import require_vectors
    from sordino.speaker.encoders import load_encoder

    def load(name: str) -> SpeakerEncoder:
        return load_encoder(name, tell=lambda text: say(text, sys.stderr))

    if given is not None:
        model = options.model
        if model is None:
            if is_protected(given.digest):
                raise UsageError(f"the vectors are concealed already: {given.encoder}")
            model = concealer_for(given.digest, given.encoder)
        concealment = concealment_of(model, options)
        require_vectors(given, concealment)
        if not given.digest:
            wanted = concealment.concealer.description.encoder
            say(f"note: the file does not say that its vectors are of {wanted}", sys.stderr)
        return concealment, None
    if options.model is None:
        encoder = load(options.encoder or DEFAULT_ENCODER)
        return concealment_of(concealer_for(encoder.digest, encoder.name), options), encoder
    concealment = concealment_of(options.model, options)
    encoder = load(options.encoder or concealment.concealer.description.encoder)
    require_encoder(encoder, concealment)
    return concealment, encoder


def _embedded(
    gathered: Gathered, encoder: SpeakerEncoder, options: argparse.Namespace, work: Path
) -> tuple[Vectors | None, list[tuple[Task, str]]]:
    from sordino.speaker.vectors_jobs import collected

    done, failed, _ = embedded(gathered.tasks, encoder, options.jobs, work)
    return (collected(done, encoder) if done else None), failed


def _write_json(said: dict[str, Any], place: Path, work: Path) -> None:
    part = work / "statement"
    try:
        with part.open("w", encoding="utf-8") as file:
            json.dump(said, file, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        part.replace(place)
    except OSError as error:
        raise OutputError(f"{place}: cannot be written: {error.strerror}") from error


def _tell(
    said: dict[str, Any],
    concealment: Concealment,
    options: argparse.Namespace,
    statement: Path,
    elapsed: float,
) -> None:
    releases = said["releases"]
    say(
        f"concealed {counted(releases['templates'], 'vector')} by {concealment.name} in"
        f" {elapsed:.1f} s -> {options.output}",
        sys.stdout,
    )
    if math.isfinite(concealment.epsilon):
        most = releases["most_of_one_speaker"]
        text = f"epsilon {concealment.epsilon:g} for each template; those of one person add up"
        if most is not None and most > 1:
            text += f", here to {releases['epsilon_of_those']:g} for {most}"
        say(text, sys.stdout)
    say(f"what is guaranteed and what is not: {statement}", sys.stdout)
