"""Rounds of `pfl`, for `benchmarks.federated`; runs in an environment of its own.

    python federated_pfl.py EXAMPLES.npz ROUNDS

Prints one line of JSON: seconds of each round by the clock, and of the processor.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.pytorch import PyTorchTensorDataset
from pfl.data.sampling import MinimizeReuseUserSampler
from pfl.hyperparam import NNEvalHyperParams, NNTrainHyperParams
from pfl.metrics import Metrics
from pfl.model.pytorch import PyTorchModel
from pfl.privacy.gaussian_mechanism import GaussianMechanism
from pfl.privacy.privacy_mechanism import CentrallyAppliedPrivacyMechanism

RATE, CLIP, NOISE = 0.5, 1.0, 0.6


class Network(torch.nn.Module):
    """The network of the benchmark, with what `pfl` asks for."""

    def __init__(self, inputs: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(inputs, hidden), torch.nn.Sigmoid(), torch.nn.Linear(hidden, classes)
        )

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.layers(vectors)
        return result

    def loss(self, vectors: torch.Tensor, labels: torch.Tensor, **_: Any) -> torch.Tensor:
        self.train()
        return torch.nn.functional.cross_entropy(self(vectors), labels)

    def metrics(self, vectors: torch.Tensor, labels: torch.Tensor, **_: Any) -> dict[str, Any]:
        return {}


class Clock(TrainingProcessCallback):  # type: ignore[misc]
    """Notes the time after each round."""

    def __init__(self) -> None:
        self.times = [(time.perf_counter(), time.process_time())]

    def after_central_iteration(self, *_: Any, **__: Any) -> tuple[bool, Metrics]:
        self.times.append((time.perf_counter(), time.process_time()))
        return False, Metrics()


def main() -> None:
    torch.set_num_threads(1)
    given = np.load(sys.argv[1])
    hidden, classes, steps = (int(number) for number in given["settings"])
    vectors, labels = torch.from_numpy(given["vectors"]), torch.from_numpy(given["labels"])
    users, _, inputs = vectors.shape
    network = Network(inputs, hidden, classes)

    def dataset() -> FederatedDataset:
        return FederatedDataset(
            lambda user: PyTorchTensorDataset((vectors[user], labels[user])),
            MinimizeReuseUserSampler(list(range(users))),
        )

    model = PyTorchModel(network, torch.optim.SGD, torch.optim.SGD(network.parameters(), lr=1.0))
    noise = CentrallyAppliedPrivacyMechanism(GaussianMechanism(CLIP, NOISE))
    backend = SimulatedBackend(dataset(), dataset(), postprocessors=[noise])
    clock = Clock()
    FederatedAveraging().run(
        NNAlgorithmParams(
            central_num_iterations=int(sys.argv[2]),
            evaluation_frequency=10**9,
            train_cohort_size=users,
            val_cohort_size=0,
        ),
        backend,
        model,
        NNTrainHyperParams(local_num_epochs=steps, local_learning_rate=RATE, local_batch_size=None),
        NNEvalHyperParams(local_batch_size=None),
        [clock],
    )
    passed, busy = np.diff(np.array(clock.times), axis=0).T
    print(json.dumps({"clock": passed.tolist(), "processor": busy.tolist()}))


if __name__ == "__main__":
    main()
