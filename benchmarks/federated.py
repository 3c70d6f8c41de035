"""Speed of a simulated round, beside `pfl` and Flower's simulation, each with one thread.

Run from the repository root; prints a Markdown report:

    python -m benchmarks.federated [--folder FOLDER] [--rounds N] [--against NAME ...]

`pfl` 0.6 and Flower cannot be installed beside each other: each gets an environment of its own in
FOLDER, made with venv and pip if it is not there yet. All three train the same network of 5,000
parameters on the same examples of 1,000 users, five steps each, clip, add noise for the same
epsilon, and move the model.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

# Also sets the number of threads, which has to be done before numpy is loaded.
from benchmarks.anonymize import processor  # isort: skip
import numpy as np
import torch

from sordino.federated.populations.base import HeldOut, Population
from sordino.federated.regimes import Regime
from sordino.federated.simulate.run import Plan, Round, simulate
from sordino.federated.simulate.sampling import Sampling
from sordino.federated.task import ClassifierTask, Examples, Ints, LocalTraining

USERS, EXAMPLES, INPUTS, HIDDEN, CLASSES = 1000, 10, 220, 22, 6
STEPS, RATE, CLIP, NOISE = 5, 0.5, 1.0, 0.6
GOALS = {"pfl": 20, "flower": 50}
TORCH = f"torch=={torch.__version__.partition('+')[0]}"
NEEDS = {"pfl": ["pfl[pytorch]==0.6.0", TORCH], "flower": ["flwr[simulation]==1.42.0", TORCH]}
NAMES = {"pfl": "pfl 0.6.0", "flower": "Flower 1.42.0, `flwr[simulation]`"}
REGIMES: dict[str, Callable[[int], Regime]] = {
    "central": lambda d: Regime.central(d, CLIP, NOISE),
    "central-local": lambda d: Regime.central_local(d, CLIP, NOISE, 25.0),
    "local": lambda d: Regime.local(d, CLIP, 2.0),
    "none": lambda d: Regime.unprotected(d, CLIP),
}


@dataclass(frozen=True)
class Spent:
    """Seconds of a round: by the clock, and of the processor in all processes."""

    clock: float
    processor: float


class Everybody(Population):
    """Users whose examples are all in memory; a little of them is held out again to measure."""

    def __init__(self, vectors: Any, labels: Any) -> None:
        self.users, _, self.inputs = vectors.shape
        self.classes = tuple(str(number) for number in range(CLASSES))
        self.held_out = HeldOut(vectors[:20, 0], labels[:20, 0], np.ones(20))
        self._examples = vectors, labels

    def cohort(self, chosen: Ints) -> Examples:
        """What some users hold."""
        vectors, labels = self._examples
        return Examples(vectors[chosen], labels[chosen], np.full(len(chosen), EXAMPLES))

    def facts(self) -> dict[str, Any]:
        """What it is."""
        return {"users": self.users}


def examples() -> tuple[Any, Any]:
    """Vectors, shape (users, examples, inputs), and labels that depend on them."""
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(USERS, EXAMPLES, INPUTS)).astype(np.float32)
    directions = generator.normal(size=(INPUTS, CLASSES)).astype(np.float32)
    return vectors, (vectors @ directions).argmax(axis=2).astype(np.int64)


def by_sordino(vectors: Any, labels: Any, regime: str, rounds: int) -> Spent:
    """A round of sordino, the median of some after one that does not count."""
    task = ClassifierTask(
        INPUTS,
        tuple(str(number) for number in range(CLASSES)),
        hidden=(HIDDEN,),
        standardise=False,
        training=LocalTraining(steps=STEPS, learning_rate=RATE),
    )
    assert task.dimension == 5000
    times = [(time.perf_counter(), time.process_time())]

    def tell(_: Round) -> None:
        times.append((time.perf_counter(), time.process_time()))

    plan = Plan(Sampling("fixed", USERS), rounds + 1)
    simulate(Everybody(vectors, labels), task, REGIMES[regime](5000), plan, seed=1, tell=tell)
    clock, busy = np.diff(np.array(times), axis=0)[1:].T
    return Spent(float(np.median(clock)), float(np.median(busy)))


def by_other(name: str, python: Path, data: Path, rounds: int) -> Spent:
    """A round of another framework, in its environment; see `federated_pfl` and `_flower`."""
    script = Path(__file__).with_name(f"federated_{name}.py")
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    silent = {"FLWR_TELEMETRY_ENABLED": "0", "RAY_DEDUP_LOGS": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run(
        [python, script, data, str(rounds + 1)],
        env={**os.environ, **threads, **silent, "FLWR_HOME": str(data.parent / "flwr")},
        cwd=data.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not said:
        sys.exit(f"{script.name} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    found = json.loads(said[-1])
    return Spent(*(statistics.median(found[kind][1:]) for kind in ("clock", "processor")))


def environment(name: str, folder: Path) -> Path | str:
    """The Python of an environment, made if need be; or why it cannot be made."""
    place = folder / name
    python = place / "bin" / "python"
    finished = place / "finished"
    if finished.exists():
        return python
    shutil.rmtree(place, ignore_errors=True)
    venv.create(place, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", *NEEDS[name]]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stderr.strip().rpartition("\n")[2] or "pip failed"
    finished.touch()
    return python


def rows(folder: Path, against: list[str], rounds: int) -> Iterator[str]:
    """Rows of the table."""
    vectors, labels = examples()
    data = folder / "examples.npz"
    np.savez(data, vectors=vectors, labels=labels, settings=[HIDDEN, CLASSES, STEPS])
    own = {name: by_sordino(vectors, labels, name, rounds) for name in REGIMES}
    for name, spent in own.items():
        yield row(f"sordino, regime {name}", spent)
    for name in against:
        python = environment(name, folder)
        if isinstance(python, str):
            yield f"| {NAMES[name]} | cannot be installed here: {python} | | | | |"
            continue
        spent = by_other(name, python, data, rounds)
        # Once more, so that a machine that has become busier or calmer does not decide.
        again = by_sordino(vectors, labels, "central", rounds)
        here = own["central"]
        clock = 2 * spent.clock / (here.clock + again.clock)
        busy = 2 * spent.processor / (here.processor + again.processor)
        yield row(f"{NAMES[name]}, central noise", spent, clock, busy, GOALS[name])


def row(name: str, spent: Spent, *slower: float) -> str:
    """A row of the table."""
    cells = [f"{1000 * spent.clock:,.0f}", f"{1000 * spent.processor:,.0f}"]
    cells += [f"{times:.0f}x" for times in slower] or ["", "", ""]
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of a simulated round.")
    parser.add_argument("--folder", type=Path, help="for environments (default: a new one)")
    parser.add_argument("--rounds", type=int, default=5, help="(default: %(default)s)")
    parser.add_argument("--against", nargs="*", choices=list(NEEDS), default=list(NEEDS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as made:
        folder: Path = (options.folder or Path(made)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        print(f"# Simulated rounds, {datetime.now(timezone.utc):%Y-%m-%d}\n")
        print(
            f"Python {platform.python_version()}, torch {torch.__version__}; {processor()},"
            f" {os.cpu_count()} processors; one thread. {USERS:,} users x 5,000 parameters,"
            f" {EXAMPLES} examples and {STEPS} steps each; medians of {options.rounds} rounds.\n"
        )
        print("| round of | ms, clock | ms, processor | slower, clock | processor | goal |")
        print("| --- |" + " ---: |" * 5)
        for line in rows(folder, options.against, options.rounds):
            print(line, flush=True)


if __name__ == "__main__":
    main()
