from __future__ import annotations

import math

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.privacy.mechanisms.vectors import PrivVector
from sordino.privacy.randomness import SeededRandomness


@pytest.mark.parametrize("length_epsilon", [0.0, 3.0])
@pytest.mark.parametrize("norm", [0.0, 0.5, 1.8, 2.0])
def test_releases_are_unbiased_with_the_stated_error(length_epsilon: float, norm: float) -> None:
    mechanism = PrivVector(dimension=8, epsilon=10.0, clip=2.0, length_epsilon=length_epsilon)
    vector = norm * np.array([0.6, -0.8, 0, 0, 0, 0, 0, 0])
    released = mechanism.release(np.tile(vector, (30_000, 1)), SeededRandomness(1))
    error = released.std(axis=0) / math.sqrt(len(released))
    assert (np.abs(released.mean(axis=0) - vector) < 4.5 * error).all()
    squares = np.square(released - vector).sum(axis=1)
    slack = 4.5 * squares.std() / math.sqrt(len(squares)) + 1e-6
    assert abs(squares.mean() - mechanism.mean_squared_error(norm)) < slack


def test_signs_cost_c_over_m() -> None:
    mechanism = PrivVector(dimension=64, epsilon=8.0, clip=2.0)
    for norm in (0.0, 1.0, 2.0):
        expected = 4 * (7.952 + 1) - norm**2
        assert mechanism.mean_squared_error(norm) == pytest.approx(expected, rel=1e-4)


def test_the_best_way_to_tell_the_length() -> None:
    for epsilon, norm in [(8.0, 2.0), (15.0, 2.0), (2.0, 0.2)]:
        assert PrivVector.best(64, epsilon, clip=2.0, norm=norm).length_epsilon == 0
    best = PrivVector.best(64, 15.0, clip=2.0, norm=0.2)
    assert 0 < best.length_epsilon < 15
    signs = PrivVector(64, 15.0, clip=2.0)
    assert best.mean_squared_error(0.2) < 0.3 * signs.mean_squared_error(0.2)
    assert best.epsilon == 15


def test_long_vectors_are_shortened() -> None:
    for length_epsilon in (0.0, 4.0):
        mechanism = PrivVector(4, 20.0, 2.0, length_epsilon)
        both = [mechanism.release([[size, 0, 0, 0]], SeededRandomness(2)) for size in (2.0, 1e300)]
        assert np.allclose(*both)


def test_epsilon_is_split_and_stated() -> None:
    statement = PrivVector(64, 15.0, 2.0, 4.0).statement()
    assert statement["epsilon"] == 15.0
    assert statement["length_epsilon"] == 4.0
    assert statement["clip"] == 2.0


@pytest.mark.parametrize(
    "arguments",
    [
        {"epsilon": 1.0, "clip": 1.0},
        {"dimension": 4, "clip": 1.0},
        {"dimension": 4, "epsilon": 1.0},
        {"dimension": 4, "epsilon": 1.0, "clip": 1.0, "length_epsilon": 1.0},
        {"dimension": 4, "epsilon": 1.0, "clip": 1.0, "length_epsilon": -0.5},
        {"dimension": 4, "epsilon": 1.0, "clip": 1.0, "length_epsilon": math.nan},
    ],
)
def test_impossible_mechanisms_are_refused(arguments: dict) -> None:
    with pytest.raises(UsageError, match=r"dimension|epsilon|clip"):
        PrivVector(**arguments)
