"""A whole training on one machine: a server, and nodes as processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy.typing as npt

from sordino.errors import OutputError
from sordino.federated.flower.deployment import Deployment
from sordino.federated.flower.examples import read_examples
from sordino.federated.flower.node_keys import create_node_key
from sordino.federated.flower.serve import INVITATION, Served, Serving, prepare, serve

if TYPE_CHECKING:
    from sordino.federated.flower.rounds import FinishedRound

_NODES = "nodes"
_START_SECONDS, _END_SECONDS = 60.0, 20.0
# Nodes of a trial that was killed end by themselves.
_PATIENCE_SECONDS = 30.0


def trial(
    folder: Path,
    data: Sequence[Path],
    deployment: Deployment,
    initial: npt.ArrayLike,
    port: int,
    *,
    label: str = "label",
    deadline: float = 60.0,
    tell: Callable[[FinishedRound], None] = lambda _: None,
) -> Served:
    """Serve a new run on this machine, with a node for each file, and end them all.

    Args:
        folder: of the run.
        data: files of examples, one for each node.
        deployment: what is agreed on.
        initial: parameters to start with.
        port: to listen at.
        label: what the labels are called in the files.
        deadline: seconds after which a round ends.
        tell: is given every round when it is over.

    Raises:
        UsageError: a setting is out of range.
        OutputError: files cannot be written or the port is in use.
    """
    for file in data:
        read_examples(file, deployment.task, label)
    keys = [folder / _NODES / f"node-{number + 1}" for number in range(len(data))]
    (folder / _NODES).mkdir(parents=True, exist_ok=True)
    for key in keys:
        if not key.exists():
            create_node_key(key)
    serving = Serving(
        folder / _NODES,
        f"127.0.0.1:{port}",
        least=len(data),
        deadline=deadline,
        patience=_START_SECONDS,
    )
    prepare(folder, serving, deployment, initial)
    with _nodes(folder / INVITATION, keys, data, label):
        return serve(folder, serving, tell)


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def _nodes(
    invitation: Path, keys: Sequence[Path], data: Sequence[Path], label: str
) -> Iterator[None]:
    running: list[subprocess.Popen[bytes]] = []
    try:
        for key, file in zip(keys, data, strict=True):
            running.append(_start(invitation, key, file, label))
        yield
        for node in running:
            node.wait(_END_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise OutputError("a node of the trial did not end; it is stopped now") from error
    finally:
        for node in running:
            node.terminate()
        for node in running:
            try:
                node.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                node.kill()
                node.wait()


def _start(invitation: Path, key: Path, file: Path, label: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "sordino", "federate", "join", str(invitation), str(file)]
    options = {
        "--key": str(key),
        "--ledger": f"{key}.ledger",
        "--label": label,
        "--patience": f"{_PATIENCE_SECONDS:g}",
    }
    log = key.with_suffix(".log")
    # Several nodes share this machine's processors.
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with log.open("ab") as output:
        return subprocess.Popen(
            [*command, *(part for pair in options.items() for part in pair)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
        )
