"""The x-vector network against a computation step by step."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sordino.training.networks.xvector import Xvector, XvectorSettings
from tests.training.speechbrain_models import randomize, speechbrain

SMALL = {"inputs": 6, "channels": (8, 8, 10), "kernels": (5, 3, 1), "dilations": (1, 2, 1)}


def by_hand(network, frames):
    """NumPy, double precision, one utterance: (inputs, frames) to (dimension,)."""
    values = frames.astype(np.float64)
    for layer in network.layers:
        state = {name: value.double().numpy() for name, value in layer.state_dict().items()}
        weight, dilation = state["conv.weight"], layer.conv.dilation[0]
        reach = dilation * (weight.shape[2] - 1) // 2
        padded = np.pad(values, ((0, 0), (reach, reach)), mode="reflect")
        raw = np.repeat(state["conv.bias"][:, None], values.shape[1], axis=1)
        for tap in range(weight.shape[2]):
            part = padded[:, tap * dilation : tap * dilation + values.shape[1]]
            raw = raw + weight[:, :, tap] @ part
        active = np.where(raw > 0, raw, 0.01 * raw)
        scale = state["norm.weight"] / np.sqrt(state["norm.running_var"] + 1e-5)
        values = (active - state["norm.running_mean"][:, None]) * scale[:, None]
        values += state["norm.bias"][:, None]
    pooled = np.concatenate([values.mean(axis=1), values.std(axis=1, ddof=1)])
    return network.fc.weight.double().numpy() @ pooled + network.fc.bias.double().numpy()


@pytest.mark.parametrize("frames", [10, 57])
@torch.no_grad()
def test_against_numpy(frames):
    torch.manual_seed(0)
    network = randomize(Xvector(XvectorSettings(**SMALL, dimension=7)))
    values = torch.randn(3, 6, frames)
    found = network(values).numpy()
    for row, utterance in zip(found, values.numpy(), strict=True):
        np.testing.assert_allclose(row, by_hand(network, utterance), rtol=1e-4, atol=1e-5)


def test_full_size():
    ours, theirs = Xvector(XvectorSettings()), speechbrain().Xvector(in_channels=24)
    assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in theirs.parameters())


def test_gradients_are_finite_where_nothing_changes():
    network = Xvector(XvectorSettings(**SMALL)).eval()
    network(torch.zeros(2, 6, 30)).sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in network.parameters())
