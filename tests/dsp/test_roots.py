from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from sordino.dsp import roots as module
from sordino.dsp.roots import polynomial_from_roots, polynomial_roots

PAIR = [0.3 + 0.4j, 0.3 - 0.4j]
FACTORS = {
    "one": [0.7],
    "two real": [0.5, -0.8],
    "a pair": PAIR,
    "a pair and one real": [*PAIR, -0.2],
    "a double real": [0.5, 0.5],
    "a double real among others": [0.5, 0.5, *PAIR, -0.9],
    "a double pair": [*PAIR, *PAIR],
    "zero": [0.0],
    "only zeros": [0.0, 0.0, 0.0],
    "zeros among others": [0.0, 0.0, *PAIR, 0.6],
    "opposite reals": [0.5, -0.5],
    "purely imaginary": [0.5j, -0.5j],
    "on a regular polygon": [0.8 * np.exp(2j * np.pi * k / 7) for k in range(7)],
    "on the unit circle": [1.0, -1.0, 1j, -1j],
    "just inside the circle": [0.9999 * np.exp(1j * a) for a in (0.01, -0.01, 3.1, -3.1)],
    "almost real": [0.9 * np.exp(1e-4j), 0.9 * np.exp(-1e-4j), 0.3],
}


def distance(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest distance in the best matching of two sets of roots."""
    gaps = np.abs(found[:, None] - expected[None, :])
    rows, columns = linear_sum_assignment(gaps)
    return float(gaps[rows, columns].max())


def assert_closed_under_conjugation(roots: np.ndarray) -> None:
    for column in roots.T:
        np.testing.assert_array_equal(
            np.sort_complex(column), np.sort_complex(column.conj()), strict=True
        )


def random_roots(rng: np.random.Generator, degree: int, count: int) -> np.ndarray:
    pairs = rng.integers(0, degree // 2 + 1)
    z = np.sqrt(rng.random((pairs, count))) * np.exp(1j * np.pi * rng.random((pairs, count)))
    real = rng.uniform(-1, 1, (degree - 2 * pairs, count))
    return np.concatenate([z, z.conj(), real]).astype(np.complex128)


def roots_apart(rng: np.random.Generator, degree: int, count: int) -> np.ndarray:
    """Pairs in angles of their own, as a predictor of speech has them."""
    pairs = degree // 2
    places = (np.arange(pairs)[:, None] + rng.uniform(0.2, 0.8, (pairs, count))) / max(1, pairs)
    z = rng.uniform(0.5, 0.99, places.shape) * np.exp(1j * np.pi * places)
    return np.concatenate([z, z.conj(), rng.uniform(-0.9, 0.9, (degree % 2, count))])


@pytest.mark.parametrize("name", FACTORS)
def test_known_factors(name: str) -> None:
    known = np.array(FACTORS[name], dtype=np.complex128)
    polynomial = np.real(np.poly(known)).reshape(-1, 1)
    found = polynomial_roots(polynomial)
    assert found.shape == (known.size, 1)
    assert distance(found[:, 0], known) < 1e-5
    np.testing.assert_allclose(polynomial_from_roots(found), polynomial, atol=1e-12)
    assert_closed_under_conjugation(found)


@pytest.mark.parametrize("name", ["two real", "a pair and one real", "zeros among others"])
def test_real_roots_have_no_imaginary_part(name: str) -> None:
    known = np.array(FACTORS[name], dtype=np.complex128)
    found = polynomial_roots(np.real(np.poly(known)).reshape(-1, 1))[:, 0]
    assert np.count_nonzero(found.imag == 0.0) == np.count_nonzero(known.imag == 0.0)


@pytest.mark.parametrize("degree", range(1, 25))
def test_roots_equal_those_of_numpy(degree: int) -> None:
    polynomials = polynomial_from_roots(roots_apart(np.random.default_rng(degree), degree, 100))
    found = polynomial_roots(polynomials)
    assert_closed_under_conjugation(found)
    for column, polynomial in enumerate(polynomials.T):
        assert distance(found[:, column], np.roots(polynomial)) < 1e-9


def test_roots_well_apart_are_found_by_deflation(monkeypatch: pytest.MonkeyPatch) -> None:
    polynomials = polynomial_from_roots(roots_apart(np.random.default_rng(0), 20, 500))
    monkeypatch.setattr(np.linalg, "eigvals", None)
    assert np.isfinite(polynomial_roots(polynomials)).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 24))
def test_roots_inside_the_circle_multiply_back(seed: int, degree: int) -> None:
    polynomials = polynomial_from_roots(random_roots(np.random.default_rng(seed), degree, 20))
    found = polynomial_roots(polynomials)
    assert_closed_under_conjugation(found)
    error = np.abs(polynomial_from_roots(found) - polynomials).max(axis=0)
    assert (error <= 1e-8 * np.abs(polynomials).max(axis=0)).all()


@pytest.mark.parametrize("spoilt", [0.0, np.nan])
def test_what_deflation_gets_wrong_is_solved_again(
    monkeypatch: pytest.MonkeyPatch, spoilt: float
) -> None:
    known = random_roots(np.random.default_rng(6), 9, 5)
    polynomials = polynomial_from_roots(known)
    rightly = module._roots_by_deflation

    def wrongly(coefficients: np.ndarray) -> np.ndarray:
        roots = rightly(coefficients)
        roots[:, [1, 3]] = spoilt
        return roots

    monkeypatch.setattr(module, "_roots_by_deflation", wrongly)
    found = polynomial_roots(polynomials)
    assert_closed_under_conjugation(found)
    for column in range(5):
        assert distance(found[:, column], known[:, column]) < 1e-7


def test_polynomials_of_one_call_do_not_depend_on_each_other() -> None:
    mixed = [[0.0] * 4, [0.5, 0.5, 0.5, 0.5], [*PAIR, *PAIR], [0.9, -0.9, *PAIR]]
    polynomials = polynomial_from_roots(np.array(mixed, dtype=np.complex128).T)
    together = polynomial_roots(polynomials)
    for column in range(4):
        alone = polynomial_roots(polynomials[:, column : column + 1])
        np.testing.assert_array_equal(together[:, column], alone[:, 0], strict=True)


def test_no_polynomials_have_no_roots() -> None:
    assert polynomial_roots(np.ones((5, 0))).shape == (4, 0)


@pytest.mark.parametrize("degree", [1, 2, 5, 20])
def test_product_of_factors_equals_numpy(degree: int) -> None:
    known = random_roots(np.random.default_rng(degree), degree, 7)
    expected = np.stack([np.real(np.poly(column)) for column in known.T], axis=1)
    np.testing.assert_allclose(polynomial_from_roots(known), expected, rtol=1e-10, atol=1e-12)
