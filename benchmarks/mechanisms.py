"""Speed of mechanisms that protect vectors, beside OpenDP and noise in floats, all in one run.

Run from the repository root; prints a Markdown report:

    python -m benchmarks.mechanisms [--repeats N]

OpenDP is measured where it is installed. NumPy's noise protects nobody: its low bits tell what it
was added to.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

# Also sets the number of threads, which has to be done before numpy is loaded.
from benchmarks.anonymize import processor  # isort: skip
import numpy as np
import numpy.typing as npt

from sordino.privacy.mechanisms.gaussian import Gaussian
from sordino.privacy.mechanisms.laplace import Laplace
from sordino.privacy.mechanisms.privunit import PrivUnit, PrivUnitG
from sordino.privacy.randomness import SystemRandomness

FloatArray = npt.NDArray[np.float64]
Release = Callable[[FloatArray], object]

CLIP, EPSILON, DELTA = 18.35, 15.0, 1e-6
# Components, vectors.
CASES = ((64, 20_000), (192, 5_000), (5_000, 200))
OPENDP_COMPONENTS = 12_800


def processor_seconds(work: Callable[[], object], repeats: int) -> float:
    """Median processor time of some runs, after one that does not count."""
    work()
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def by_numpy(x: FloatArray) -> FloatArray:
    """Clipping, and Laplace noise in floats from a seeded generator."""
    norms: FloatArray = np.abs(x).sum(axis=1, keepdims=True)
    noise = np.random.default_rng(0).laplace(0, 2 * CLIP / EPSILON, x.shape)
    released: FloatArray = x / np.maximum(1, norms / CLIP) + noise
    return released


def by_opendp(kind: str) -> Release | None:
    """Noise of OpenDP on one vector after another, or None where it is not installed."""
    try:
        opendp = import_module("opendp.prelude")
    except ImportError:
        return None
    opendp.enable_features("contrib")
    domain = opendp.vector_domain(opendp.atom_domain(T=float, nan=False))
    if kind == "laplace":
        scale = Laplace(clip=CLIP, epsilon=EPSILON).scale
        noise = opendp.m.make_laplace(domain, opendp.l1_distance(T=float), scale=scale)
    else:
        scale = Gaussian(clip=CLIP, epsilon=EPSILON, delta=DELTA).standard_deviation
        noise = opendp.m.make_gaussian(domain, opendp.l2_distance(T=float), scale=scale)
    return lambda x: [noise(row.tolist()) for row in x]


def releases(dimension: int) -> Iterator[tuple[str, Release]]:
    """What is measured, by name."""
    yield "sordino, `Laplace`", Laplace(clip=CLIP, epsilon=EPSILON).release
    gaussian = Gaussian(clip=CLIP, epsilon=EPSILON, delta=DELTA)
    yield "sordino, `Gaussian`", gaussian.release
    yield "sordino, `PrivUnit`", PrivUnit(dimension=dimension, epsilon=EPSILON).release
    yield "sordino, `PrivUnitG`", PrivUnitG(dimension=dimension, epsilon=EPSILON).release
    yield "NumPy, Laplace noise in floats (no protection)", by_numpy
    for kind in ("laplace", "gaussian"):
        opendp = by_opendp(kind)
        if opendp is not None:
            yield f"OpenDP, {kind} (no clipping)", opendp


def rows(dimension: int, count: int, repeats: int) -> Iterator[str]:
    """Rows of the table."""
    x = np.random.default_rng(0).normal(size=(count, dimension))
    for name, release in releases(dimension):
        given = x[: OPENDP_COMPONENTS // dimension] if name.startswith("OpenDP") else x
        rate = len(given) / processor_seconds(partial(release, given), repeats)
        yield (
            f"| {name} | {dimension:,} | {len(given):,} | {rate:,.0f}"
            f" | {1e9 / rate / dimension:.0f} |"
        )


def random_line(repeats: int) -> str:
    """How fast the operating system makes random words."""
    seconds = processor_seconds(partial(SystemRandomness().bits, 2**20), repeats)
    return (
        f"The operating system makes {8 * 2**20 / seconds / 1e6:,.0f} MB of random bits a second."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of mechanisms that protect vectors.")
    parser.add_argument("--repeats", type=int, default=7, help="(default: %(default)s)")
    repeats: int = parser.parse_args().repeats

    try:
        other = f"OpenDP {version('opendp')}"
    except PackageNotFoundError:
        other = "OpenDP is not installed"
    print(f"# Mechanisms, {datetime.now(timezone.utc):%Y-%m-%d}\n")
    print(
        f"Python {platform.python_version()}, numpy {np.__version__}, {other}; {processor()},"
        f" {os.cpu_count()} processors; one thread; processor time, medians of {repeats};"
        f" epsilon {EPSILON:g},"
        f" clip {CLIP:g}, delta {DELTA:g} where there is one.\n"
    )
    print(f"{random_line(repeats)}\n")
    print("| mechanism | components | vectors | vectors a second | ns a component |")
    print("| --- |" + " ---: |" * 4)
    for dimension, count in CASES:
        for row in rows(dimension, count, repeats):
            print(row, flush=True)


if __name__ == "__main__":
    main()
