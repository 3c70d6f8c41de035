"""Worker processes that survive each other.

A worker that dies (out of memory, a decoder that crashes) costs only the job that killed it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import struct
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Generic, TypeVar

J = TypeVar("J")
R = TypeVar("R")
Advance = Callable[[float], None]
Function = Callable[[J, Advance], R]

_POLL_S = 0.25
_SUM = struct.Struct("d")


def map_jobs(
    function: Function[J, R], jobs: Sequence[J], workers: int, advance: Advance, scratch: Path
) -> Generator[tuple[J, R | None], None, None]:
    """Apply a function to jobs, in this process or in several others.

    Args:
        function: takes a job and a callable that it tells of its progress; for more than one
            worker both the function and the jobs must be picklable.
        jobs: what to do.
        workers: how many processes; 1 for this one.
        advance: told what `function` tells of its progress.
        scratch: folder for files named `part-...`, through which workers tell.

    Yields:
        Each job with its result as it is done, in any order; None for a job whose worker died.
    """
    workers = min(workers, len(jobs))
    if workers <= 1:
        for job in jobs:
            yield job, function(job, advance)
        return
    suspects: list[J] = []
    waiting = list(reversed(jobs))
    while waiting:
        suspects += yield from _pooled(function, waiting, workers, 2 * workers, advance, scratch)
    # A worker that dies takes all running jobs with it. One at a time, each shows whether it was
    # the cause.
    while suspects:
        for culprit in (yield from _pooled(function, suspects, 1, 1, advance, scratch)):
            yield culprit, None


@dataclass
class _Tell:
    """Tells the parent of progress: each worker's sum stands in a file of its own."""

    path: Path
    total: float = 0.0

    def __call__(self, amount: float) -> None:
        self.total += amount
        # Progress that cannot be told must not stop the work.
        with suppress(OSError):
            self.path.write_bytes(_SUM.pack(self.total))


@dataclass
class _Running(Generic[J]):
    """A job on its way, and how much of its progress has been passed on."""

    job: J
    path: Path
    told: float = 0.0

    def pass_on(self, advance: Advance) -> None:
        with suppress(OSError, struct.error):
            (total,) = _SUM.unpack(self.path.read_bytes())
            advance(total - self.told)
            self.told = total


def _pooled(
    function: Function[J, R],
    waiting: list[J],
    workers: int,
    at_once: int,
    advance: Advance,
    scratch: Path,
) -> Generator[tuple[J, R], None, list[J]]:
    """Work off `waiting` from its end; returns the jobs that were lost when a worker died."""
    running: dict[Future[R], _Running[J]] = {}
    numbers = count()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _start_worker) as pool:
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    path = scratch / f"part-told-{next(numbers)}"
                    with _interrupts_blocked():
                        future = pool.submit(function, waiting[-1], _Tell(path))
                    running[future] = _Running(waiting.pop(), path)
                finished, _ = wait(running, _POLL_S, FIRST_COMPLETED)
                for started in running.values():
                    started.pass_on(advance)
                for future in finished:
                    result = future.result()
                    started = running.pop(future)
                    started.path.unlink(missing_ok=True)
                    yield started.job, result
        except BrokenProcessPool:
            for started in running.values():
                started.path.unlink(missing_ok=True)
            return [started.job for started in running.values()]
        except BaseException:
            for child in multiprocessing.active_children():
                child.terminate()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return []


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    # Submitting may start a process, which takes on this mask: Ctrl-C at a terminal reaches all
    # processes, and one that is still importing would print a traceback.
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def leave_with_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=leave_with_parent, daemon=True).start()
