"""Speed of concealers: from speaker vectors to protected templates, on one core.

Run from the repository root; prints a Markdown report:

    python -m benchmarks.concealing MODEL... [--vectors N] [--repeats N]
"""

from __future__ import annotations

import argparse
import math
import os
import platform
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from functools import partial

# Also sets the number of threads, which has to be done before numpy is loaded.
from benchmarks.anonymize import processor  # isort: skip
import numpy as np
import onnxruntime

import sordino.conceal
from benchmarks.mechanisms import EPSILON, processor_seconds
from sordino.conceal.concealer import Concealer


def rows(concealer: Concealer, count: int, repeats: int) -> Iterator[str]:
    """Rows of the table: the whole way, and its parts."""
    about = concealer.description
    x = np.random.default_rng(0).normal(size=(count, about.dimension)).astype(np.float32)
    latents = concealer.encode(x)
    releases = {"no noise": math.inf, f"epsilon {EPSILON:g}": EPSILON}
    parts: dict[str, Callable[[], object]] = {
        **{f"all, {name}": partial(concealer.conceal, x, e) for name, e in releases.items()},
        "encoder": partial(concealer.encode, x),
        f"{about.mechanism}, epsilon {EPSILON:g}": partial(
            concealer.at(EPSILON).release_of_latents.release, latents
        ),
        "decoder": partial(concealer.decode, latents),
    }
    for name, work in parts.items():
        rate = count / processor_seconds(work, repeats)
        yield (
            f"| {concealer.name} | {about.dimension} | {about.latent} | {name} | {rate:,.0f}"
            f" | {1e6 / rate:.1f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of concealers.")
    parser.add_argument("models", nargs="+", metavar="MODEL", help="name or folder of a concealer")
    parser.add_argument("--vectors", type=int, default=20_000, help="(default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=7, help="(default: %(default)s)")
    options = parser.parse_args()

    print(f"# Concealers, {datetime.now(timezone.utc):%Y-%m-%d}\n")
    print(
        f"Python {platform.python_version()}, numpy {np.__version__}, ONNX Runtime"
        f" {onnxruntime.__version__}; {processor()}, {os.cpu_count()} processors; one thread;"
        f" {options.vectors:,} vectors in a call; processor time, medians of {options.repeats}.\n"
    )
    print("| concealer | numbers | latents | part | templates a second | microseconds each |")
    print("| --- | ---: | ---: | --- | ---: | ---: |")
    for name in options.models:
        for row in rows(sordino.conceal.load(name), options.vectors, options.repeats):
            print(row, flush=True)


if __name__ == "__main__":
    main()
