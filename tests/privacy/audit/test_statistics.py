from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import laplace, norm

from sordino.privacy.audit.statistics import (
    NO_BITS,
    laplace_ratio,
    learn,
    lowest_bits,
    projection,
    two_caps,
)

RNG = np.random.default_rng(5)


def test_laplace_ratio_is_the_log_ratio_of_the_densities():
    first, second = RNG.normal(size=(2, 4))
    second[1] = first[1]
    seen = 3 * RNG.normal(size=(20, 4))
    expected = laplace.logpdf(seen, first, 0.7) - laplace.logpdf(seen, second, 0.7)
    found = laplace_ratio(first, second, 0.7)(seen)
    np.testing.assert_allclose(found, expected.sum(axis=1), atol=1e-6)


def test_laplace_ratio_has_no_low_bits_of_its_own():
    beyond = 1 + RNG.random((1000, 1))
    assert np.unique(laplace_ratio([1.0], [-1.0], 0.3)(beyond)).size == 1


def test_projection_orders_as_the_gaussian_ratio_does():
    first, second = RNG.normal(size=(2, 4))
    seen = RNG.normal(size=(50, 4))
    ratio = (norm.logpdf(seen, first) - norm.logpdf(seen, second)).sum(axis=1)
    order = np.argsort(projection(first, second)(seen))
    assert (np.diff(ratio[order]) > 0).all()


def test_two_caps_counts_edges_as_inside():
    statistic = two_caps([1.0, 0.0], [-1.0, 0.0], 0.5)
    seen = np.array([[0.5, 9], [0.49, 9], [-0.5, 9]])
    assert statistic(seen).tolist() == [1, 0, -1]


def test_learnt_scores_separate_as_well_as_the_best_line():
    covariance = np.array([[2.0, 0.9, 0], [0.9, 1.0, 0.3], [0, 0.3, 0.5]])
    shift = np.array([0.5, -0.5, 0.2])
    noise = RNG.multivariate_normal(np.zeros(3), covariance, size=(2, 20_000))
    statistic = learn(noise[0] + shift, noise[1])
    fresh = RNG.multivariate_normal(np.zeros(3), covariance, size=20_000)
    gap = (statistic(fresh + shift) - statistic(fresh)).mean() / statistic(fresh).std()
    best = np.sqrt(shift @ np.linalg.solve(covariance, shift))
    assert gap == pytest.approx(best, rel=0.02)


def test_learning_survives_outputs_without_any_noise():
    first = np.ones((5, 2))
    statistic = learn(first, -first)
    assert statistic(first).min() > statistic(-first).max()


@given(st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False))
def test_lowest_bits_agree_with_exact_fractions(value):
    found = int(lowest_bits(value))
    if value == 0:
        assert found == NO_BITS
        return
    numerator, denominator = value.as_integer_ratio()
    numerator = abs(numerator)
    trailing = (numerator & -numerator).bit_length() - 1
    assert found == trailing - (denominator.bit_length() - 1)
