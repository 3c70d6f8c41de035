from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp, kstest

from sordino.errors import UsageError
from sordino.privacy.exact import discrete_laplace
from sordino.privacy.mechanisms.clip import clip_l1
from sordino.privacy.mechanisms.laplace import Laplace
from sordino.privacy.randomness import SeededRandomness

PAPER = Laplace(clip=18.35, epsilon=15)


def test_the_papers_noise() -> None:
    assert PAPER.scale == pytest.approx(2.447, abs=5e-4)
    noise = PAPER.release(np.zeros((5000, 64)), SeededRandomness(1))
    assert np.abs(noise).sum(axis=1).mean() == pytest.approx(8.5 * 18.35, rel=0.01)


@given(st.floats(1e-6, 1e6), st.floats(2**-13, 1000))
def test_the_largest_likelihood_ratio_is_exactly_within_epsilon(
    clip: float, epsilon: float
) -> None:
    # Two vectors on the grid differ by at most twice the bound, in whole steps.
    mechanism = Laplace(clip=clip, epsilon=epsilon)
    assert 2 * mechanism.grid.bound / mechanism._steps == Fraction(epsilon)
    assert mechanism.epsilon == epsilon


def test_the_noise_is_that_of_the_exact_sampler() -> None:
    x = np.random.default_rng(1).normal(size=(7, 64))
    released = PAPER.release(x, SeededRandomness(2))
    noise = discrete_laplace(PAPER._steps, x.shape, SeededRandomness(2))
    steps = np.rint(clip_l1(x, 18.35) / PAPER.grid.step) + noise
    off = np.abs(released / PAPER.grid.step - steps).sum(axis=1)
    assert off.max() <= 64  # of 2 ** 31 steps: only where a norm was beyond the bound


def test_every_result_can_come_from_every_vector() -> None:
    # With noise in floats, low bits tell vectors apart.
    for x in (0.0, 1.0, math.pi):
        steps = PAPER.release(np.full((100, 2), x)) / PAPER.grid.step
        assert np.array_equal(steps, np.rint(steps))
        assert np.unique(steps % 2).size == 2


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 25.0, 100.0])
@pytest.mark.parametrize("dimension", [2, 3, 64])
def test_results_are_unbiased_with_the_stated_error(epsilon: float, dimension: int) -> None:
    x = np.full((100_000 // dimension, dimension), 0.5 / dimension)
    mechanism = Laplace(clip=1.0, epsilon=epsilon)
    errors = mechanism.release(x, SeededRandomness(3)) - x
    assert abs(errors.mean()) < 4 * errors.std() / math.sqrt(errors.size)
    assert kstest(errors.ravel() / mechanism.scale, "laplace").pvalue > 1e-3
    assert mechanism.mean_squared_error(dimension) == pytest.approx(
        2 * dimension * (2 / epsilon) ** 2, rel=1e-6
    )
    measured = np.square(errors).sum(axis=1).mean()
    # The variance of a squared Laplace number is 20 scale ** 4.
    deviation = math.sqrt(20 * errors.size) * mechanism.scale**2 / len(x)
    assert abs(measured - mechanism.mean_squared_error(dimension)) < 4 * deviation


def test_long_vectors_are_clipped() -> None:
    x = np.random.default_rng(2).normal(size=(4000, 2)) + np.array([300.0, 100.0])
    mechanism = Laplace(clip=1.0, epsilon=100.0)
    mean = mechanism.release(x, SeededRandomness(4)).mean(axis=0)
    assert np.allclose(mean, [0.75, 0.25], atol=5e-3)


def test_a_million_components() -> None:
    released = Laplace(clip=1.0, epsilon=25.0).release(np.ones((1, 10**6)), SeededRandomness(5))
    assert kstest(released.ravel() / 0.08, "laplace").pvalue > 1e-3


def test_one_vector_keeps_its_shape() -> None:
    assert PAPER.release(np.zeros(64)).shape == (64,)
    assert PAPER.release([1.0, 2.0]).shape == (2,)
    assert PAPER.release(np.zeros((0, 64))).shape == (0, 64)


def test_releases_differ() -> None:
    x = np.zeros((2, 64))
    released = PAPER.release(x)
    assert not np.array_equal(released[0], released[1])
    assert not np.array_equal(released, PAPER.release(x))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 1.0}, "clip None"),
        ({"clip": 1.0}, "epsilon None"),
        ({"clip": 0.0, "epsilon": 1.0}, "clip 0"),
        ({"clip": -1.0, "epsilon": 1.0}, "clip -1"),
        ({"clip": math.nan, "epsilon": 1.0}, "clip nan"),
        ({"clip": math.inf, "epsilon": 1.0}, "clip inf"),
        ({"clip": 1.0, "epsilon": 0.0}, "epsilon 0"),
        ({"clip": 1.0, "epsilon": -1.0}, "epsilon -1"),
        ({"clip": 1.0, "epsilon": 1e-5}, "epsilon 1e-05"),
        ({"clip": 1.0, "epsilon": math.nan}, "epsilon nan"),
        ({"clip": 1.0, "epsilon": math.inf}, "Unprotected"),
        ({"clip": 1.0, "epsilon": 1.0, "neighbours": "add-or-remove"}, "replace"),
    ],
)
def test_impossible_mechanisms_are_refused(arguments: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Laplace(**arguments)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_impossible_vectors_are_refused(bad: float) -> None:
    with pytest.raises(UsageError, match="NaN"):
        PAPER.release([[1.0, bad]])


def test_opendp_adds_the_same_noise_and_finds_the_same_epsilon() -> None:
    opendp = pytest.importorskip("opendp.prelude", reason="needs the extra opendp")
    opendp.enable_features("contrib")
    space = (
        opendp.vector_domain(opendp.atom_domain(T=float, nan=False)),
        opendp.l1_distance(T=float),
    )
    theirs = opendp.m.make_laplace(*space, scale=PAPER.scale)
    assert theirs.map(2 * 18.35) == pytest.approx(PAPER.epsilon, rel=1e-8)
    ours = PAPER.release(np.zeros((300, 64)), SeededRandomness(6))
    others = np.array([theirs([0.0] * 64) for _ in range(300)])
    assert ks_2samp(ours.ravel(), others.ravel()).pvalue > 1e-4


def test_opendp_makes_the_same_whole_numbers() -> None:
    opendp = pytest.importorskip("opendp.prelude", reason="needs the extra opendp")
    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.l1_distance(T="i64")
    theirs = np.array(opendp.m.make_laplace(*space, scale=2.5)([0] * 20_000))
    ours = discrete_laplace(Fraction(5, 2), 20_000, SeededRandomness(7))
    bins = np.arange(-12, 14) - 0.5
    counts = np.array(
        [np.histogram(np.clip(values, -12, 12), bins)[0] for values in (ours, theirs)]
    )
    statistic = (np.square(counts[0] - counts[1]) / counts.sum(axis=0)).sum()
    assert statistic < 60  # chi-square with 24 degrees of freedom: one in 10,000
