"""The server of a test, as a process that can be killed: serving.py RUN NODES PORT LOG.

It writes a line with the names of everybody for each round to LOG, which the real one keeps to
itself.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from sordino.federated.flower.deployment import Deployment, new_identity
from sordino.federated.flower.rounds import FinishedRound
from sordino.federated.flower.save import append_line
from sordino.federated.flower.serve import Serving, has_run, prepare, serve
from sordino.federated.optimiser import ServerOptimiser
from sordino.federated.regimes import Regime
from sordino.federated.task import ClassifierTask

TASK = ClassifierTask(inputs=8, classes=("F", "M"), hidden=())
REGIME = Regime.unprotected(TASK.dimension, clip=1.0)
ROUNDS, NODES = 4, 4
START = np.zeros(TASK.dimension, dtype=np.float32)


def main(run: str, nodes: str, port: str, log: str) -> None:
    """Begin, or go on."""
    folder = Path(run)
    serving = Serving(
        Path(nodes),
        f"127.0.0.1:{port}",
        least=NODES,
        deadline=20.0,
        linger=20.0,
    )
    if not has_run(folder):
        deployment = Deployment(
            TASK, REGIME, ServerOptimiser(), NODES, 1.0, ROUNDS, 2 * ROUNDS, 1e-6, new_identity()
        )
        prepare(folder, serving, deployment, START)

    def note(finished: FinishedRound) -> None:
        line = {
            "round": finished.report.round,
            "counted": finished.counted,
            "refused": finished.refused,
            "missing": finished.missing,
        }
        append_line(Path(log), json.dumps(line))

    serve(folder, serving, note)


if __name__ == "__main__":
    main(*sys.argv[1:])
