"""`sordino embed`: files and folders of recordings in, speaker vectors out."""

from __future__ import annotations

import argparse
import sys
import time

from sordino.cli.embedding import embedded, refuse_existing, refuse_inputs, tell_input, work_folder
from sordino.cli.inputs import add_speaker_options, path, positive, speaker_rule
from sordino.cli.status import EXIT_DONE, EXIT_FAILED
from sordino.cli.text import clock, counted, say
from sordino.speaker import DEFAULT_ENCODER

_EPILOG = """\
examples:
  sordino embed corpus/ -o vectors.npz
  sordino embed corpus/ -o vectors.ark --speakers corpus/manifest.csv --only split=test
  sordino embed corpus/ -o speakers.h5 --per-speaker --encoder models/my-encoder
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the command line."""
    parser = commands.add_parser(
        "embed",
        help="write speaker vectors of recordings",
        description="Write one vector for each recording, or for each speaker. Vectors of one"
        " speaker are close together; whoever has them can recognise the speaker.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("inputs", nargs="+", type=path, metavar="INPUT", help="a recording, a video or a folder")
    add("-o", "--output", type=path, required=True, metavar="OUT", help="the file to write")
    add(
        "--encoder",
        default=DEFAULT_ENCODER,
        metavar="MODEL",
        help="name, folder or hub:OWNER/NAME (default: %(default)s); see: sordino models list",
    )
    add("--format", metavar="NAME", help="npz, hdf5, ark or csv (default: by the ending of OUT)")
    add("--per-speaker", action="store_true", help="one mean vector for each speaker")
    add("--overwrite", action="store_true", help="replace OUT if it exists")
    add("--jobs", type=positive, metavar="N", help="worker processes (default: as is fastest here)")
    add_speaker_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Gather, embed, write, show."""
    from sordino.speaker.encoders import load_encoder
    from sordino.speaker.vectors_files import files_of, format_name_of, write_vectors
    from sordino.speaker.vectors_jobs import collected, gather

    started = time.monotonic()
    format_name = format_name_of(options.output, options.format)
    refuse_existing(files_of(options.output, format_name), overwrite=options.overwrite)
    gathered = gather(options.inputs, speaker_rule(options))
    refuse_inputs(files_of(options.output, format_name), gathered.tasks)
    encoder = load_encoder(options.encoder, tell=lambda text: say(text, sys.stderr))
    tell_input(gathered, options)
    with work_folder(options.output) as work:
        done, failed, seconds = embedded(gathered.tasks, encoder, options.jobs, work)
        if done:
            vectors = collected(done, encoder)
            if options.per_speaker:
                vectors = vectors.per_speaker()
            write_vectors(vectors, options.output, format_name, work)
    elapsed = time.monotonic() - started
    say(
        f"embedded {len(done)} of {counted(len(gathered.tasks), 'file')}"
        f" ({counted(len({task.speaker for task, _ in done}), 'speaker')}), {clock(seconds)} of"
        f" audio, in {elapsed:.1f} s ({seconds / elapsed:.0f}x real time)"
        + (f" -> {options.output}" if done else "; nothing is written"),
        sys.stdout,
    )
    if done:
        rows = counted(len(vectors), "vector")
        say(f"{rows} of {encoder.dimension} numbers, by {encoder.name}", sys.stdout)
    for task, reason in failed:
        say(f"failed: {task.source}: {reason}", sys.stderr)
    return EXIT_FAILED if failed else EXIT_DONE
