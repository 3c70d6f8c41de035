from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sordino.privacy.audit.law import (
    allowed_gap,
    gaussian_law,
    laplace_law,
    largest_gap,
    raised_law,
    sphere_law,
)

RNG = np.random.default_rng(2)


@pytest.mark.parametrize(
    ("law", "reference"),
    [
        (laplace_law(0.7), stats.laplace(scale=0.7)),
        (gaussian_law(1.3), stats.norm(scale=1.3)),
        (sphere_law(64), stats.beta(31.5, 31.5, loc=-1, scale=2)),
    ],
)
def test_laws_are_those_of_scipy(law, reference):
    places = np.linspace(-3, 3, 61)
    np.testing.assert_allclose(law(places), reference.cdf(places), rtol=1e-9, atol=1e-15)
    draws = reference.rvs(500, random_state=3)
    expected = stats.kstest(draws, reference.cdf).statistic
    assert largest_gap(draws, law) == pytest.approx(expected)


def test_the_sphere_law_is_that_of_normalised_gaussian_vectors():
    vectors = RNG.normal(size=(20_000, 5))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert largest_gap(vectors[:, 2], sphere_law(5)) < allowed_gap(20_000, 1e-6)
    assert largest_gap(vectors[:, 2], sphere_law(6)) > allowed_gap(20_000, 1e-6)


def test_the_gap_is_scipys_where_draws_are_on_the_wrong_side():
    draws = RNG.normal(1.0, size=300)
    expected = stats.kstest(draws, stats.norm.cdf).statistic
    assert largest_gap(-draws, gaussian_law(1.0)) == pytest.approx(expected, abs=0.01)


def test_the_gap_of_repeated_values_counts_them_once_each():
    uniform = sphere_law(3)
    assert largest_gap([0.0] * 10, uniform) == 0.5
    assert largest_gap([-1.0, 1.0], uniform) == 0.5


def test_slack_forgives_rounding_and_nothing_more():
    coarse = np.round(RNG.laplace(size=20_000) / 0.25) * 0.25
    law = laplace_law(1.0)
    assert largest_gap(coarse, law) > 0.05
    assert largest_gap(coarse, law, slack=0.125) < allowed_gap(20_000, 1e-6)
    assert largest_gap(coarse / 2, law, slack=0.125) > allowed_gap(20_000, 1e-6)


def test_the_allowed_gap_is_exceeded_as_rarely_as_stated():
    draws = RNG.random((4000, 50)) * 2 - 1
    exceeded = sum(largest_gap(row, sphere_law(3)) > allowed_gap(50, 0.05) for row in draws)
    # At the bound 200 are expected; the bound is nearly tight.
    assert 120 < exceeded < 245


def test_a_raised_law_is_that_of_its_mixture():
    base = stats.norm
    high, low = base.sf(0.8), base.cdf(0.8)
    inside = RNG.random(50_000) < 0.9
    share = RNG.random(50_000)
    draws = base.isf(np.where(inside, share * high, high + share * low))
    law = raised_law(gaussian_law(1.0), 0.8, 0.9)
    assert largest_gap(draws, law) < allowed_gap(50_000, 1e-6)
    assert law(np.array([0.8]))[0] == pytest.approx(0.1)


def test_a_raised_law_holds_in_caps_smaller_than_floats_resolve():
    law = raised_law(sphere_law(64), 0.95, 0.9)  # a cap of 1e-33
    assert law(np.array([0.95, 0.96, 1.0])) == pytest.approx([0.1, 0.9992, 1.0], abs=1e-3)
    assert (np.diff(law(np.linspace(0.95, 0.97, 100))) > 0).all()
