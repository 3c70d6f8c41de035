import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from sordino.errors import UsageError
from sordino.federated.optimiser import ServerOptimiser


def run(rule, means):
    parameters, memory = np.zeros(3, dtype=np.float32), rule.start(3)
    for mean in means:
        parameters, memory = rule.step(parameters, mean, memory)
    return parameters


def test_sgd_is_that_of_torch():
    means = np.random.default_rng(0).normal(size=(5, 3))
    row = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.SGD([row], lr=0.3, momentum=0.9)
    for mean in means:
        row.grad = -torch.from_numpy(mean)
        optimiser.step()
    found = run(ServerOptimiser(learning_rate=0.3, momentum=0.9), means)
    np.testing.assert_allclose(found, row.detach().numpy(), rtol=1e-6)


def test_adam_is_that_of_reddi():
    rule = ServerOptimiser("adam", learning_rate=0.1, momentum=0.9, smallest=0.01)
    m = v = x = 0.0
    for mean in (1.0, -2.0):
        m, v = 0.9 * m + 0.1 * mean, 0.99 * v + 0.01 * mean**2
        x += 0.1 * m / (v**0.5 + 0.01)
    np.testing.assert_allclose(run(rule, [np.full(3, 1.0), np.full(3, -2.0)]), x, rtol=1e-6)


def test_terms_and_refusals():
    rule = ServerOptimiser("adam", 0.1, 0.5, 0.2)
    assert ServerOptimiser.from_terms(rule.terms()) == rule
    for settings in (
        {"name": "newton"},
        {"learning_rate": 0.0},
        {"momentum": 1.0},
        {"smallest": 0.0},
        {"more": 1},
    ):
        with pytest.raises(UsageError):
            ServerOptimiser.from_terms(settings)


def test_a_rate_that_is_too_large_is_said_to_be():
    with pytest.raises(UsageError, match=r"learning rate 1e\+300 .* below 1,000,000"):
        ServerOptimiser(learning_rate=1e300)
