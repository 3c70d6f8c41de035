"""`sordino embed`: files and folders of recordings in, speaker vectors out."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sordino.cli.inputs import (
    add_speaker_options,
    default_jobs,
    input_notes,
    path,
    positive,
    speaker_notes,
    speaker_rule,
)
from sordino.cli.progress import Progress
from sordino.cli.status import EXIT_DONE, EXIT_FAILED
from sordino.cli.text import clock, counted, say
from sordino.errors import OutputError, UsageError
from sordino.speaker import DEFAULT_ENCODER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sordino.speaker.base import SpeakerEncoder, Vector
    from sordino.speaker.vectors_jobs import Gathered, Task

_DIED = "the worker process died (out of memory or a broken decoder)"
_LONGEST_PREFIX = 100
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
    add("--format", metavar="NAME", help="npz, hdf5 or ark (default: by the ending of OUT)")
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
    _refuse_existing(files_of(options.output, format_name), overwrite=options.overwrite)
    gathered = gather(options.inputs, speaker_rule(options))
    _refuse_inputs(files_of(options.output, format_name), gathered.tasks)
    encoder = load_encoder(options.encoder, tell=lambda text: say(text, sys.stderr))
    _tell_input(gathered, options)
    with _work_folder(options.output) as work:
        done, failed, seconds = _embedded(gathered.tasks, encoder, options.jobs, work)
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


def _embedded(
    tasks: tuple[Task, ...], encoder: SpeakerEncoder, jobs: int | None, work: Path
) -> tuple[list[tuple[Task, Vector]], list[tuple[Task, str]], float]:
    from sordino.speaker.vectors_jobs import attempt
    from sordino.workers import map_jobs

    done: list[tuple[Task, Vector]] = []
    failed: list[tuple[Task, str]] = []
    seconds = 0.0
    jobs = jobs or default_jobs(task.source for task in tasks)
    with closing(Progress(len(tasks))) as progress:
        results = map_jobs(partial(attempt, encoder), tasks, jobs, progress.advance, work)
        with closing(results):
            for task, outcome in results:
                if outcome is not None and outcome.vector is not None:
                    done.append((task, outcome.vector))
                    seconds += outcome.seconds
                    progress.report("done", task.source)
                else:
                    failed.append((task, outcome.reason if outcome else _DIED))
                    progress.report("failed", task.source)
    return done, sorted(failed, key=lambda row: row[0].name), seconds


def _refuse_existing(files: tuple[Path, ...], *, overwrite: bool) -> None:
    for file in files:
        if file.is_dir():
            raise UsageError(f"output {file}: is a folder; name a file")
        if file.exists() and not file.is_file():
            raise UsageError(f"output {file}: is not a regular file; name another")
        if not overwrite and os.path.lexists(file):
            raise UsageError(f"output {file} exists; use --overwrite or another name")


def _refuse_inputs(files: tuple[Path, ...], tasks: tuple[Task, ...]) -> None:
    there = [file for file in files if file.exists()]
    for task in tasks if there else ():
        if task.source.exists() and any(file.samefile(task.source) for file in there):
            raise UsageError(f"output {task.source}: is one of the recordings; name another")


@contextmanager
def _work_folder(output: Path) -> Iterator[Path]:
    # Beside the output, so that what is finished can be moved into place; made before the work is
    # done, so that a place that cannot be written is known at once.
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        folder = tempfile.mkdtemp(prefix=f".{output.name[:_LONGEST_PREFIX]}.", dir=output.parent)
    except OSError as error:
        raise OutputError(f"output {output}: {error.strerror}") from error
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _tell_input(gathered: Gathered, options: argparse.Namespace) -> None:
    notes = input_notes(gathered.ignored, gathered.loops, gathered.left_out)
    notes += speaker_notes(((task.source, task.speaker) for task in gathered.tasks), options)
    for note in notes:
        say(f"note: {note}", sys.stderr)
