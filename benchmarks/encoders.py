"""Speed and memory of speaker encoders, all in one run on one thread.

Run from the repository root; prints a Markdown report:

    python -m benchmarks.encoders MODEL... [--speech FOLDER] [--torch]
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

# Numerical libraries count their threads when they are loaded.
os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
)

import numpy as np
import numpy.typing as npt
import onnxruntime

from benchmarks.anonymize import alone, make, median_seconds, peak_memory, processor
from sordino.audio.recording import Recording
from sordino.speaker.encoders import OnnxEncoder, load_encoder

# Recordings at once, seconds of each, repeats.
CASES = ((1, 1, 21), (1, 5, 9), (1, 60, 5), (16, 3, 5))
MEMORY_SECONDS = (5, 60, 600)

Waves = npt.NDArray[np.float32]


@dataclass(frozen=True)
class MemoryRun:
    """Peak memory in MiB: before the encoder is loaded, when it is, and after a recording."""

    before: float
    loaded: float
    peak: float


def waves(folder: Path | None, rate: int, number: int, seconds: int) -> Waves:
    """Stretches of speech, shape (number, samples)."""
    samples = make(folder, rate, number * seconds).astype(np.float32)
    return samples.reshape(number, -1)


def in_torch(encoder: OnnxEncoder) -> Callable[[Waves], Waves]:
    """The same network, run by PyTorch."""
    torch = import_module("torch")
    torch.set_num_threads(1)
    network: Any = import_module("sordino.training.export").load_network(encoder.bundle)
    network.eval()

    def run(signals: Waves) -> Waves:
        with torch.inference_mode():
            vectors: Waves = network(torch.from_numpy(signals)).numpy()
        return vectors

    return run


def largest_angle(one: Waves, other: Waves) -> float:
    """The largest difference in direction of rows, in degrees."""
    units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (one, other)]
    # By the chord: the cosine of a small angle cannot be told from 1.
    chord = np.linalg.norm(units[0].astype(np.float64) - units[1], axis=1).max()
    return float(np.degrees(2 * np.arcsin(chord / 2)))


def speed_rows(name: str, folder: Path | None, *, torch: bool) -> Iterator[str]:
    """Rows of the table of speeds."""
    encoder = load_encoder(name)
    network = in_torch(encoder) if torch else None
    for number, seconds, repeats in CASES:
        signals = waves(folder, encoder.sample_rate, number, seconds)
        recordings = [Recording(signal[None], encoder.sample_rate) for signal in signals]
        taken = median_seconds(partial(encoder.embed_many, recordings), repeats)
        row = (
            f"| {encoder.name} | {number} | {seconds} | {signals.size:,} | {repeats}"
            f" | {1000 * taken / number:.1f} | {taken / (number * seconds):.4f}"
            f" | {number * seconds / taken:.0f} |"
        )
        if network is not None:
            other = median_seconds(partial(network, signals), repeats)
            angle = largest_angle(encoder.embed_many(recordings), network(signals))
            row += f" {number * seconds / other:.0f} | {other / taken:.2f} | {angle:.1e} |"
        yield row


def run_memory(name: str, folder: Path | None, seconds: int) -> MemoryRun:
    """Embed a recording; for a process of its own."""
    before = peak_memory()
    encoder = load_encoder(name)
    loaded = peak_memory()
    rate = encoder.sample_rate
    minute = make(folder, rate, min(seconds, 60)).astype(np.float32)[None]
    blocks = (
        minute[:, start : start + rate]
        for _ in range(max(1, seconds // 60))
        for start in range(0, minute.shape[1], rate)
    )
    encoder.embed_blocks(blocks, rate)
    return MemoryRun(before, loaded, peak_memory())


def memory_rows(name: str, folder: Path | None) -> Iterator[str]:
    """Rows of the table of memory; to be made while this process is small."""
    for seconds in MEMORY_SECONDS:
        run = alone(run_memory, name, folder, seconds)
        yield f"| {name} | {seconds} | {run.before:.0f} | {run.loaded:.0f} | {run.peak:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed and memory of speaker encoders.")
    parser.add_argument("models", nargs="+", metavar="MODEL", help="name or folder of a model")
    parser.add_argument("--speech", type=Path, help="folder of recordings (default: synthetic)")
    parser.add_argument("--torch", action="store_true", help="also run the networks in PyTorch")
    arguments = parser.parse_args()
    folder: Path | None = arguments.speech

    processors = os.cpu_count()
    pinned = ""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        pinned = ", pinned to one of them"

    memory = [row for name in arguments.models for row in memory_rows(name, folder)]

    versions = f"numpy {np.__version__}, onnxruntime {onnxruntime.__version__}"
    if arguments.torch:
        versions += f", torch {import_module('torch').__version__}"
    print(f"# Speaker encoders, {datetime.now(timezone.utc):%Y-%m-%d}\n")
    print(
        f"Python {platform.python_version()}, {versions};"
        f" {processor()}, {processors} processors; one thread{pinned};"
        f" {'recorded' if folder else 'synthetic'} speech.\n"
    )
    print(
        "From samples in memory, at the encoder's rate, to vectors; medians. Several recordings\n"
        "are equal crops that go through the graph together."
    )
    columns = [
        "encoder",
        "recordings",
        "length of each, s",
        "samples",
        "repeats",
        "ms a recording",
        "real-time factor",
        "times faster than real time",
    ]
    if arguments.torch:
        columns += ["torch, times", "times the speed of torch", "largest angle to torch, degrees"]
    print(f"\n| {' | '.join(columns)} |")
    print("| --- |" + " ---: |" * (len(columns) - 1))
    for name in arguments.models:
        for row in speed_rows(name, folder, torch=arguments.torch):
            print(row, flush=True)
    print("\nPeak memory in MiB, each in a process of its own.\n")
    print("| encoder | length, s | before | with the encoder loaded | after the recording |")
    print("| --- |" + " ---: |" * 4)
    print("\n".join(memory))


if __name__ == "__main__":
    main()
