"""Anonymize many recordings: worker processes, whole files only, stop and resume.

Each output is made in the work folder and moved into place when it is complete and on disk.
Whatever happens to one file or one worker, the others are done, and the run ends with a record of
all of them.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from filelock import FileLock, Timeout

import sordino
from sordino.anonymize.base import Anonymizer
from sordino.anonymize.names import write_mapping
from sordino.anonymize.plan import Plan, Task
from sordino.anonymize.record import Entry, Journal, has_progress, read_progress, write_record
from sordino.anonymize.render import Shape, render
from sordino.anonymize.systems import load
from sordino.errors import OutputError, SordinoError, UsageError
from sordino.privacy.keys import SecretKey

Mode = Literal["new", "resume", "overwrite"]
Report = Callable[[Entry, Task], None]

_CHUNK = 2**20
_LOCK_NAME = "lock"


@dataclass(frozen=True)
class Settings:
    """How recordings are anonymized; the same for all files of a run.

    Attributes:
        system: the anonymizer's name.
        parameters: its settings, as name and value pairs.
        shape: rate and channels of outputs.
        key: the secret.
    """

    system: str
    parameters: tuple[tuple[str, object], ...]
    shape: Shape
    key: SecretKey

    def anonymizer(self) -> Anonymizer:
        """The anonymizer, ready for use."""
        return load(self.system, **dict(self.parameters))

    def public(self) -> dict[str, object]:
        """Everything but the key, for the run record."""
        anonymizer = self.anonymizer()
        return {
            "system": anonymizer.name,
            "system_version": anonymizer.version,
            "parameters": dict(anonymizer.parameters()),
            "sample_rate": self.shape.sample_rate,
            "mono": self.shape.mono,
        }

    def fingerprint(self) -> str:
        """Tells runs with the same settings and key; does not tell the key."""
        text = json.dumps(self.public(), sort_keys=True)
        return self.key.derive("settings", text)[:16].hex()


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
) -> Summary:
    """Anonymize all recordings of a plan.

    Args:
        plan: what to do.
        settings: how.
        mode: "new" refuses outputs that exist, "resume" goes on with an earlier run, "overwrite"
            replaces outputs.
        jobs: worker processes; with 1 everything happens in this process.
        report: called with each file's entry as it is finished.

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
            _Job(number, task, settings, earlier.get(task.name), plan.work)
            for number, task in enumerate(plan.tasks)
        ]
        summary, entries = Summary(), dict[str, Entry]()
        try:
            with closing(_results(queue, jobs)) as results:
                for job, entry, kept in results:
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
                "sordino": sordino.__version__,
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


class _Result(NamedTuple):
    job: _Job
    entry: Entry
    kept: bool


@dataclass(frozen=True)
class _Job:
    number: int
    task: Task
    settings: Settings
    earlier: Entry | None
    work: Path


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


def _results(jobs: list[_Job], workers: int) -> Generator[_Result, None, None]:
    workers = min(workers, len(jobs))
    if workers <= 1:
        for job in jobs:
            yield _attempt(job)
        return
    suspects: list[_Job] = []
    waiting = list(reversed(jobs))
    while waiting:
        broken = yield from _pooled(waiting, workers)
        suspects += broken
    # A worker died and took its neighbours' files with it. Alone, each shows whether it was the
    # cause.
    for job in suspects:
        alone = [job]
        if (yield from _pooled(alone, 1)):
            yield _failed(job, "the worker process died (out of memory or a broken decoder)")


def _pooled(waiting: list[_Job], workers: int) -> Generator[_Result, None, list[_Job]]:
    """Work off `waiting` from its end; returns the jobs that were lost when a worker died."""
    running: dict[Future[_Result], _Job] = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker) as pool:
        try:
            while waiting or running:
                while waiting and len(running) < 2 * workers:
                    future = pool.submit(_attempt, waiting[-1])
                    running[future] = waiting.pop()
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    result = future.result()
                    del running[future]
                    yield result
        except BrokenProcessPool:
            return list(running.values())
        except BaseException:
            for child in multiprocessing.active_children():
                child.terminate()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return []


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def leave_with_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=leave_with_parent, daemon=True).start()


def _attempt(job: _Job) -> _Result:
    try:
        return _process(job)
    except SordinoError as error:
        return _failed(job, str(error))
    except OSError as error:
        return _failed(job, error.strerror or type(error).__name__)
    except MemoryError:
        return _failed(job, "out of memory")
    except Exception as error:
        return _failed(job, f"internal error, please report it ({type(error).__name__}: {error})")


def _process(job: _Job) -> _Result:
    task, key = job.task, job.settings.key
    digest = _keyed_digest(task.source, key)
    if (
        job.earlier is not None
        and job.earlier.input == digest
        and task.target.exists()
        and job.earlier.output == _digest(task.target)
    ):
        return _Result(job, job.earlier, kept=True)
    anonymizer = _anonymizer(job.settings)
    part = job.work / f"part-{job.number}"
    try:
        rendered = render(
            task.source,
            part,
            anonymizer,
            anonymizer.draws(key, task.speaker, task.utterance),
            format_name=task.format,
            shape=job.settings.shape,
            scratch=job.work,
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
    return _Result(job, entry, kept=False)


@lru_cache(maxsize=1)
def _anonymizer(settings: Settings) -> Anonymizer:
    return settings.anonymizer()


def _failed(job: _Job, reason: str) -> _Result:
    entry = Entry(job.task.name, "failed", reason=" ".join(reason.split()))
    return _Result(job, entry, kept=False)


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _keyed_digest(path: Path, key: SecretKey) -> str:
    return key.digest(_chunks(path))


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    for chunk in _chunks(path):
        digest.update(chunk)
    return digest.hexdigest()
