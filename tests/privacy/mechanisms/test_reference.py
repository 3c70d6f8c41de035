"""The remaining checks of the reference: many draws, and mutants that counting outcomes finds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta

from sordino.privacy.mechanisms.privunit import PrivUnit, PrivUnitG
from sordino.privacy.mechanisms.scalar import ScalarDP
from sordino.privacy.mechanisms.vectors import PrivVector
from sordino.privacy.randomness import SeededRandomness

DRAWS = 200_000
ROTATED = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0][0]


@pytest.mark.parametrize("kind", [PrivUnit, PrivUnitG])
@pytest.mark.parametrize("direction", [np.eye(3)[1], ROTATED], ids=["one-hot", "rotated"])
def test_200_000_draws_are_unbiased(kind: type[PrivUnit | PrivUnitG], direction) -> None:
    mechanism = kind(dimension=3, epsilon=4.0)
    released = mechanism.release(np.tile(direction, (DRAWS, 1)), SeededRandomness(2))
    error = released.std(axis=0) / math.sqrt(DRAWS)
    assert (np.abs(released.mean(axis=0) - direction) < 3 * error).all()


def proved_epsilon(likely: np.ndarray, rare: np.ndarray) -> float:
    """What two shares of one outcome prove with certainty 0.998 (Clopper-Pearson)."""
    hits, misses = int(likely.sum()), int(rare.sum())
    low = beta.ppf(1e-3, hits, likely.size - hits + 1)
    high = beta.ppf(1 - 1e-3, misses + 1, rare.size - misses)
    return math.log(low / high)


def best_outcome(mechanism: PrivVector, first: np.ndarray, second: np.ndarray) -> float:
    """Epsilon that draws in the first direction's cap, and of its length, prove."""
    shares = []
    for vector, seed in ((first, 3), (second, 4)):
        released = mechanism.release(np.tile(vector, (40_000, 1)), SeededRandomness(seed))
        # A release is a direction's draw times a level; the level may turn it around.
        along = released @ (first / np.linalg.norm(first))
        lengths = np.linalg.norm(released, axis=1)
        longest = lengths >= 0.999 * np.linalg.norm(first) * mechanism.direction.norm
        shares.append((along / lengths >= mechanism.direction.gamma) & longest)
    return proved_epsilon(*shares)


@pytest.mark.parametrize(
    "second", [[-1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
)
def test_direction_and_length_together_prove_no_more_than_epsilon(second: list[float]) -> None:
    first = np.array([1.0, 0.0, 0.0, 0.0])
    sound = PrivVector(dimension=4, epsilon=2.0, clip=1.0, length_epsilon=1.0)
    assert best_outcome(sound, first, np.array(second)) <= 2.0


def test_a_length_that_is_not_paid_for_is_caught() -> None:
    first, second = np.array([1.0, 0.0, 0.0, 0.0]), np.array([-1e-9, 0.0, 0.0, 0.0])
    mutant = PrivVector(dimension=4, epsilon=4.0, clip=1.0, length_epsilon=2.0)
    # It spends 2 on each and says 2.
    assert best_outcome(mutant, first, second) > 2.0


@pytest.mark.parametrize("mutated", [False, True])
def test_a_level_that_is_kept_too_often_is_caught(mutated: bool) -> None:
    scalar = ScalarDP(clip=1.0, epsilon=3.0)
    if mutated:
        scalar._keep += Fraction(2, 100)
    tops = []
    for number, seed in ((1.0, 5), (0.0, 6)):
        released = scalar.release(np.full(DRAWS, number), SeededRandomness(seed))
        tops.append(released >= released.max() - 1e-9)
    # The other level's share is what is left over all levels: it falls as the kept one's rises.
    assert (proved_epsilon(*tops) > 3.0) is mutated
