"""Speed and memory of error rates on many trials, beside scikit-learn's ROC in the same run.

Run from the repository root, with scikit-learn installed; prints a Markdown report:

    python -m benchmarks.eer [--trials N]
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial

# Also sets the number of threads, which has to be done before numpy is loaded.
from benchmarks.anonymize import alone, peak_memory, processor  # isort: skip
import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.metrics import roc_curve

from sordino.evaluate.metrics.bootstrap import bootstrap_over_speakers
from sordino.evaluate.metrics.eer import (
    WeightedEER,
    equal_error_rate,
    equal_error_rate_convex_hull,
    min_dcf,
    roc,
)

Array = npt.NDArray[np.floating]

# dtype, part of the trials that are targets, decimals that scores are rounded to.
CASES: tuple[tuple[str, float, int | None], ...] = (
    ("float64", 0.01, None),
    ("float64", 0.5, None),
    ("float32", 0.01, None),
    ("float32", 0.5, None),
    ("float64", 0.5, 2),
)
REPEATS = 3
SPEAKERS, DRAWS = 316, 1000


@dataclass(frozen=True)
class Measured:
    """Median seconds, memory in MiB before and at the peak, and the figure that came out."""

    seconds: float
    before: float
    peak: float
    rate: float


def make_scores(trials: int, dtype: str, part: float, decimals: int | None) -> tuple[Array, Array]:
    """Gaussian scores whose means are two standard deviations apart."""
    rng = np.random.default_rng(0)
    count = round(trials * part)
    targets, nontargets = (
        rng.standard_normal(size, dtype=np.dtype(dtype)) for size in (count, trials - count)
    )
    targets += 2
    if decimals is not None:
        for scores in (targets, nontargets):
            np.round(scores, decimals, out=scores)
    return targets, nontargets


def by_sordino(targets: Array, nontargets: Array) -> Callable[[], float]:
    """The equal error rate of this package."""
    return lambda: equal_error_rate(targets, nontargets).rate


def by_sklearn(targets: Array, nontargets: Array) -> Callable[[], float]:
    """The equal error rate by linear interpolation on scikit-learn's ROC."""
    scores = np.concatenate([targets, nontargets])
    labels = np.zeros(scores.size, dtype=bool)
    labels[: targets.size] = True

    def run() -> float:
        false_alarms, hits, _ = roc_curve(labels, scores)
        gap = false_alarms - (1 - hits)
        at = int(np.argmax(gap >= 0))
        part = -gap[at - 1] / (gap[at] - gap[at - 1])
        return float(false_alarms[at - 1] + part * (false_alarms[at] - false_alarms[at - 1]))

    return run


def seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(own: bool, trials: int, dtype: str, part: float, decimals: int | None) -> Measured:
    """Measure one side on one case; for a process of its own."""
    scores = make_scores(trials, dtype, part, decimals)
    run = by_sordino(*scores) if own else by_sklearn(*scores)
    before, rate = peak_memory(), run()
    seconds = statistics.median(seconds_of(run) for _ in range(REPEATS))
    return Measured(seconds, before, peak_memory(), rate)


def rows(trials: int) -> Iterator[str]:
    """Rows of the table of equal error rates."""
    for dtype, part, decimals in CASES:
        ours, theirs = (alone(measure, own, trials, dtype, part, decimals) for own in (True, False))
        yield (
            f"| {dtype} | {round(trials * part):,} | {round(trials * (1 - part)):,}"
            f" | {'no' if decimals is None else f'{decimals} decimals'} | {100 * ours.rate:.6f}"
            f" | {abs(ours.rate - theirs.rate):.1e} | {ours.seconds:.3f} | {theirs.seconds:.2f}"
            f" | {theirs.seconds / ours.seconds:.0f} | {ours.peak - ours.before:.0f}"
            f" | {theirs.peak - theirs.before:.0f} |"
        )


def other_rows(trials: int) -> Iterator[str]:
    """Rows of the table of the other figures, on the first two cases."""
    for dtype, part, decimals in CASES[:2]:
        scores = make_scores(trials, dtype, part, decimals)
        taken = [
            statistics.median(seconds_of(partial(function, *scores)) for _ in range(REPEATS))
            for function in (equal_error_rate_convex_hull, min_dcf, roc)
        ]
        columns = " | ".join(f"{seconds:.2f}" for seconds in taken)
        yield f"| {scores[0].size:,} | {scores[1].size:,} | {columns} |"


def bootstrap_line() -> str:
    """How long an interval takes."""
    rng = np.random.default_rng(0)
    enrolled, tried = np.divmod(np.arange(SPEAKERS**2), SPEAKERS)
    is_target = enrolled == tried
    scores = rng.standard_normal(is_target.size) + 2 * is_target
    start = time.perf_counter()
    rate = WeightedEER(scores, is_target)
    bootstrap_over_speakers(rate, enrolled, tried, draws=DRAWS)
    return (
        f"Bootstrap over {SPEAKERS} speakers, {is_target.size:,} trials, {DRAWS:,} draws:"
        f" {time.perf_counter() - start:.1f} s."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of error rates on many trials.")
    parser.add_argument("--trials", type=int, default=10_000_000, help="(default: %(default)s)")
    trials: int = parser.parse_args().trials

    print(f"# Error rates, {datetime.now(timezone.utc):%Y-%m-%d}\n")
    print(
        f"Python {platform.python_version()}, numpy {np.__version__}, scikit-learn"
        f" {sklearn.__version__}; {processor()}, {os.cpu_count()} processors; one thread;"
        f" {trials:,} trials, Gaussian scores; medians of {REPEATS} runs, each side in a process of"
        " its own.\n"
    )
    print(
        "scikit-learn: `roc_curve` and linear interpolation. Memory is what each adds to the"
        " scores that are given to it.\n"
    )
    print(
        "| scores | targets | non-targets | ties | EER, % | difference | sordino, s"
        " | scikit-learn, s | times faster | sordino, MiB | scikit-learn, MiB |"
    )
    print("| --- | ---: | ---: | --- |" + " ---: |" * 7)
    for row in rows(trials):
        print(row, flush=True)
    print("\n| targets | non-targets | EER of the convex hull, s | minDCF, s | whole ROC, s |")
    print("|" + " ---: |" * 5)
    for row in other_rows(trials):
        print(row, flush=True)
    print(f"\n{bootstrap_line()}")


if __name__ == "__main__":
    main()
