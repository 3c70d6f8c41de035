"""Speed of waveform generators, exported, all in one run on one thread.

Run from the repository root; prints a Markdown report:

    python -m benchmarks.generators [--seconds 1 4 10]

Weights are fresh: speed does not depend on them. Ranges of the 8-bit graphs come from random
inputs, so they are good for measuring speed only.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from functools import partial
from typing import Any

# Numerical libraries count their threads when they are loaded.
os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
)

import onnxruntime
import torch

from benchmarks.anonymize import median_seconds, processor
from sordino.training.generator_export import example_inputs, generator_graph
from sordino.training.networks.generators import Generator, build_generator
from sordino.training.quantise import quantised

CONDITIONS: Mapping[str, Any] = {"content": {"channels": 200, "hop": 320}, "speaker": 192}
CASES: Mapping[str, Mapping[str, Any]] = {
    "hifigan, the paper's": {"architecture": "hifigan", "pitch": "hertz"},
    "hifigan, 128 channels": {"architecture": "hifigan", "sizes": {"channels": 128}},
    "istft, default": {"architecture": "istft"},
    "istft, small": {
        "architecture": "istft",
        "sizes": {"channels": 192, "hidden": 480, "blocks": 5},
    },
    "two-stage, default": {"architecture": "two-stage"},
}
IN_WHOLE_NUMBERS = ("hifigan, the paper's",)
REPEATS = 7


def session(graph: bytes) -> Any:
    """The graph, ready to run in one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def rows(name: str, generator: Generator, graph: bytes, seconds: list[int]) -> Iterator[str]:
    """Rows of the table."""
    ready = session(graph)
    millions = sum(value.numel() for value in generator.parameters()) / 1e6
    context = generator.context_frames
    for length in seconds:
        content_frames = length * 16000 // generator.conditions.hop
        inputs = example_inputs(generator, content_frames, seed=1)
        taken = median_seconds(partial(ready.run, None, inputs), REPEATS)
        yield (
            f"| {name} | {millions:.1f} | {len(graph) / 1e6:.1f}"
            f" | {'all' if context is None else 10 * context} | {length}"
            f" | {taken / length:.4f} | {length / taken:.1f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of waveform generators.")
    parser.add_argument(
        "--seconds", type=int, nargs="+", default=[1, 4, 10], help="lengths that are generated"
    )
    seconds: list[int] = parser.parse_args().seconds
    torch.set_num_threads(1)
    processors = os.cpu_count()
    pinned = ""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        pinned = ", pinned to one of them"
    print(f"# Waveform generators, {datetime.now(timezone.utc):%Y-%m-%d}\n")
    print(
        f"Python {platform.python_version()}, onnxruntime {onnxruntime.__version__},"
        f" torch {torch.__version__}; {processor()}, {processors} processors; one thread{pinned};"
        f" medians of {REPEATS}.\n"
    )
    columns = [
        "generator",
        "parameters, millions",
        "graph, MB",
        "context, ms",
        "length, s",
        "real-time factor",
        "times faster than real time",
    ]
    print(f"| {' | '.join(columns)} |")
    print("| --- |" + " ---: |" * (len(columns) - 1))
    for name, case in CASES.items():
        torch.manual_seed(0)
        generator = build_generator({**CONDITIONS, **case})
        graph = generator_graph(generator)
        for row in rows(name, generator, graph, seconds):
            print(row, flush=True)
        if name in IN_WHOLE_NUMBERS:
            calibration = [example_inputs(generator, 25, seed=seed) for seed in range(2)]
            for row in rows(f"{name}, 8 bits", generator, quantised(graph, calibration), seconds):
                print(row, flush=True)


if __name__ == "__main__":
    main()
