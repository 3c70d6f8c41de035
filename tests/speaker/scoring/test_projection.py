from __future__ import annotations

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.speaker.scoring.projection import Projection, fit_whitening

RNG = np.random.default_rng(7)
FIRST = Projection(RNG.normal(size=(6, 4)), RNG.normal(size=4))
SECOND = Projection(RNG.normal(size=(4, 4)), RNG.normal(size=4))
VECTORS = RNG.normal(size=(20, 6))


def test_two_maps_as_one():
    np.testing.assert_allclose(FIRST.then(SECOND)(VECTORS), SECOND(FIRST(VECTORS)), rtol=1e-10)


def test_centring_takes_the_mean_away():
    mean = VECTORS.mean(axis=0)
    centred = Projection.centred(mean, FIRST.matrix)(VECTORS)
    np.testing.assert_allclose(centred, (VECTORS - mean) @ FIRST.matrix, rtol=1e-10)


def test_float32_stays():
    assert FIRST(VECTORS.astype(np.float32)).dtype == np.float32


def test_what_does_not_fit_is_refused():
    with pytest.raises(UsageError, match="5 dimensions"):
        FIRST(VECTORS[:, :5])
    with pytest.raises(UsageError, match="the two projections"):
        FIRST.then(FIRST)
    with pytest.raises(UsageError, match="do not fit"):
        Projection(np.ones((2, 3)), np.ones(2))


def test_whitening_makes_the_covariance_the_identity():
    vectors = RNG.normal(size=(500, 6)) @ RNG.normal(size=(6, 6)) + 3
    white = fit_whitening(vectors, shrinkage=0.0)(vectors)
    np.testing.assert_allclose(white.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(np.cov(white.T, ddof=0), np.eye(6), atol=1e-9)


def test_whitening_works_with_more_dimensions_than_vectors():
    vectors = RNG.normal(size=(10, 50))
    white = fit_whitening(vectors)(vectors)
    assert np.isfinite(white).all()
    with pytest.raises(UsageError, match="singular"):
        fit_whitening(vectors, shrinkage=0.0)


def test_storing_and_loading():
    loaded = Projection.from_arrays(FIRST.to_arrays("x."), "x.")
    np.testing.assert_array_equal(loaded(VECTORS), FIRST(VECTORS))
    with pytest.raises(UsageError, match="'offset'"):
        Projection.from_arrays({**FIRST.to_arrays(), "offset": np.ones(3)})
