"""Speed and memory of a voice of the neural anonymizer, from file to file on one thread.

Run from the repository root; prints a Markdown report:

    python -m benchmarks.neural VOICE [--param NAME=VALUE] [--against mcadams]
        [--speech FOLDER] [--hours H] [--repeats N]
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from unittest.mock import patch

# Numerical libraries count their threads when they are loaded.
os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
)

import numpy as np
import onnxruntime

from benchmarks.anonymize import KEY, FileRun, alone, peak_memory, processor, write_file
from sordino.anonymize.render import Shape, render
from sordino.anonymize.systems import load
from sordino.anonymize.voice import Voice
from sordino.dsp.pitch.base import Tracker

Settings = tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class Contender:
    """A system with its settings."""

    name: str
    settings: Settings

    @property
    def shown(self) -> str:
        """For people."""
        settings = (
            f"{name}={Path(value).name if isinstance(value, str) else value}"
            for name, value in self.settings
        )
        return " ".join([self.name, *settings])


@dataclass(frozen=True)
class NeuralRun(FileRun):
    """The same with the seconds of processor time."""

    processor: float


def run_file(contender: Contender, source: Path, target: Path) -> NeuralRun:
    """Anonymize a file; for a process of its own. Loading counts."""
    idle, start, busy = peak_memory(), time.perf_counter(), time.process_time()
    system = load(contender.name, **dict(contender.settings))
    render(
        source,
        target,
        system,
        system.draws(KEY, "speaker"),
        format_name="wav",
        shape=Shape(),
        scratch=target.parent,
    )
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    return NeuralRun(seconds, idle, peak_memory(), busy)


def spent_in(contender: Contender, source: Path, target: Path) -> Mapping[str, float]:
    """Seconds of processor time in each part, for a process of its own."""
    spent = dict.fromkeys(("content", "speech", "track"), 0.0)

    def timed(owner: type, name: str) -> Any:
        function: Callable[..., object] = getattr(owner, name)

        def call(*arguments: object) -> object:
            start = time.process_time()
            try:
                return function(*arguments)
            finally:
                spent[name] += time.process_time() - start

        return patch.object(owner, name, call)

    with ExitStack() as stack:
        for owner, name in ((Voice, "content"), (Voice, "speech"), (Tracker, "track")):
            stack.enter_context(timed(owner, name))
        start = time.process_time()
        run_file(contender, source, target)
        whole = time.process_time() - start
    return {**spent, "all else": whole - sum(spent.values())}


def file_rows(
    contenders: tuple[Contender, ...], folder: Path | None, hours: float, repeats: int
) -> Iterator[str]:
    """Rows of the table of file-to-file runs; to be made while this process is small."""
    with tempfile.TemporaryDirectory() as place:
        source, target = Path(place, "source.wav"), Path(place, "target.wav")
        for minutes in (1, max(1, round(60 * hours))):
            samples = alone(write_file, folder, minutes, source)
            times = repeats if minutes == 1 else 1
            first = 0.0
            for contender in contenders:
                runs = [alone(run_file, contender, source, target) for _ in range(times)]
                wall = statistics.median(run.seconds for run in runs)
                seconds = statistics.median(run.processor for run in runs)
                first = first or seconds
                yield (
                    f"| {contender.shown} | {minutes} | {samples:,} | {times} | {wall:.1f}"
                    f" | {seconds:.1f}"
                    f" | {seconds / (60 * minutes):.4f} | {60 * minutes / seconds:.1f}"
                    f" | {first / seconds:.2f} | {max(run.idle for run in runs):.0f}"
                    f" | {max(run.peak for run in runs):.0f} |"
                )


def part_rows(contender: Contender, folder: Path | None, minutes: int) -> Iterator[str]:
    """Rows of the table of where the time goes."""
    names = {"content": "content network", "speech": "generator", "track": "pitch tracker"}
    with tempfile.TemporaryDirectory() as place:
        source, target = Path(place, "source.wav"), Path(place, "target.wav")
        alone(write_file, folder, minutes, source)
        spent = alone(spent_in, contender, source, target)
    whole = sum(spent.values())
    for name, seconds in spent.items():
        yield (
            f"| {names.get(name, name)} | {seconds:.1f} | {seconds / (60 * minutes):.4f}"
            f" | {seconds / whole:.0%} |"
        )


def setting(text: str) -> tuple[str, object]:
    """NAME=VALUE, with the value as a number where it is one."""
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        return name, value


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed and memory of a voice.")
    parser.add_argument("voice", help="name or folder of a voice")
    parser.add_argument("--param", action="append", default=[], type=setting)
    parser.add_argument("--against", action="append", default=[], help="a system, or a voice")
    parser.add_argument("--speech", type=Path, help="folder of recordings (default: synthetic)")
    parser.add_argument("--hours", type=float, default=2, help="length of the long file")
    parser.add_argument("--repeats", type=int, default=3, help="runs on one minute")
    arguments = parser.parse_args()
    folder: Path | None = arguments.speech

    def contender(name: str) -> Contender:
        if name == "mcadams":
            return Contender(name, ())
        return Contender("neural", (("voice", name), *arguments.param))

    processors = os.cpu_count()
    pinned = ""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        pinned = ", pinned to one of them"
    contenders = (contender(arguments.voice), *map(contender, arguments.against))
    files = list(file_rows(contenders, folder, arguments.hours, arguments.repeats))
    parts = list(part_rows(contenders[0], folder, minutes=2))

    print(f"# The neural anonymizer, {datetime.now(timezone.utc):%Y-%m-%d}\n")
    print(
        f"Python {platform.python_version()}, numpy {np.__version__}, onnxruntime"
        f" {onnxruntime.__version__}; {processor()}, {processors} processors; one thread{pinned};"
        f" {'recorded' if folder else 'synthetic'} speech.\n"
    )
    print(
        "From WAV file to WAV file, 16 kHz, mono, each in a process of its own; loading of the\n"
        "networks counts. Factors are of processor time, the ratio is to the first line with the\n"
        "same length.\n"
    )
    print(
        "| system | length, min | samples | repeats | seconds, median"
        " | processor seconds, median | real-time factor"
        " | times faster than real time | times the first | memory before, MiB | peak memory, MiB |"
    )
    print("| --- |" + " ---: |" * 10)
    print("\n".join(files))
    print("\nWhere the processor's time goes, on two minutes.\n")
    print("| part | seconds | real-time factor | share |\n| --- | ---: | ---: | ---: |")
    print("\n".join(parts))


if __name__ == "__main__":
    main()
