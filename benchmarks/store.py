"""A store of voices: 1,000 names, and 10 million trial scores against them, on one thread.

Run from the repository root; prints a Markdown report:

    python -m benchmarks.store
"""

from __future__ import annotations

import os
import platform
import sqlite3
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

# Numerical libraries count their threads when they are loaded.
os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
)

import numpy as np
import numpy.typing as npt

from benchmarks.anonymize import alone, peak_memory, processor
from sordino.audio.recording import Recording
from sordino.privacy.keys import SecretKey
from sordino.speaker.base import SpeakerEncoder
from sordino.speaker.scoring.cosine import score_trials, unit
from sordino.speaker.store import EncoderIdentity, Enrolment, Store
from sordino.speaker.verification import Gallery

KEY = SecretKey(b"the benchmark's key, 32 bytes...")
NAMES, UTTERANCES, DIMENSION = 1000, 3, 192
RECORDINGS = 10_000
TRIALS = NAMES * RECORDINGS
BLOCK = 500
REPEATS = 20


@dataclass(frozen=True)
class Row:
    """What was done, how often, and what it took."""

    what: str
    times: int
    seconds: float
    memory: float

    def __str__(self) -> str:
        each = 1e3 * self.seconds / self.times
        shown = f"{each:.2f}" if each > 0.01 else f"{each:.6f}"
        return (
            f"| {self.what} | {self.times:,} | {self.seconds:.3f} | {shown} | {self.memory:.0f} |"
        )


class Nobody(SpeakerEncoder):
    """Stands for an encoder: the vectors of this benchmark are random."""

    name, dimension, sample_rate, digest = "random", DIMENSION, 16000, "00" * 32

    def embed(self, recording: Recording) -> npt.NDArray[np.float32]:
        raise NotImplementedError


def vectors(count: int, seed: int) -> npt.NDArray[np.float32]:
    """Random vectors, shape (count, dimension)."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, DIMENSION), dtype=np.float32)


def timed(what: str, times: int, work: Callable[[], object]) -> Row:
    start = time.perf_counter()
    work()
    return Row(what, times, time.perf_counter() - start, peak_memory())


def enrolling(path: Path) -> Row:
    encoder = EncoderIdentity(Nobody.name, Nobody.digest)

    def work() -> None:
        with Store.open(path, KEY, create=True) as store:
            for number in range(NAMES):
                taken = [Enrolment(vector, 4.0) for vector in vectors(UTTERANCES, number)]
                store.enroll(f"name {number}", encoder, taken)

    return timed(f"enrol a name with {UTTERANCES} utterances, to the disk", NAMES, work)


def one_template(path: Path) -> Row:
    def work() -> None:
        for number in range(REPEATS):
            with Store.open(path, KEY) as store:
                store.template(f"name {number}")

    return timed("open the store, check all names, read one", REPEATS, work)


def all_templates(path: Path) -> Row:
    def work() -> None:
        for _ in range(REPEATS):
            gallery(path)

    return timed("open the store, read and check all of it", REPEATS, work)


def identifying(path: Path) -> Row:
    ready, trials = gallery(path), vectors(RECORDINGS, NAMES)

    def work() -> None:
        for trial in trials:
            ready.scores(trial).argmax()

    return timed("compare a vector with all names", RECORDINGS, work)


def matrix(path: Path) -> Row:
    ready, trials = gallery(path), vectors(RECORDINGS, NAMES)

    def work() -> None:
        for start in range(0, RECORDINGS, BLOCK):
            unit(trials[start : start + BLOCK]) @ ready.models.T

    return timed("trial scores, all pairs", TRIALS, work)


def listed(path: Path) -> Row:
    ready, trials = gallery(path), vectors(RECORDINGS, NAMES)
    rng = np.random.default_rng(0)
    left = rng.integers(NAMES, size=TRIALS, dtype=np.int32)
    right = rng.integers(RECORDINGS, size=TRIALS, dtype=np.int32)
    return timed(
        "trial scores, a list in random order",
        TRIALS,
        lambda: score_trials(ready.models, trials, left, right),
    )


def forgetting(path: Path) -> Row:
    def work() -> None:
        with Store.open(path, KEY) as store:
            for number in range(REPEATS):
                store.forget(f"name {number}")

    return timed("forget a name, rebuilding the file", REPEATS, work)


def gallery(path: Path) -> Gallery:
    with Store.open(path, KEY) as store:
        return Gallery.of(store.templates(), Nobody())


def main() -> None:
    steps = (enrolling, one_template, all_templates, identifying, matrix, listed, forgetting)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "voices")
        rows = [alone(step, path) for step in steps[:-1]]
        size = path.stat().st_size
        rows.append(alone(forgetting, path))
    print(f"# A store of voices, {datetime.now(timezone.utc):%Y-%m-%d}\n")
    print(
        f"Python {platform.python_version()}, numpy {np.__version__}, SQLite"
        f" {sqlite3.sqlite_version}; {processor()}, {os.cpu_count()} processors; one thread.\n"
    )
    print(
        f"{NAMES:,} names with {UTTERANCES} vectors of {DIMENSION} numbers each: a file of"
        f" {size / 1e6:.1f} MB. Each row is a process of its own, with Python and NumPy in its"
        " memory.\n"
    )
    print("| what | times | seconds | ms each | peak memory, MiB |")
    print("| --- |" + " ---: |" * 4)
    print("\n".join(map(str, rows)))


if __name__ == "__main__":
    main()
