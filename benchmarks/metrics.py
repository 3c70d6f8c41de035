"""Speed and memory of all score metrics on many trials, beside scikit-learn in the same run.

Run from the repository root, with scikit-learn installed; prints a Markdown report:

    python -m benchmarks.metrics [--trials N] [--lines N]
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

# Also sets the number of threads, which has to be done before numpy is loaded.
from benchmarks.anonymize import alone, peak_memory, processor  # isort: skip
import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import roc_curve

from benchmarks.eer import make_scores, seconds_of
from sordino.evaluate.metrics.cllr import min_cllr
from sordino.evaluate.metrics.eer import equal_error_rate, min_dcf
from sordino.evaluate.privacy import measure_labelled, measure_lists
from sordino.evaluate.report import write_report
from sordino.evaluate.results import Privacy
from sordino.evaluate.scores import ScoreSettings, evaluate_scores

Array = npt.NDArray[np.floating]
Figure = Callable[[Array, Array], float]

# dtype and part of the trials that are targets.
CASES = (("float64", 0.01), ("float64", 0.5), ("float32", 0.5))
SPEAKERS = (40, 100, 316)
UTTERANCES = 10


@dataclass(frozen=True)
class Measured:
    """Seconds, processor seconds, memory in MiB before and at the peak, and what came out."""

    seconds: float
    busy: float
    before: float
    peak: float
    figure: float


def labelled(targets: Array, nontargets: Array) -> tuple[npt.NDArray[np.bool_], Array]:
    scores = np.concatenate([targets, nontargets])
    labels = np.zeros(scores.size, dtype=bool)
    labels[: targets.size] = True
    return labels, scores


def eer_by_sklearn(targets: Array, nontargets: Array) -> float:
    return _eer(*roc_curve(*labelled(targets, nontargets))[:2])


def _eer(false_alarms: Array, hits: Array) -> float:
    gap = false_alarms - (1 - hits)
    at = int(np.argmax(gap >= 0))
    part = -gap[at - 1] / (gap[at] - gap[at - 1])
    return float(false_alarms[at - 1] + part * (false_alarms[at] - false_alarms[at - 1]))


def min_dcf_by_sklearn(targets: Array, nontargets: Array) -> float:
    return _min_dcf(*roc_curve(*labelled(targets, nontargets))[:2])


def _min_dcf(false_alarms: Array, hits: Array) -> float:
    return float((0.01 * (1 - hits) + 0.99 * false_alarms).min() / 0.01)


def min_cllr_by_sklearn(targets: Array, nontargets: Array) -> float:
    labels, scores = labelled(targets, nontargets)
    chances = IsotonicRegression().fit_transform(scores, labels)
    with np.errstate(divide="ignore"):
        ratios = np.log(chances / (1 - chances)) - math.log(targets.size / nontargets.size)
    costs = np.logaddexp(0, np.where(labels, -ratios, ratios)) / math.log(2)
    return float(costs[labels].mean() + costs[~labels].mean()) / 2


FIGURES: dict[str, tuple[Figure, Figure]] = {
    "EER": (lambda own, others: equal_error_rate(own, others).rate, eer_by_sklearn),
    "minDCF": (lambda own, others: min_dcf(own, others).cost, min_dcf_by_sklearn),
    "minCllr": (min_cllr, min_cllr_by_sklearn),
}


def all_of_sordino(targets: Array, nontargets: Array) -> float:
    """Every figure of `Privacy`; the sum of some, so that runs can be compared."""
    found: Privacy = measure_lists(targets, nontargets, ratios=True)
    return sum(part.value or 0.0 for part in (found.eer, found.min_dcf, found.min_cllr))


def all_of_sklearn(targets: Array, nontargets: Array) -> float:
    """The three figures that scikit-learn's pieces give."""
    curve = roc_curve(*labelled(targets, nontargets))[:2]
    return _eer(*curve) + _min_dcf(*curve) + min_cllr_by_sklearn(targets, nontargets)


def measure(name: str, own: bool, trials: int, dtype: str, part: float) -> Measured:
    """Measure one side on one case; for a process of its own."""
    scores = make_scores(trials, dtype, part, None)
    both = (all_of_sordino, all_of_sklearn) if name == "all" else FIGURES[name]
    before, start, busy = peak_memory(), time.perf_counter(), time.process_time()
    figure = both[0 if own else 1](*scores)
    taken = time.perf_counter() - start, time.process_time() - busy
    return Measured(*taken, before, peak_memory(), figure)


def rows(trials: int) -> Iterator[str]:
    """Rows of the table of figures."""
    for name in (*FIGURES, "all"):
        for dtype, part in CASES:
            ours, theirs = (alone(measure, name, own, trials, dtype, part) for own in (True, False))
            yield (
                f"| {name} | {dtype} | {round(trials * part):,} | {round(trials * (1 - part)):,}"
                f" | {abs(ours.figure - theirs.figure):.1e} | {ours.seconds:.2f} ({ours.busy:.2f})"
                f" | {theirs.seconds:.2f} ({theirs.busy:.2f}) | {theirs.busy / ours.busy:.1f}"
                f" | {ours.peak - ours.before:.0f} | {theirs.peak - theirs.before:.0f} |"
            )


def from_arrays(trials: int, folder: str) -> Measured:
    """A file of arrays to a report; for a process of its own."""
    source = Path(folder, "scores.npz")
    targets, nontargets = make_scores(trials, "float64", 0.5, None)
    np.savez(source, targets=targets, nontargets=nontargets)
    del targets, nontargets
    return _report(source, None, folder)


def from_text(lines: int, folder: str) -> Measured:
    """Text and its list of trials to a report; for a process of its own."""
    side = max(2, math.isqrt(lines // UTTERANCES))
    rng = np.random.default_rng(0)
    source, listed = Path(folder, "scores"), Path(folder, "trials")
    with source.open("w") as scores, listed.open("w") as trials:
        for model in range(side):
            for tried in range(side):
                same = model == tried
                for take in range(UTTERANCES):
                    pair = f"speaker{model:04} speaker{tried:04}-{take:04}"
                    scores.write(f"{pair} {rng.standard_normal() + 2 * same:.5f}\n")
                    trials.write(f"{pair} {'target' if same else 'nontarget'}\n")
    return _report(source, listed, folder)


def _report(source: Path, listed: Path | None, folder: str) -> Measured:
    before, start, busy = peak_memory(), time.perf_counter(), time.process_time()
    results = evaluate_scores([source], ScoreSettings(trials=listed))
    write_report(results, Path(folder, "report"))
    taken = time.perf_counter() - start, time.process_time() - busy
    return Measured(*taken, before, peak_memory(), results.attacks[0].privacy.eer.value or 0.0)


def interval_rows() -> Iterator[str]:
    """How long intervals take."""
    for speakers in SPEAKERS:
        tried_by = np.repeat(np.arange(speakers), UTTERANCES)
        enrolled = np.repeat(np.arange(speakers), tried_by.size)
        tried = np.tile(tried_by, speakers)
        is_target = enrolled == tried
        rng = np.random.default_rng(0)
        scores = rng.standard_normal(is_target.size) + 2 * is_target
        rate, everything = (
            partial(measure_labelled, scores, is_target, (enrolled, tried), detail=detail)
            for detail in (False, True)
        )
        taken = seconds_of(rate), seconds_of(everything)
        yield f"| {speakers} | {is_target.size:,} | {taken[0]:.1f} | {taken[1]:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of all score metrics on many trials.")
    parser.add_argument("--trials", type=int, default=10_000_000, help="(default: %(default)s)")
    parser.add_argument("--lines", type=int, default=1_000_000, help="(default: %(default)s)")
    arguments = parser.parse_args()
    trials: int = arguments.trials

    print(f"# Score metrics, {datetime.now(timezone.utc):%Y-%m-%d}\n")
    print(
        f"Python {platform.python_version()}, numpy {np.__version__}, scikit-learn"
        f" {sklearn.__version__}; {processor()}, {os.cpu_count()} processors; one thread;"
        f" {trials:,} trials, Gaussian scores; each side in a process of its own. Seconds by the"
        " clock and, in brackets, of the processor; the ratio is of the latter.\n"
    )
    print(
        "scikit-learn: `roc_curve`, `IsotonicRegression`. all: every figure of the record here, the"
        " three others there. Memory is what each adds to the scores.\n"
    )
    print(
        "| figure | scores | targets | non-targets | difference | sordino, s | scikit-learn, s"
        " | times faster | sordino, MiB | scikit-learn, MiB |"
    )
    print("| --- | --- |" + " ---: |" * 8)
    for row in rows(trials):
        print(row, flush=True)
    for what, count, work in (
        ("arrays", trials, from_arrays),
        ("text, with intervals", arguments.lines, from_text),
    ):
        with tempfile.TemporaryDirectory() as folder:
            found = alone(work, count, folder)
        print(
            f"\nFile to report, {what}, {count:,} trials: {found.seconds:.1f} s"
            f" ({found.busy:.1f}), at most {found.peak:.0f} MiB."
        )
    print("\n| speakers | trials | interval of the EER, s | of all figures, s |")
    print("|" + " ---: |" * 4)
    for row in interval_rows():
        print(row, flush=True)


if __name__ == "__main__":
    main()
