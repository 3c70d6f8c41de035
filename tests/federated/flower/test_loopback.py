"""Four nodes, a server, TLS, and whatever can go wrong."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs the extra federated")
pytest.importorskip("torch", reason="needs PyTorch")

from sordino.federated.client import client_round
from sordino.federated.flower.deployment import Invitation
from sordino.federated.flower.examples import read_examples
from sordino.federated.flower.node_keys import create_node_key
from sordino.federated.flower.trial import free_port
from sordino.federated.model import load_model
from sordino.federated.server import Server
from sordino.privacy.ledger import Ledger
from tests.federated.flower.rogue import modest
from tests.federated.flower.serving import NODES, REGIME, ROUNDS, START, TASK

_HERE = Path(__file__).parent
_PATIENCE = 300.0


class Processes:
    """Processes that all end with the test."""

    def __init__(self) -> None:
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, log: Path, *command: object) -> subprocess.Popen[bytes]:
        """Start Python with arguments; what it says goes to a file."""
        with log.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, *map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        self.running.append(process)
        return process


@contextmanager
def all_ending() -> Iterator[Processes]:
    processes = Processes()
    try:
        yield processes
    finally:
        for process in processes.running:
            process.kill()
        for process in processes.running:
            process.wait()


def until(there: Callable[[], bool], log: Path) -> None:
    """Wait for something."""
    end = time.monotonic() + _PATIENCE
    while not there():
        assert time.monotonic() < end, log.read_text() if log.exists() else "nothing was said"
        time.sleep(0.05)


def made_up_data(folder: Path) -> list[Path]:
    paths = []
    for number in range(NODES):
        generator = np.random.default_rng(number)
        labels = generator.integers(0, 2, 12)
        vectors = generator.normal(size=(12, TASK.inputs)) + np.outer(2 * labels - 1, np.arange(8))
        paths.append(folder / f"{number}.npz")
        np.savez(paths[-1], vectors=vectors, label=np.array(TASK.classes)[labels])
    return paths


def by_hand(rounds: list[dict], data: dict[str, Path]) -> np.ndarray:
    """The model that the same uploads give without any network."""
    server = Server(START, REGIME, cohort=NODES)
    for line in rounds:
        request = server.open(line["round"])
        for name in line["counted"]:
            if name == "cleo":
                upload = modest(request)
            else:
                examples = read_examples(data[name], TASK)
                upload = client_round(
                    TASK, request.parameters, examples, REGIME, request.round, nonce=request.nonce
                )
            assert server.accept(replace(upload, sender=name)) is None
        server.close()
    return server.parameters


def test_a_training_survives_its_nodes_and_its_server(tmp_path):
    keys, run, names = tmp_path / "keys", tmp_path / "run", ("anna", "ben", "cleo", "dora")
    keys.mkdir()
    for name in names:
        create_node_key(keys / name)
    data = dict(zip(names, made_up_data(tmp_path), strict=True))
    log, server_log = tmp_path / "rounds", tmp_path / "server.log"
    serving = (_HERE / "serving.py", run, keys, free_port(), log)
    rogue = (_HERE / "rogue.py", run / "invitation.json")

    def rounds() -> list[dict]:
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    with all_ending() as processes:
        server = processes.start(server_log, *serving)
        until((run / "run.json").exists, server_log)
        honest = {
            name: processes.start(
                tmp_path / f"{name}.log",
                *("-m", "sordino", "federate", "join", run / "invitation.json", data[name]),
                *("--key", keys / name, "--ledger", tmp_path / f"{name}.ledger"),
                *("-o", tmp_path / f"{name}.npz"),
            )
            for name in ("anna", "ben")
        }
        hanging = (tmp_path / "cleo.log", *rogue, keys / "cleo", "hang", tmp_path / "hangs")
        cleo = processes.start(*hanging)
        dora = processes.start(
            tmp_path / "dora.log", *rogue, keys / "dora", "nan", tmp_path / "stops"
        )

        # Cleo is killed in the middle of round 1, which ends without her, and comes back.
        until((tmp_path / "hangs").exists, server_log)
        cleo.send_signal(signal.SIGKILL)
        until(lambda: len(rounds()) == 2, server_log)
        cleo = processes.start(*hanging)
        # The server is killed in the middle of round 2, while Dora makes it wait.
        until((tmp_path / "stops").exists, server_log)
        server.send_signal(signal.SIGKILL)
        server.wait()
        (tmp_path / "stops.go").touch()
        server = processes.start(server_log, *serving)
        for process in (server, *honest.values(), cleo, dora):
            assert process.wait(_PATIENCE) == 0, server_log.read_text()

    told = rounds()
    assert [line["round"] for line in told] == list(range(ROUNDS))
    assert told[0]["counted"] == ["anna", "ben", "cleo"]
    assert told[1]["missing"] == ["cleo"]
    assert [line["counted"] for line in told[2:]] == [["anna", "ben", "cleo"]] * 2
    assert all(line["refused"] == {"dora": "malformed"} for line in told)

    model = load_model(run / "model.npz")
    assert np.array_equal(model.parameters, by_hand(told, data))
    assert not np.array_equal(model.parameters, START)
    assert np.array_equal(load_model(tmp_path / "anna.npz").parameters, model.parameters)
    assert json.loads((run / "statement.json").read_text())["guarantee"] is False

    purpose = Invitation.read(run / "invitation.json").deployment.purpose
    with_server = Ledger(run / "ledger")
    for name in ("anna", "ben"):
        in_model = sum(name in line["counted"] for line in told)
        sent = (tmp_path / f"{name}.log").read_text().count("upload sent")
        on_device = Ledger(tmp_path / f"{name}.ledger")
        assert with_server.standing(name).account.releases(purpose) >= in_model > 0
        assert on_device.standing(name).account.releases(purpose) >= sent >= in_model
    assert with_server.standing("cleo").account.releases(purpose) >= 3
    assert with_server.standing("dora").account.releases(purpose) == 0
