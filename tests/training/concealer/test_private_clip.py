"""The private median: exact probabilities of its noise, accuracy, and refusals."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from sordino.errors import UsageError
from sordino.privacy.randomness import SeededRandomness
from sordino.training.concealer import clip
from sordino.training.concealer.clip import private_median

BOUNDS = {"low": 1e-3, "high": 1e6}


def test_finds_the_median_of_enough_people():
    norms = np.random.default_rng(0).lognormal(3, 0.3, 2001)
    found = [
        private_median(norms, 1.0, **BOUNDS, randomness=SeededRandomness(seed))
        for seed in range(20)
    ]
    assert np.abs(np.log(found) - np.log(np.median(norms))).max() < 0.05
    assert len(set(found)) > 1


def test_noise_is_of_the_scale_that_epsilon_needs(monkeypatch):
    asked = []

    def drawn(scale, shape, randomness):
        asked.append((scale, shape))
        return np.zeros(shape, np.int64)

    monkeypatch.setattr(clip, "discrete_laplace", drawn)
    assert private_median([3.0, 4.0, 5.0], 0.5, **BOUNDS) == pytest.approx(4, rel=1e-3)
    # A count changes by at most 1: each of the 16 answers spends 1/16 of epsilon.
    assert asked == [(Fraction(16, 1) / Fraction(1, 2), 16)]


def test_results_of_neighbours_are_as_likely_within_epsilon(monkeypatch):
    # Two answers instead of 16, so that there are four results only.
    monkeypatch.setattr(clip, "_STEPS", 2)
    randomness, draws = SeededRandomness(3), 4000

    def shares(values):
        found = Counter(
            round(private_median(values, 1.0, low=1.0, high=16.0, randomness=randomness), 6)
            for _ in range(draws)
        )
        return {result: count / draws for result, count in found.items()}

    # One person's number goes from one end to the other.
    one, two = shares([1.0] * 3 + [15.0] * 2), shares([1.0] * 2 + [15.0] * 3)
    assert len(one) == len(two) == 4
    ratios = [abs(np.log(one[result] / two[result])) for result in one]
    assert 0.75 < max(ratios) < 1.2


def test_stays_within_its_bounds():
    for values in ([1e-9] * 500, [1e12] * 500, [0.0] * 500, [np.inf] * 500):
        assert 1e-3 < private_median(values, 10.0, **BOUNDS) < 1e6


@pytest.mark.parametrize(
    ("values", "epsilon", "bounds", "told"),
    [
        ([1.0], 0.0, BOUNDS, "epsilon 0.0"),
        ([1.0], np.inf, BOUNDS, "epsilon inf"),
        ([1.0], 1.0, {"low": 0.0, "high": 1.0}, "bounds 0.0 to 1.0"),
        ([1.0], 1.0, {"low": 2.0, "high": 1.0}, "bounds 2.0 to 1.0"),
        ([np.nan], 1.0, BOUNDS, "NaN"),
    ],
)
def test_refusals(values, epsilon, bounds, told):
    with pytest.raises(UsageError, match=told):
        private_median(values, epsilon, **bounds)
