from __future__ import annotations

import math

import numpy as np
import pytest

from sordino.federated.plan import Question
from sordino.federated.plan.signal import Signal
from sordino.federated.regimes import Regime
from sordino.privacy.mechanisms.calibration import gaussian_noise_multiplier
from sordino.privacy.randomness import SeededRandomness


def question(**changes) -> Question:
    asked = {"population": 10**6, "rounds": 100, "delta": 1e-6, "cohort": 1000, "epsilon": 2.0}
    return Question(**{**asked, **changes})


@pytest.mark.parametrize(("dimension", "users"), [(5000, 131), (333_000, 8740)])
def test_users_for_snr_1_after_weak_local_noise_are_those_of_the_reference(
    dimension: int, users: int
) -> None:
    asked = question(dimension=dimension, local_epsilon=25.5)
    signal = Signal.of(asked, "central-local", 0.0)
    # Local noise alone: the squared ratio grows with the number of users.
    assert signal.snr(users, None) == pytest.approx(1, rel=0.005)
    assert signal.most_noise(1.02 * users, 1.0) > 0
    assert signal.most_noise(0.98 * users, 1.0) == 0


def test_no_noise_leaves_everything() -> None:
    signal = Signal.of(question(), "none", 0.0)
    assert signal.snr(10) == math.inf
    assert signal.most_noise(10, 5.0) == math.inf


def test_central_noise_in_closed_form() -> None:
    signal = Signal.of(question(norm=0.8, alignment=0.5), "central", 0.0)
    assert signal.bound == 1
    assert signal.snr(1000, 0.5) == pytest.approx(0.4 * 1000 / (0.5 * math.sqrt(5000)))


def test_local_noise_is_for_twice_the_clip() -> None:
    signal = Signal.of(question(), "local", 2.0)
    deviation = 2 * gaussian_noise_multiplier(2.0, 1e-6)
    assert signal.snr(1000) == pytest.approx(math.sqrt(1000 / 5000) / deviation, rel=1e-6)


def test_central_noise_is_for_the_norm_that_is_uploaded() -> None:
    asked = question()
    signal = Signal.of(asked, "central-local", 0.0)
    assert signal.bound is not None
    # Of a direction alone, a release has the length of its error and 1.
    assert signal.bound == pytest.approx(math.sqrt(signal.local_square + 1), rel=1e-6)
    square = 1000 * signal.local_square + 5000 * (0.6 * signal.bound) ** 2
    assert signal.snr(1000, 0.6) == pytest.approx(1000 / math.sqrt(square))


@pytest.mark.parametrize("name", ["local", "central", "central-local"])
def test_the_prediction_is_what_a_regime_does(name: str) -> None:
    d, cohort = 50, 400
    asked = question(dimension=d, norm=0.5, local_epsilon=20.0)
    signal = Signal.of(asked, name, 8.0)
    regime = {
        "local": lambda: Regime.local(d, 3.0, 8.0, delta=1e-6),
        "central": lambda: Regime.central(d, 3.0, 0.7),
        "central-local": lambda: Regime.central_local(d, 3.0, 0.7, 20.0, norm=1.5),
    }[name]()
    updates = np.zeros((cohort, d))
    updates[:, 3] = 1.5
    randomness = SeededRandomness(1)
    squares = []
    for _ in range(30):
        total = regime.protect(updates, randomness).points.sum(axis=0) + regime.noise(randomness)
        squares.append(np.square(regime.mean(total, cohort) - updates[0]).sum())
    measured = 1.5 / math.sqrt(np.mean(squares))
    assert measured == pytest.approx(signal.snr(cohort, 0.7), rel=0.1)


@pytest.mark.parametrize("name", ["central", "central-local"])
def test_the_most_noise_leaves_just_the_wanted_ratio(name: str) -> None:
    signal = Signal.of(question(norm=0.7), name, 0.0)
    noise = signal.most_noise(2000, 1.5)
    assert signal.snr(2000, noise) == pytest.approx(1.5)
