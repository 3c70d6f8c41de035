"""Speed and memory of every anonymizer that needs no model, all in one run on one thread.

Run from the repository root; prints a Markdown report:

    python -m benchmarks.anonymize [--speech FOLDER] [--hours H]
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

# Numerical libraries count their threads when they are loaded.
os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
)

import numpy as np
import numpy.typing as npt
import scipy
import soundfile
import soxr
from scipy.signal import sosfilt

from benchmarks.plain_mcadams import REFERENCE_RATE, plain_mcadams
from sordino.anonymize.base import Anonymizer, Draws
from sordino.anonymize.mcadams import McAdams
from sordino.anonymize.render import Shape, render
from sordino.anonymize.systems import load
from sordino.audio.recording import Recording
from sordino.corpus.discover import find_recordings
from sordino.privacy.keys import SecretKey

FloatArray = npt.NDArray[np.float64]
Result = TypeVar("Result")

SYSTEMS = (McAdams.name,)
# Sample rate, seconds of the recording, repeats.
CASES = (
    (16000, 5, 9),
    (16000, 60, 5),
    (16000, 600, 3),
    (8000, 60, 5),
    (44100, 60, 5),
    (48000, 60, 5),
)
PLAIN_SECONDS, PLAIN_REPEATS = 10, 3
PIECE = 2**20
KEY = SecretKey(b"the benchmark's key, 32 bytes...")


@dataclass(frozen=True)
class FileRun:
    """A file-to-file run: seconds taken, and peak memory in MiB before it and after it."""

    seconds: float
    idle: float
    peak: float


def synthetic(rate: int, seconds: float) -> FloatArray:
    """Pulses and noise through moving resonances, with pauses: speech for no ear, shape (n,)."""
    rng = np.random.default_rng(0)
    clock = np.arange(round(rate * seconds)) / rate
    pitch = 120 * (1 + 0.2 * np.sin(4.1 * clock) + 0.1 * np.sin(0.7 * clock))
    pulses = np.diff(np.floor(np.cumsum(pitch) / rate), prepend=0.0)
    loudness = np.clip(3 * np.sin(9 * clock) * np.sin(1.3 * clock) + 1, 0, 1)
    signal = loudness * (pulses + 0.05 * rng.standard_normal(clock.size))
    state = np.zeros((4, 2))
    step = rate // 12
    for start in range(0, clock.size, step):
        formants = np.array([500, 1500, 2500, 3400]) * rng.uniform(0.7, 1.3, 4)
        radius = np.exp(-np.pi * np.array([60, 90, 120, 180]) / rate)
        slope = -2 * radius * np.cos(2 * np.pi * np.minimum(formants, 0.45 * rate) / rate)
        sections = np.zeros((4, 6))
        sections[:, 3], sections[:, 4], sections[:, 5] = 1, slope, radius**2
        sections[:, 0] = 1 + slope + radius**2
        piece = signal[start : start + step]
        signal[start : start + step], state = sosfilt(sections, piece, zi=state)
    result: FloatArray = 0.5 * signal / np.abs(signal).max()
    return result + 1e-4 * rng.standard_normal(clock.size)


def recorded(folder: Path, rate: int, seconds: float) -> FloatArray:
    """Recordings of a folder one after another, over again where they are too few, shape (n,)."""
    parts: list[FloatArray] = []
    total = 0.0
    for path in find_recordings(folder).recordings:
        recording = Recording.read(path)
        mono = recording.samples.mean(axis=0, dtype=np.float64)
        parts.append(soxr.resample(mono, recording.sample_rate, rate))
        total += recording.duration
        if total >= seconds:
            break
    if not parts:
        sys.exit(f"no recordings in {folder}")
    return np.resize(np.concatenate(parts), round(rate * seconds))


def median_seconds(work: Callable[[], object], repeats: int) -> float:
    """Median time of some runs, after one that does not count."""
    work()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def plain_loop(system: Anonymizer, draws: Draws, rate: int) -> Callable[[FloatArray], FloatArray]:
    """The independent implementation with one frame at a time."""
    assert isinstance(system, McAdams), f"there is no plain {system.name}"
    alpha = system.coefficient(draws)

    def run(signal: FloatArray) -> FloatArray:
        if rate <= REFERENCE_RATE:
            return plain_mcadams(signal, rate, alpha)
        inner = soxr.resample(signal, rate, REFERENCE_RATE)
        changed = plain_mcadams(inner, REFERENCE_RATE, alpha)
        result: FloatArray = soxr.resample(changed, REFERENCE_RATE, rate)
        return np.pad(result, (0, max(0, signal.size - result.size)))[: signal.size]

    return run


def make(folder: Path | None, rate: int, seconds: float) -> FloatArray:
    """Recorded speech, or synthetic speech where there is no folder of it, shape (n,)."""
    return recorded(folder, rate, seconds) if folder else synthetic(rate, seconds)


def speed_rows(folder: Path | None) -> Iterator[str]:
    """Rows of the table of speeds."""
    for name in SYSTEMS:
        for rate, seconds, repeats in CASES:
            system = load(name)
            draws = system.draws(KEY, "speaker")
            signal = make(folder, rate, seconds)
            stretch = signal[: PLAIN_SECONDS * rate]
            plain = plain_loop(system, draws, rate)
            changed = np.concatenate([*system.transform([stretch[None]], rate, draws)], axis=1)
            difference = np.abs(changed[0] - plain(stretch)).max()

            def change(
                system: Anonymizer = system,
                signal: FloatArray = signal,
                rate: int = rate,
                draws: Draws = draws,
            ) -> None:
                pieces = np.array_split(signal[None], math.ceil(signal.size / PIECE), axis=1)
                for _ in system.transform(pieces, rate, draws):
                    pass

            single = signal.astype(np.float32)
            whole = partial(system.anonymize, single, rate, speaker="speaker", key=KEY)
            ours = seconds / median_seconds(change, repeats)
            kept = seconds / median_seconds(whole, repeats)
            slow = stretch.size / rate / median_seconds(partial(plain, stretch), PLAIN_REPEATS)
            yield (
                f"| {name} | {rate:,} | {seconds} | {signal.size:,} | {repeats} | {slow:.0f}"
                f" | {ours:.0f} | {ours / slow:.1f} | {kept:.0f} | {difference:.1e} |"
            )


def peak_memory() -> float:
    """The most memory this process has held, in MiB; NaN where the system does not tell."""
    if sys.platform == "win32":
        return float("nan")
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def run_file(name: str, source: Path, target: Path) -> FileRun:
    """Anonymize a file; for a process of its own."""
    system = load(name)
    idle, start = peak_memory(), time.perf_counter()
    render(
        source,
        target,
        system,
        system.draws(KEY, "speaker"),
        format_name="wav",
        shape=Shape(),
        scratch=target.parent,
    )
    return FileRun(time.perf_counter() - start, idle, peak_memory())


def write_file(folder: Path | None, minutes: int, target: Path) -> int:
    """Write one minute of speech over and over; returns the number of samples."""
    minute = make(folder, 16000, 60)
    with soundfile.SoundFile(target, "w", 16000, 1, "PCM_16") as file:
        for _ in range(minutes):
            file.write(minute)
    return minutes * minute.size


def alone(function: Callable[..., Result], *arguments: object) -> Result:
    """Call a function in a new process. It inherits the peak memory of this one."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def file_rows(folder: Path | None, hours: float) -> Iterator[str]:
    """Rows of the table of file-to-file runs; to be made while this process is small."""
    for minutes in (1, max(1, round(60 * hours))):
        with tempfile.TemporaryDirectory() as place:
            source, target = Path(place, "source.wav"), Path(place, "target.wav")
            samples = alone(write_file, folder, minutes, source)
            for name in SYSTEMS:
                run = alone(run_file, name, source, target)
                yield (
                    f"| {name} | {minutes} | {samples:,} | {run.seconds:.1f}"
                    f" | {run.seconds / (60 * minutes):.4f} | {run.idle:.0f} | {run.peak:.0f} |"
                )


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed and memory of every anonymizer.")
    parser.add_argument("--speech", type=Path, help="folder of recordings (default: synthetic)")
    parser.add_argument("--hours", type=float, default=0.25, help="length of the long file")
    arguments = parser.parse_args()
    folder: Path | None = arguments.speech

    processors = os.cpu_count()
    pinned = ""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        pinned = ", pinned to one of them"

    files = list(file_rows(folder, arguments.hours))

    print(f"# Anonymizers, {datetime.now(timezone.utc):%Y-%m-%d}\n")
    print(
        f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__};"
        f" {processor()}, {processors} processors; one thread{pinned};"
        f" {'recorded' if folder else 'synthetic'} speech.\n"
    )
    print(
        "Times faster than real time, medians. The plain loop over frames and `transform` do the\n"
        f"same, change the voice; the loop is timed on {PLAIN_SECONDS} s or less. `anonymize`\n"
        "also measures and restores the loudness. The difference is the largest between samples\n"
        "of the loop and of `transform`, full scale 1.\n"
    )
    print(
        "| system | rate, Hz | length, s | samples | repeats | plain loop | `transform`"
        " | times the loop | `anonymize` | largest difference |"
    )
    print("| --- |" + " ---: |" * 9)
    for row in speed_rows(folder):
        print(row, flush=True)
    print("\nFrom WAV file to WAV file, 16 kHz, mono, each in a process of its own.\n")
    print(
        "| system | length, min | samples | seconds | real-time factor | memory before, MiB"
        " | peak memory, MiB |"
    )
    print("| --- |" + " ---: |" * 6)
    print("\n".join(files))


if __name__ == "__main__":
    main()
