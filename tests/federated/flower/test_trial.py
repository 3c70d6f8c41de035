from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="needs the extra federated")
pytest.importorskip("torch", reason="needs PyTorch")

from sordino.federated.flower import trial as module
from sordino.federated.flower.extra import require_flower
from sordino.federated.model import load_model


def test_one_command_trains_on_this_machine_and_leaves_nobody_behind(tmp_path):
    command = ["-m", "sordino", "federate", "trial", "run", "--nodes", "2", "--rounds", "2"]
    # Without a home, what Flower would write there shows as an error or a file.
    environment = {**os.environ, "HOME": str(tmp_path / "home")}
    process = subprocess.Popen(
        [sys.executable, *command, "--regime", "local", "--local-epsilon", "8"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    said, told = process.communicate(timeout=400)

    assert process.returncode == 0, told
    assert "wrote run/model.npz and run/statement.json" in said
    assert "accuracy on other speakers" in said
    assert "round 1: 2 of 2 uploads counted" in told
    # All started processes are of its group.
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    assert load_model(tmp_path / "run" / "model.npz").statement["local"]["epsilon_total"] == 16.0
    assert not (tmp_path / "home" / ".flwr").exists()


def test_nodes_end_when_the_server_fails(tmp_path, monkeypatch):
    started: list[subprocess.Popen[bytes]] = []

    def start(*_: object) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]))
        return started[-1]

    monkeypatch.setattr(module, "_start", start)
    two = [Path("a"), Path("b")]
    with pytest.raises(KeyboardInterrupt), module._nodes(tmp_path, two, two, "label"):
        raise KeyboardInterrupt
    assert len(started) == 2
    assert all(process.returncode is not None for process in started)


def test_flower_tells_nobody_of_its_use():
    require_flower()
    from flwr.supercore import telemetry

    assert telemetry.FLWR_TELEMETRY_ENABLED == "0"
    assert os.environ["FLWR_DISABLE_UPDATE_CHECK"] == "1"
