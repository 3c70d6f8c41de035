"""Anonymize many recordings: worker processes, whole files only, stop and resume.

Each output is made in the work folder and moved into place when it is complete and on disk.
Whatever happens to one file or one worker, the others are done, and the run ends with a record of
all of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from filelock import FileLock, Timeout

from sordino.anonymize.job import Job, attempt, failed
from sordino.anonymize.names import write_mapping
from sordino.anonymize.plan import Plan, Task
from sordino.anonymize.record import (
    Entry,
    Journal,
    has_journal,
    read_progress,
    recorded_names,
    write_record,
)
from sordino.anonymize.settings import Settings
from sordino.anonymize.sources import sources_of
from sordino.audio.formats import FORMATS
from sordino.errors import OutputError, UsageError
from sordino.version import __version__
from sordino.workers import Advance, map_jobs

if TYPE_CHECKING:
    from sordino.anonymize.base import Level
    from sordino.anonymize.pseudo.base import Source
    from sordino.speaker.base import SpeakerEncoder

Mode = Literal["new", "resume", "overwrite"]
Report = Callable[[Entry, Task], None]

_LOCK_NAME = "lock"
_DIED = "the worker process died (out of memory or a broken decoder)"


@dataclass
class Summary:
    """The outcome of a run.

    Attributes:
        done: files that are there and complete, including those kept from an earlier run.
        kept: how many of them an earlier run had finished.
        seconds: length of the outputs made in this run.
        failed: files that could not be anonymized, with their reasons.
        interrupted: whether the run was stopped before its end.
        error: why the journal or the record could not be written, which ends a run.
        left_over: outputs of an earlier run that are there and not in the plan.
    """

    done: list[Entry] = field(default_factory=list)
    kept: int = 0
    seconds: float = 0.0
    failed: list[tuple[Task, str]] = field(default_factory=list)
    interrupted: bool = False
    error: str | None = None
    left_over: list[str] = field(default_factory=list)

    def add(self, task: Task, entry: Entry, *, kept: bool) -> None:
        """Count a file."""
        if entry.status == "done":
            self.done.append(entry)
            self.kept += kept
            self.seconds += 0.0 if kept else entry.seconds
        else:
            self.failed.append((task, entry.reason or ""))


def run(
    plan: Plan,
    settings: Settings,
    *,
    mode: Mode = "new",
    jobs: int = 1,
    report: Report = lambda entry, task: None,
    advance: Advance = lambda seconds: None,
) -> Summary:
    """Anonymize all recordings of a plan.

    Args:
        plan: what to do.
        settings: how.
        mode: "new" refuses outputs that exist, "resume" goes on with an earlier run, "overwrite"
            replaces outputs.
        jobs: worker processes; with 1 everything happens in this process.
        report: called with each file's entry as it is finished.
        advance: called with the length of every stretch of sound that is done, in seconds.

    Raises:
        UsageError: there is nothing to do, or outputs are in the way; nothing has been written.
        OutputError: the output folder cannot be written.
    """
    earlier = earlier_entries(plan, settings, mode)
    fingerprint = _fingerprint(plan, settings)
    anonymizer = settings.anonymizer()
    encoder = anonymizer.source_encoder() if anonymizer.needs_source else None
    summary, entries = Summary(), dict[str, Entry]()
    with _work_folder(plan):
        summary.left_over = _left_over(plan)
        if plan.mapping is not None:
            write_mapping(plan.mapping, plan.original_names)
        if mode != "resume":
            _remove_record(plan.record)
        journal = Journal(plan.work, fingerprint, earlier.values())
        try:
            sources = _sources(plan, encoder, anonymizer.level, jobs)
            queue = [
                Job(number, task, settings, earlier.get(task.name), plan.work, sources[number])
                for number, task in enumerate(plan.tasks)
            ]
            with closing(map_jobs(attempt, queue, jobs, advance, plan.work)) as results:
                for job, result in results:
                    entry, kept = (result or failed(job, _DIED)).entry, bool(result and result.kept)
                    entries[entry.name] = entry
                    summary.add(job.task, entry, kept=kept)
                    if not kept:  # else it is in the journal since its start
                        journal.add(entry)
                    report(entry, job.task)
            write_record(
                plan.record,
                {
                    "sordino": __version__,
                    "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
                    "settings": fingerprint,
                    **settings.public(),
                    "guarantee": anonymizer.protection,
                    "renamed": plan.mapping is not None,
                    "speakers": len(plan.speakers),
                },
                [entries[task.name] for task in plan.tasks],
            )
            journal.remove()
        except KeyboardInterrupt:
            summary.interrupted = True
        except OutputError as error:
            summary.error = str(error)
        finally:
            journal.close()
    return summary


def earlier_entries(plan: Plan, settings: Settings, mode: Mode) -> dict[str, Entry]:
    """What an earlier run has finished, by name; refuses what stands in the way of a run.

    Args:
        plan: what to do.
        settings: how.
        mode: see `run`.

    Raises:
        UsageError: there is nothing to do, nobody can be given a voice, or outputs are in the way.
    """
    if not plan.tasks:
        raise UsageError("no recordings found in the input")
    settings.anonymizer().check()
    if settings.shape.sample_rate is not None:
        for name in sorted({task.format for task in plan.tasks}):
            try:
                FORMATS[name].check(settings.shape.sample_rate, 1)
            except OutputError as error:
                raise UsageError(str(error)) from error
    present = [task for task in plan.tasks if os.path.lexists(task.target)]
    if mode == "resume":
        if present and not plan.record.exists() and not has_journal(plan.work):
            raise UsageError(
                f"{plan.folder}: no earlier run to resume is recorded there, but"
                f" {present[0].target} exists; use --overwrite or choose another output"
            )
        return read_progress(plan.record, plan.work, _fingerprint(plan, settings))
    if mode == "new":
        if has_journal(plan.work):
            raise UsageError(
                f"output {plan.folder}: an earlier run there was cut short, or is going on;"
                " use --resume, --overwrite or another output"
            )
        if present:
            raise UsageError(
                f"{present[0].target} exists ({len(present)} of {len(plan.tasks)} outputs do);"
                " use --resume, --overwrite or another output"
            )
        if left_over := _left_over(plan):
            raise UsageError(
                f"output {plan.folder}: holds an earlier run's outputs ({left_over[0]}, ...) and"
                " their record; use another output, or --overwrite to replace the record"
            )
    return {}


def _sources(
    plan: Plan, encoder: SpeakerEncoder | None, level: Level, jobs: int
) -> Sequence[Mapping[str, Source]]:
    if encoder is None:
        return [{} for _ in plan.tasks]
    by_speaker = level == "speaker"
    return sources_of(plan.tasks, encoder, by_speaker=by_speaker, workers=jobs, scratch=plan.work)


def _fingerprint(plan: Plan, settings: Settings) -> str:
    return settings.fingerprint(format=plan.format_name, renamed=plan.mapping is not None)


def _left_over(plan: Plan) -> list[str]:
    planned = {task.name for task in plan.tasks}
    names = recorded_names(plan.record, plan.work) - planned
    return sorted(name for name in names if (plan.folder / name).is_file())


def _remove_record(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from error


@contextmanager
def _work_folder(plan: Plan) -> Iterator[None]:
    try:
        plan.work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"output {plan.folder}: {error.strerror}") from error
    lock = FileLock(plan.work / _LOCK_NAME)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise UsageError(f"output {plan.folder}: another run is writing there") from error
    except OSError as error:
        raise OutputError(f"output {plan.folder}: {error.strerror}") from error
    try:
        _remove_parts(plan.work)
        yield
    finally:
        _remove_parts(plan.work)
        if not has_journal(plan.work):
            # While the lock is held: a run that starts after this finds nothing to share.
            with suppress(OSError):
                (plan.work / _LOCK_NAME).unlink(missing_ok=True)
                plan.work.rmdir()
        lock.release()


def _remove_parts(work: Path) -> None:
    for left in work.glob("part-*"):
        left.unlink(missing_ok=True)
