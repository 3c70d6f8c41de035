"""Worker processes that survive each other.

A worker that dies (out of memory, a decoder that crashes) costs only the job that killed it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.managers import SyncManager
from queue import Queue
from typing import TypeVar

J = TypeVar("J")
R = TypeVar("R")
Advance = Callable[[float], None]
Function = Callable[[J, Advance], R]

_POLL_S = 0.25


def map_jobs(
    function: Function[J, R], jobs: Sequence[J], workers: int, advance: Advance
) -> Generator[tuple[J, R | None], None, None]:
    """Apply a function to jobs, in this process or in several others.

    Args:
        function: takes a job and a callable that it tells of its progress; for more than one
            worker both the function and the jobs must be picklable.
        jobs: what to do.
        workers: how many processes; 1 for this one.
        advance: told what `function` tells of its progress.

    Yields:
        Each job with its result as it is done, in any order; None for a job whose worker died.
    """
    workers = min(workers, len(jobs))
    if workers <= 1:
        for job in jobs:
            yield job, function(job, advance)
        return
    context = multiprocessing.get_context("spawn")
    manager = SyncManager(ctx=context)
    manager.start(_start_worker)
    with manager:
        queue = manager.Queue()
        suspects: list[J] = []
        waiting = list(reversed(jobs))
        while waiting:
            suspects += yield from _pooled(function, waiting, workers, 2 * workers, queue, advance)
        # A worker that dies takes all running jobs with it. One at a time, each shows whether it
        # was the cause.
        while suspects:
            for culprit in (yield from _pooled(function, suspects, 1, 1, queue, advance)):
                yield culprit, None


@dataclass(frozen=True)
class _Tell:
    """Sends progress to the parent."""

    queue: Queue[float]

    def __call__(self, amount: float) -> None:
        self.queue.put(amount)


def _pooled(
    function: Function[J, R],
    waiting: list[J],
    workers: int,
    at_once: int,
    queue: Queue[float],
    advance: Advance,
) -> Generator[tuple[J, R], None, list[J]]:
    """Work off `waiting` from its end; returns the jobs that were lost when a worker died."""
    running: dict[Future[R], J] = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _start_worker) as pool:
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    future = pool.submit(function, waiting[-1], _Tell(queue))
                    running[future] = waiting.pop()
                finished, _ = wait(running, _POLL_S, FIRST_COMPLETED)
                while not queue.empty():
                    advance(queue.get())
                for future in finished:
                    result = future.result()
                    yield running.pop(future), result
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
