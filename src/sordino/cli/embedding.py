"""What is the same in every command that turns recordings into vectors."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sordino.cli.inputs import default_jobs, input_notes, speaker_notes
from sordino.cli.progress import Progress
from sordino.cli.text import say
from sordino.errors import OutputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sordino.speaker.base import SpeakerEncoder, Vector
    from sordino.speaker.vectors_jobs import Gathered, Task

_DIED = "the worker process died (out of memory or a broken decoder)"
_LONGEST_PREFIX = 100


def embedded(
    tasks: tuple[Task, ...], encoder: SpeakerEncoder, jobs: int | None, work: Path
) -> tuple[list[tuple[Task, Vector]], list[tuple[Task, str]], float]:
    """Vectors of recordings, in worker processes, with progress.

    Args:
        tasks: the recordings.
        encoder: what makes the vectors.
        jobs: how many processes; None for as many as are fastest here.
        work: a folder for what the processes tell.

    Returns:
        What was done, what failed and why, and the seconds of sound that were done.
    """
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


def refuse_existing(files: tuple[Path, ...], *, overwrite: bool) -> None:
    """Refuse an output that stands in the way.

    Raises:
        UsageError: a file is there already, or something that is no file.
    """
    for file in files:
        if file.is_dir():
            raise UsageError(f"output {file}: is a folder; name a file")
        if file.exists() and not file.is_file():
            raise UsageError(f"output {file}: is not a regular file; name another")
        if not overwrite and os.path.lexists(file):
            raise UsageError(f"output {file} exists; use --overwrite or another name")


def refuse_inputs(files: tuple[Path, ...], tasks: tuple[Task, ...]) -> None:
    """Refuse an output that is one of the recordings.

    Raises:
        UsageError: it is.
    """
    there = [file for file in files if file.exists()]
    for task in tasks if there else ():
        if task.source.exists() and any(file.samefile(task.source) for file in there):
            raise UsageError(f"output {task.source}: is one of the recordings; name another")


@contextmanager
def work_folder(output: Path) -> Iterator[Path]:
    """A folder beside an output for what is not finished; gone at the end.

    It is made before the work is done, so that a place that cannot be written is known at once.

    Raises:
        OutputError: it cannot be made.
    """
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        folder = tempfile.mkdtemp(prefix=f".{output.name[:_LONGEST_PREFIX]}.", dir=output.parent)
    except OSError as error:
        raise OutputError(f"output {output}: {error.strerror}") from error
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def tell_input(gathered: Gathered, options: argparse.Namespace) -> None:
    """Print what was found in the inputs, and who speaks."""
    notes = input_notes(gathered.ignored, gathered.loops, gathered.left_out)
    notes += speaker_notes(((task.source, task.speaker) for task in gathered.tasks), options)
    for note in notes:
        say(f"note: {note}", sys.stderr)
