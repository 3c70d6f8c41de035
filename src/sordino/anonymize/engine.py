"""Anonymize many recordings: worker processes, whole files only, stop and resume.

Each output is made in the work folder and moved into place when it is complete and on disk.
Whatever happens to one file or one worker, the others are done, and the run ends with a record of
all of them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Literal

from filelock import FileLock, Timeout

from sordino.anonymize.job import Job, attempt, failed
from sordino.anonymize.names import write_mapping
from sordino.anonymize.plan import Plan, Task
from sordino.anonymize.record import Entry, Journal, has_progress, read_progress, write_record
from sordino.anonymize.settings import Settings
from sordino.anonymize.workers import Advance, map_jobs
from sordino.errors import OutputError, UsageError
from sordino.version import __version__

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
        failed: files that could not be anonymized, with their reasons.
        interrupted: whether the run was stopped before its end.
    """

    done: list[Entry] = field(default_factory=list)
    kept: int = 0
    failed: list[tuple[Task, str]] = field(default_factory=list)
    interrupted: bool = False

    @property
    def seconds(self) -> float:
        """Length of all outputs together."""
        return sum(entry.seconds for entry in self.done)


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
        OutputError: the output folder, journal or record cannot be written.
    """
    if not plan.tasks:
        raise UsageError("no recordings found in the input")
    fingerprint = settings.fingerprint()
    earlier = _earlier(plan, fingerprint, mode)
    with _work_folder(plan):
        if mode == "overwrite":
            plan.record.unlink(missing_ok=True)
        if plan.mapping is not None:
            write_mapping(plan.mapping, plan.original_names)
        journal = Journal(plan.work, fingerprint, earlier.values())
        queue = [
            Job(number, task, settings, earlier.get(task.name), plan.work)
            for number, task in enumerate(plan.tasks)
        ]
        summary, entries = Summary(), dict[str, Entry]()
        try:
            with closing(map_jobs(attempt, queue, jobs, advance)) as results:
                for job, result in results:
                    entry, kept = (result or failed(job, _DIED)).entry, bool(result and result.kept)
                    entries[entry.name] = entry
                    if entry.status == "done":
                        summary.done.append(entry)
                        summary.kept += kept
                    else:
                        summary.failed.append((job.task, entry.reason or ""))
                    journal.add(entry)
                    report(entry, job.task)
        except KeyboardInterrupt:
            summary.interrupted = True
        finally:
            journal.close()
        if summary.interrupted:
            return summary
        write_record(
            plan.record,
            {
                "sordino": __version__,
                "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
                "settings": fingerprint,
                **settings.public(),
                "guarantee": settings.anonymizer().protection,
                "renamed": plan.mapping is not None,
                "speakers": len({task.speaker for task in plan.tasks}),
            },
            [entries[task.name] for task in plan.tasks],
        )
    shutil.rmtree(plan.work, ignore_errors=True)
    return summary


def _earlier(plan: Plan, fingerprint: str, mode: Mode) -> dict[str, Entry]:
    present = [task for task in plan.tasks if os.path.lexists(task.target)]
    if mode == "resume":
        if not present or has_progress(plan.record, plan.work):
            return read_progress(plan.record, plan.work, fingerprint)
        raise UsageError(
            f"{plan.folder}: no earlier run to resume is recorded there, but"
            f" {present[0].target} exists; use --overwrite or choose another output"
        )
    if mode == "new" and (present or has_progress(plan.record, plan.work)):
        what = present[0].target if present else plan.record
        raise UsageError(
            f"{what} exists ({len(present)} of {len(plan.tasks)} outputs do);"
            " use --resume, --overwrite or another output"
        )
    return {}


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
        for left in plan.work.glob("part-*"):
            left.unlink()
        yield
    finally:
        for left in plan.work.glob("part-*"):
            left.unlink()
        lock.release()
