"""One file of a run, done in whatever process it is given to."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sordino.anonymize.base import Anonymizer, Draws
from sordino.anonymize.plan import Task
from sordino.anonymize.record import Entry
from sordino.anonymize.render import Voices, render
from sordino.anonymize.segments import NOBODY
from sordino.anonymize.settings import Settings
from sordino.audio.read import check_regular
from sordino.errors import SordinoError

if TYPE_CHECKING:
    from sordino.anonymize.pseudo.base import Source

_CHUNK = 2**20


@dataclass(frozen=True)
class Job:
    """A task with all that is needed to do it.

    Attributes:
        number: which of the run's tasks it is.
        task: what to do.
        settings: how.
        earlier: what an earlier run noted of it, if anything.
        work: folder for what is not finished.
        sources: how those who speak sound, by speaker, where the system asks for it.
    """

    number: int
    task: Task
    settings: Settings
    earlier: Entry | None
    work: Path
    sources: Mapping[str, Source] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Result:
    """What became of a job.

    Attributes:
        entry: for the run record.
        kept: whether an earlier run had finished the file.
    """

    entry: Entry
    kept: bool = False


def attempt(job: Job, advance: Callable[[float], None]) -> Result:
    """Anonymize one file; every failure becomes an entry that says why.

    Args:
        job: what to do.
        advance: told of every stretch of sound that is done, in seconds.

    Returns:
        A result whose entry is "done" (the output is in place, complete and on disk) or "failed"
        (nothing was written; an output of an earlier run is left, and the reason says so).
    """
    try:
        return _process(job, advance)
    except SordinoError as error:
        return failed(job, str(error))
    except OSError as error:
        return failed(job, error.strerror or type(error).__name__)
    except MemoryError:
        return failed(job, "out of memory")
    except Exception as error:
        # The message of an error that nobody foresaw may hold the name, which records must not.
        message = str(error).replace(str(job.task.source), "...")
        message = message.replace(job.task.source.name, "...")
        return failed(job, f"internal error, please report it ({type(error).__name__}: {message})")


def _process(job: Job, advance: Callable[[float], None]) -> Result:
    task, key = job.task, job.settings.key
    check_regular(task.source)
    content = key.digest(_chunks(task.source))
    digest = key.derive("input", content, *_decisive(job)).hex()
    if (
        job.earlier is not None
        and job.earlier.input == digest
        and task.target.exists()
        and job.earlier.output == _digest(task.target)
    ):
        return Result(job.earlier, kept=True)
    anonymizer = job.settings.anonymizer()
    part = job.work / f"part-{job.number}"
    try:
        rendered = render(
            task.source,
            part,
            anonymizer,
            _voices(job, anonymizer, content),
            format_name=task.format,
            shape=job.settings.shape,
            scratch=job.work,
            advance=advance,
        )
        output = _digest(part)
        task.target.parent.mkdir(parents=True, exist_ok=True)
        part.replace(task.target)
    finally:
        part.unlink(missing_ok=True)
    entry = Entry(
        task.name,
        "done",
        input=digest,
        output=output,
        sample_rate=rendered.sample_rate,
        channels=rendered.channels,
        samples=rendered.samples,
        loudness_change=rendered.loudness_change,
    )
    return Result(entry)


def _decisive(job: Job) -> Iterator[str]:
    """All that an output depends on besides its source's content and the settings."""
    yield job.task.speaker
    for turn in job.task.turns:
        yield f"{turn.speaker} {turn.start} {turn.end}"
    for speaker, source in sorted(job.sources.items()):
        yield f"{speaker} {source.sex} {source.vector.tobytes().hex()}"


def _voices(job: Job, anonymizer: Anonymizer, content: str) -> Draws | Voices:
    task, key, sources = job.task, job.settings.key, job.sources
    draws = {
        speaker: anonymizer.draws(key, speaker, content, source=sources.get(speaker))
        for speaker in task.speakers
    }
    if not task.turns:
        return draws[task.speaker]
    if job.settings.unassigned != "silence":
        # Somebody else in each recording.
        nobody = f"{NOBODY}{content}"
        draws[NOBODY] = anonymizer.draws(key, nobody, content, source=sources.get(NOBODY))
    return Voices(task.turns, draws)


def failed(job: Job, reason: str) -> Result:
    """The result of a job that came to nothing, with the reason in one line."""
    if os.path.lexists(job.task.target):
        reason += "; the output of an earlier run is left in place"
    return Result(Entry(job.task.name, "failed", reason=" ".join(reason.split())))


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    for chunk in _chunks(path):
        digest.update(chunk)
    return digest.hexdigest()
