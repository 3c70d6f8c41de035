"""Ways of concealing whose figures are known in closed form."""

from __future__ import annotations

import math

import numpy as np

from sordino.evaluate.results import (
    ALL,
    BOTH,
    NEITHER,
    ONE,
    Attacker,
    Concealed,
    Guessed,
    Measure,
    Repeated,
    Results,
    System,
    Verified,
)
from sordino.privacy.randomness import Randomness, SystemRandomness


class Noise:
    """Adds Gaussian noise of a deviation, and promises whatever it is told to.

    Args:
        deviation: of each component.
        epsilon: that is claimed.
        seed: as another training would differ: the signs of all components.
    """

    delta = 0.0

    def __init__(self, deviation: float, epsilon: float = math.inf, seed: int = 0) -> None:
        self.deviation, self.epsilon, self.seed = deviation, epsilon, seed

    def release(self, x: np.ndarray, randomness: Randomness | None = None) -> np.ndarray:
        rows = np.asarray(x, dtype=np.float64)
        source = randomness or SystemRandomness()
        signs = np.random.default_rng(self.seed).choice([-1.0, 1.0], rows.shape[1])
        return rows * signs + self.deviation * source.normals(rows.shape)


class OneBit:
    """Tells the sign of the first component, truly with a probability: randomised response.

    Nothing else reaches the bounds for its epsilon, ln(p / (1 - p)).

    Args:
        epsilon: that is claimed.
        truth: probability of the true sign; by default that which epsilon allows.
    """

    delta = 0.0

    def __init__(self, epsilon: float, truth: float | None = None) -> None:
        self.epsilon = epsilon
        self.truth = 1 / (1 + math.exp(-epsilon)) if truth is None else truth

    def release(self, x: np.ndarray, randomness: Randomness | None = None) -> np.ndarray:
        rows = np.asarray(x, dtype=np.float64)
        source = randomness or SystemRandomness()
        true = source.uniforms(len(rows)) < self.truth
        found = np.full(rows.shape, 1e-3)
        found[:, 0] = np.where(true, 1, -1) * np.where(rows[:, 0] > 0, 1, -1)
        return found


def guessed(
    value: float, knowledge: str = "retrained", attacker: str = "mlp", *, classes: int = 2
) -> Guessed:
    """With an interval of 0.05 to either side, of two trainings."""
    figure = Repeated(Measure(value, value - 0.05, value + 0.05), (value - 0.01, value + 0.01))
    return Guessed("sex", attacker, knowledge, 90, 30, classes, figure)


def verified(value: float, sides: str, group: str = ALL) -> Verified:
    """With an interval of a tenth to either side, of two trainings."""
    figure = Repeated(Measure(value, 0.9 * value, 1.1 * value), (0.95 * value, 1.05 * value))
    return Verified(sides, group, 60, 900, figure)


def concealed(
    system: str,
    ignorant: float,
    informed: float,
    eer: tuple[float, float],
    *,
    sweep: str = "",
    epsilon: float = math.inf,
    epsilon_train: float = math.inf,
) -> Concealed:
    """Vectors that were concealed in some way."""
    sure = math.isfinite(epsilon)
    return Concealed(
        system=system,
        sweep=sweep,
        mechanism="laplace",
        epsilon_train=epsilon_train,
        epsilon=epsilon,
        delta=0.0,
        guarantee=f"epsilon {epsilon:g} for each released template, by laplace"
        if sure
        else "no DP guarantee",
        trainings=2,
        guesses=(
            guessed(ignorant - 0.02, "clean", "paper-classifier"),
            guessed(ignorant, "clean"),
            guessed(informed - 0.01, "retrained", "paper-classifier"),
            guessed(informed),
        ),
        verified=tuple(
            verified(value + more, sides, group)
            for group, more in ((ALL, 0.0), ("same-sex", 0.01))
            for value, sides in zip(eer, (ONE, BOTH), strict=True)
        ),
    )


def comparison() -> Results:
    """A comparison as the paper makes it, with both sweeps; the figures are made up."""
    original = Concealed(
        "original",
        "",
        "none",
        math.inf,
        math.inf,
        0.0,
        "no DP guarantee",
        0,
        (guessed(0.93, "clean", "paper-classifier"), guessed(0.94, "clean")),
        tuple(
            verified(value, NEITHER, group) for group, value in ((ALL, 0.01), ("same-sex", 0.02))
        ),
    )
    rows = [
        concealed("no noise", 0.90, 0.92, (0.02, 0.02)),
        concealed("noise in training", 0.55, 0.70, (0.06, 0.05), epsilon_train=15.0),
        concealed("noise in both", 0.52, 0.60, (0.3, 0.28), epsilon=15.0, epsilon_train=15.0),
    ]
    sweeps = (
        [
            concealed(
                "figure 2",
                0.4 + e / 60,
                0.5 + e / 80,
                (0.2 - e / 200, 0.2 - e / 250),
                sweep="epsilon_train",
                epsilon_train=e,
            )
            for e in (5.0, 15.0, 25.0)
        ]
        + [
            concealed(
                "figure 3",
                0.51,
                0.6,
                (0.5 - e / 120, 0.45 - e / 120),
                sweep="epsilon",
                epsilon=e,
                epsilon_train=15.0,
            )
            for e in (5.0, 15.0, 50.0)
        ]
        + [concealed("figure 3", 0.55, 0.7, (0.06, 0.05), sweep="epsilon", epsilon_train=15.0)]
    )
    return Results(
        kind="concealment",
        created="2026-11-30T12:00:00+00:00",
        version="1",
        command="sordino evaluate concealment test.npz",
        machine={"processors": "2"},
        data={"templates": "90"},
        protocol={"seed": "0"},
        seconds=3.0,
        systems=(
            System("original", "vectors as they were given", "no DP guarantee"),
            *(System(row.system, "concealer tiny", row.guarantee) for row in rows),
        ),
        attackers=(Attacker("mlp", "a network"), Attacker("paper-classifier", "of the paper")),
        concealed=(original, *rows, *sweeps),
        notes=("Somewhat too high.",),
    )
