"""Rounds of Flower's simulation, for `benchmarks.federated`; in an environment of its own.

    python federated_flower.py EXAMPLES.npz ROUNDS

Prints one line of JSON: seconds of each round by the clock, and of the processor in all processes.
"""

from __future__ import annotations

import json
import os
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation

RATE, CLIP, NOISE = 0.5, 1.0, 0.6
DATA, ROUNDS = sys.argv[1], int(sys.argv[2])


@cache
def examples() -> tuple[torch.Tensor, torch.Tensor, tuple[int, int, int]]:
    """What all users hold, and settings."""
    given = np.load(DATA)
    hidden, classes, steps = (int(number) for number in given["settings"])
    vectors, labels = torch.from_numpy(given["vectors"]), torch.from_numpy(given["labels"])
    return vectors, labels, (hidden, classes, steps)


def network() -> torch.nn.Module:
    """The network of the benchmark."""
    vectors, _, (hidden, classes, _) = examples()
    return torch.nn.Sequential(
        torch.nn.Linear(vectors.shape[2], hidden),
        torch.nn.Sigmoid(),
        torch.nn.Linear(hidden, classes),
    )


client = ClientApp()


@client.train()
def train(message: Message, context: Context) -> Message:
    """Local training, and the clip."""
    torch.set_num_threads(1)
    vectors, labels, (_, _, steps) = examples()
    user = int(context.node_config["partition-id"])
    arrays = message.content["arrays"]
    assert isinstance(arrays, ArrayRecord)
    before = arrays.to_torch_state_dict()
    model = network()
    model.load_state_dict(before)
    optimiser = torch.optim.SGD(model.parameters(), lr=RATE)
    for _ in range(steps):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(vectors[user]), labels[user]).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    after = model.state_dict()
    update = {name: after[name] - before[name] for name in before}
    norm = torch.sqrt(sum(value.square().sum() for value in update.values()))
    scale = min(1.0, CLIP / max(float(norm), 1e-12))
    clipped = {name: before[name] + scale * update[name] for name in before}
    metrics = MetricRecord({"num-examples": 1})
    content = RecordDict({"arrays": ArrayRecord(clipped), "metrics": metrics})
    return Message(content=content, reply_to=message)


server = ServerApp()
times: list[tuple[float, float]] = []


def spent() -> float:
    """Processor seconds so far of this process and all below it (Linux)."""
    ticks: dict[int, int] = {}
    parents: dict[int, int] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        number = int(place.parent.name)
        parents[number], ticks[number] = int(fields[1]), int(fields[11]) + int(fields[12])
    ours, found = {os.getpid()}, 0
    while len(ours) > found:
        found = len(ours)
        ours |= {number for number, parent in parents.items() if parent in ours}
    return sum(ticks[number] for number in ours) / os.sysconf("SC_CLK_TCK")


@server.main()
def main(grid: Grid, context: Context) -> None:
    """Rounds of averaging, each with noise on the mean; notes the time after each."""
    users = len(examples()[0])

    def told(_: int, arrays: ArrayRecord) -> None:
        for name, value in arrays.to_torch_state_dict().items():
            arrays[name] = type(arrays[name])(
                (value + torch.randn(value.shape) * NOISE * CLIP / users).numpy()
            )
        times.append((time.perf_counter(), spent()))

    strategy: Any = FedAvg(
        fraction_train=1.0, fraction_evaluate=0.0, min_available_nodes=users, min_train_nodes=users
    )
    strategy.start(grid, ArrayRecord(network().state_dict()), num_rounds=ROUNDS, evaluate_fn=told)
    passed, busy = np.diff(np.array(times), axis=0).T
    print(json.dumps({"clock": passed.tolist(), "processor": busy.tolist()}), flush=True)


if __name__ == "__main__":
    run_simulation(
        server,
        client,
        num_supernodes=len(examples()[0]),
        backend_config={
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            "init_args": {"num_cpus": 1, "include_dashboard": False},
        },
    )
