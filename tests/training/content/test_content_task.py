"""Losses, against NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from scipy.special import log_softmax

from sordino.training.content.data import NO_UNIT
from sordino.training.content.recipe import ContentRecipe
from sordino.training.content.task import ContentTask
from sordino.training.networks.content import build_content

SIZES = {"channels": 16, "early": 0, "blocks": 1, "bands": 20, "level": 5, "kernel": 3}
UNITS, DIMENSION = 9, 6


def task(output="soft", *, weights=(1.0, 0.0), layers=1, noise=0.0, **network) -> ContentTask:
    described = {"architecture": "conv", "output": output, "sizes": SIZES, **network}
    if output in {"soft", "units"}:
        described["units"] = UNITS
    values = {
        "name": "x",
        "network": described,
        "decoder": {"layers": layers, "channels": 12, "kernel": 3, "noise": noise},
        "optimisation": {"unit_weight": weights[0], "feature_weight": weights[1]},
    }
    torch.manual_seed(0)
    recipe = ContentRecipe.from_values(values)
    return ContentTask(recipe, build_content(described), UNITS, DIMENSION)


def batch():
    generator = torch.Generator().manual_seed(1)
    waves = 0.1 * torch.randn(2, 6400, generator=generator)
    units = torch.randint(UNITS, (2, 20), generator=generator)
    units[1, 13:] = NO_UNIT
    return waves, units, torch.randn(2, 20, DIMENSION, generator=generator)


def cross_entropy(logits: np.ndarray, units: np.ndarray) -> float:
    known = units != NO_UNIT
    chances = log_softmax(logits.astype(np.float64), axis=2)[known]
    return -chances[np.arange(known.sum()), units[known]].mean()


def cosines(frames: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    frames, vectors = frames.astype(np.float64), vectors.astype(np.float64)
    lengths = np.linalg.norm(frames, axis=-1, keepdims=True)
    return frames / lengths @ (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).T


@pytest.mark.parametrize("output", ["soft", "units"])
@pytest.mark.parametrize("projection", [None, 5])
def test_cross_entropy_of_own_units(output, projection):
    learner = task(output, projection=projection)
    waves, units, features = batch()
    with torch.inference_mode():
        found = learner(waves, units, features[:, :, :0])
        frames = learner.network.projected(waves).numpy()
    similar = cosines(frames, learner.network.head.vectors.detach().numpy())
    assert found.unit == pytest.approx(cross_entropy(similar / 0.1, units.numpy()), rel=1e-4)
    known = units.numpy() != NO_UNIT
    right = (similar.argmax(axis=2) == units.numpy())[known].mean()
    assert float(found.accuracy) == pytest.approx(right)
    assert (found.total, found.feature) == (found.unit, 0)
    assert learner.decoder is None


@pytest.mark.parametrize("layers", [0, 2])
@pytest.mark.parametrize("output", ["bottleneck", "features"])
def test_units_and_features_guessed_from_a_code(output, layers):
    learner = task(output, weights=(0.5, 2.0), layers=layers, projection=5)
    waves, units, features = batch()
    with torch.inference_mode():
        found = learner(waves, units, features)
        decoded = learner.decoder(learner.network(waves))
        guessed = learner.to_features(decoded).numpy()
    assert decoded.shape == (2, 20, 12 if layers else 5)
    logits = cosines(decoded.numpy(), learner.to_units.vectors.detach().numpy()) / 0.1
    assert found.unit == pytest.approx(cross_entropy(logits, units.numpy()), rel=1e-4)
    known = units.numpy() != NO_UNIT
    squares = np.square(guessed - features.numpy()).mean(axis=2)[known].mean()
    assert found.feature == pytest.approx(squares, rel=1e-4)
    assert float(found.total) == pytest.approx(float(0.5 * found.unit + 2 * found.feature))


def test_own_units_and_features():
    learner = task(weights=(1.0, 1.0))
    waves, units, features = batch()
    with torch.inference_mode():
        found = learner(waves, units, features)
        decoded = learner.decoder(learner.network.projected(waves))
        squares = (learner.to_features(decoded) - features).square().mean(2)[units != NO_UNIT]
    assert learner.to_units is None
    assert found.feature == pytest.approx(float(squares.mean()), rel=1e-4)


def test_frames_without_targets_have_no_part():
    learner = task("bottleneck", weights=(1.0, 1.0))
    waves, units, features = batch()
    changed = features.clone()
    changed[1, 13:] = 99.0
    with torch.inference_mode():
        first, second = (learner(waves, units, rows) for rows in (features, changed))
        nothing = learner(waves, torch.full_like(units, NO_UNIT), features)
    assert first == second
    assert nothing.total == 0


def test_noise_is_on_the_code_and_only_in_training():
    learner = task("bottleneck", noise=0.5)
    losses = []
    for _ in range(2):
        with torch.inference_mode():
            losses.append(float(learner.train()(*batch()).total))
    assert losses[0] != losses[1]
    with torch.inference_mode():
        quiet = [float(learner.eval()(*batch()).total) for _ in range(2)]
    assert quiet[0] == quiet[1]
    silent = task("bottleneck").train()
    with torch.inference_mode():
        assert float(silent(*batch()).total) == pytest.approx(quiet[0])


BOTH, CODES = ((1.0, 0.0), (1.0, 1.0)), ("bottleneck", "features")


@pytest.mark.parametrize(
    ("output", "weights"),
    [
        *((output, weights) for output in ("soft", "units", *CODES) for weights in BOTH),
        *((output, (0.0, 1.0)) for output in CODES),
    ],
)
def test_every_weight_learns(output, weights):
    learner = task(output, weights=weights).train()
    learner(*batch()).total.backward()
    for name, value in learner.named_parameters():
        assert value.grad is not None, name
        assert torch.isfinite(value.grad).all(), name


def test_only_the_network_is_exported():
    learner = task("bottleneck")
    names = {name for name, _ in learner.named_parameters()}
    assert {name.partition(".")[0] for name in names} == {"network", "decoder", "to_units"}
