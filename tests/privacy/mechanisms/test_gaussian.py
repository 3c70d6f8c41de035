from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp, kstest

from sordino.errors import UsageError
from sordino.privacy.mechanisms.calibration import gaussian_delta, gaussian_noise_multiplier
from sordino.privacy.mechanisms.gaussian import Gaussian
from sordino.privacy.randomness import SeededRandomness

# Dimension, epsilon, and the mean squared error at a delta of 1e-6 and a clip of 1.
REFERENCE = [
    (64, 2, 1274),
    (64, 8, 109.1),
    (64, 25, 17.3),
    (1000, 4, 5698),
    (1000, 25, 270.9),
    (10_000, 8, 17053),
    (10_000, 25, 2709),
    (100_000, 25, 27090),
]


def discrete(variance: float, shift: int = 0) -> np.ndarray:
    """Probabilities of the numbers from -400 to 400."""
    numbers = np.arange(-400, 401) - shift
    weights = np.exp(-np.square(numbers) / (2 * variance))
    return weights / weights.sum()


@pytest.mark.parametrize(("dimension", "epsilon", "expected"), REFERENCE)
def test_reference_values(dimension: int, epsilon: float, expected: float) -> None:
    mechanism = Gaussian(clip=1.0, epsilon=epsilon, delta=1e-6)
    last_digit = 10.0 ** -(len(str(expected).partition(".")[2]) if expected % 1 else 0)
    assert mechanism.mean_squared_error(dimension) == pytest.approx(
        expected, rel=1e-3, abs=last_digit / 2
    )


def test_rounding_continuous_noise_makes_the_discrete() -> None:
    # What the guarantee on the grid rests on, by a sum over a fine grid of the continuous noise.
    x = np.arange(-100, 100, 1 / 64)
    density = np.exp(-np.square(x) / (2 * 9)) / math.sqrt(2 * math.pi * 9) / 64
    numbers = np.arange(-400, 401)[:, None]
    rounding = np.exp(-np.square(numbers - x) / (2 * 4))
    rounded = (rounding / rounding.sum(axis=0)) @ density
    assert np.abs(rounded - discrete(9 + 4)).max() < 1e-12


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("sensitivity", [1, 4, 20])
def test_on_a_coarse_grid_delta_is_within_what_is_stated(epsilon: float, sensitivity: int) -> None:
    delta = 1e-5
    variance = (gaussian_noise_multiplier(epsilon, delta) * sensitivity) ** 2 + 4
    first, second = discrete(variance), discrete(variance, sensitivity)
    assert np.maximum(0, first - math.exp(epsilon) * second).sum() <= delta


@given(st.floats(1e-6, 1e6), st.floats(0.01, 100), st.floats(1e-9, 1e-2))
def test_the_noise_is_enough_for_the_bound_on_the_grid(
    clip: float, epsilon: float, delta: float
) -> None:
    mechanism = Gaussian(clip=clip, epsilon=epsilon, delta=delta)
    multiplier = gaussian_noise_multiplier(epsilon, delta)
    assert gaussian_delta(epsilon, multiplier) <= delta
    needed = Fraction(multiplier) * 2 * mechanism.grid.bound
    assert mechanism._variance == needed**2 + 4
    assert mechanism.epsilon == epsilon
    assert mechanism.delta == delta


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 25.0, 100.0])
@pytest.mark.parametrize("dimension", [2, 3, 64])
def test_results_are_unbiased_with_the_stated_error(epsilon: float, dimension: int) -> None:
    x = np.full((50_000 // dimension, dimension), 0.5 / dimension)
    mechanism = Gaussian(clip=1.0, epsilon=epsilon, delta=1e-6)
    errors = mechanism.release(x, SeededRandomness(3)) - x
    assert abs(errors.mean()) < 4 * errors.std() / math.sqrt(errors.size)
    assert kstest(errors.ravel() / mechanism.standard_deviation, "norm").pvalue > 1e-3
    measured, stated = np.square(errors).sum(axis=1).mean(), mechanism.mean_squared_error(dimension)
    assert abs(measured / stated - 1) < 4 * math.sqrt(2 / errors.size)


def test_long_vectors_are_clipped_and_results_lie_on_the_grid() -> None:
    x = np.random.default_rng(2).normal(size=(4000, 2)) + np.array([300.0, 400.0])
    mechanism = Gaussian(clip=1.0, epsilon=100.0, delta=1e-5)
    released = mechanism.release(x, SeededRandomness(4))
    assert np.allclose(released.mean(axis=0), [0.6, 0.8], atol=0.01)
    steps = released / mechanism.grid.step
    assert np.array_equal(steps, np.rint(steps))


def test_a_million_components() -> None:
    mechanism = Gaussian(clip=1.0, epsilon=25.0, delta=1e-6)
    released = mechanism.release(np.ones((1, 10**6)), SeededRandomness(5))
    errors = (released.ravel() - 1e-3) / mechanism.standard_deviation
    assert kstest(errors, "norm").pvalue > 1e-3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 1.0, "delta": 1e-6}, "clip None"),
        ({"clip": 1.0, "delta": 1e-6}, "epsilon None"),
        ({"clip": 1.0, "epsilon": 1.0}, "delta None"),
        ({"clip": 1.0, "epsilon": 1.0, "delta": 0.0}, "delta 0"),
        ({"clip": 1.0, "epsilon": 1.0, "delta": 1.0}, "delta 1"),
        ({"clip": 1.0, "epsilon": 1.0, "delta": math.nan}, "delta nan"),
        ({"clip": -1.0, "epsilon": 1.0, "delta": 1e-6}, "clip -1"),
        ({"clip": 1.0, "epsilon": math.inf, "delta": 1e-6}, "Unprotected"),
        ({"clip": 1.0, "epsilon": 1.0, "delta": 1e-6, "neighbours": "add"}, "replace"),
    ],
)
def test_impossible_mechanisms_are_refused(arguments: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Gaussian(**arguments)


def test_opendp_adds_the_same_noise() -> None:
    opendp = pytest.importorskip("opendp.prelude", reason="needs the extra opendp")
    opendp.enable_features("contrib")
    mechanism = Gaussian(clip=1.0, epsilon=8.0, delta=1e-6)
    space = (
        opendp.vector_domain(opendp.atom_domain(T=float, nan=False)),
        opendp.l2_distance(T=float),
    )
    theirs = opendp.m.make_gaussian(*space, scale=mechanism.standard_deviation)
    ours = mechanism.release(np.zeros((300, 64)), SeededRandomness(6))
    others = np.array([theirs([0.0] * 64) for _ in range(300)])
    assert ks_2samp(ours.ravel(), others.ravel()).pvalue > 1e-4
    # Their bound goes through concentrated privacy: never below the analytic one, and near it.
    approximate = opendp.c.make_zCDP_to_approxDP(theirs)
    assert 8.0 < approximate.map(2.0).epsilon(1e-6) < 9.0
