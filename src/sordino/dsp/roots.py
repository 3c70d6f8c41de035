"""Roots of many real polynomials at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]
IntArray = npt.NDArray[np.int64]

# Iterations end at the origin's neighbours first; the other starts break the rare cycles.
_STARTS = (0.0, 0.9 * np.exp(0.7j), 0.9 * np.exp(2.1j))
_STEPS = 10
_CONVERGED = 1e-5
_REAL = 1e-9
_REBUILT = 1e-9


def polynomial_roots(coefficients: FloatArray) -> ComplexArray:
    """All roots of monic real polynomials, one polynomial per column.

    Laguerre's iteration from the origin finds one root of every polynomial at a time, which is
    divided out together with its conjugate. A polynomial whose roots do not multiply back to its
    coefficients is solved again through the eigenvalues of its companion matrix. Meant for roots
    inside the unit circle, where the divisions do not amplify rounding errors.

    Args:
        coefficients: shape (degree + 1, polynomials), highest power first, first row ones.

    Returns:
        Shape (degree, polynomials). Complex roots come in exact conjugate pairs; real roots have
        an imaginary part of exactly zero.

    Example:
        >>> roots = polynomial_roots(np.array([[1.0], [0.0], [0.25]]))
        >>> sorted(roots.ravel().imag.tolist())
        [-0.5, 0.5]

    Source: W. H. Press et al., Numerical Recipes, section 9.5 (Laguerre, deflation).
    """
    degree, count = coefficients.shape[0] - 1, coefficients.shape[1]
    roots = _roots_by_deflation(coefficients)
    error = np.abs(polynomial_from_roots(roots) - coefficients).max(axis=0)
    limit = _REBUILT * np.abs(coefficients).max(axis=0)
    wrong = np.flatnonzero(~(error <= limit))
    if wrong.size:
        companion = np.zeros((wrong.size, degree, degree))
        companion[:, 0] = -coefficients[1:, wrong].T
        below = np.arange(degree - 1)
        companion[:, below + 1, below] = 1.0
        roots[:, wrong] = np.linalg.eigvals(companion).astype(np.complex128).T
    return roots.reshape(degree, count)


def polynomial_from_roots(roots: ComplexArray) -> FloatArray:
    """Real coefficients of the monic polynomials with the given roots, one per column.

    Args:
        roots: shape (degree, polynomials), closed under conjugation in each column.

    Returns:
        Shape (degree + 1, polynomials), highest power first.

    Example:
        >>> polynomial_from_roots(np.array([[0.5j], [-0.5j]])).ravel().tolist()
        [1.0, 0.0, 0.25]
    """
    degree, count = roots.shape
    product = np.zeros((degree + 1, count), dtype=np.complex128)
    product[0] = 1.0
    for done, root in enumerate(roots):
        product[1 : done + 2] -= root * product[: done + 1]
    return np.ascontiguousarray(product.real)


def _roots_by_deflation(coefficients: FloatArray) -> ComplexArray:
    degree, count = coefficients.shape[0] - 1, coefficients.shape[1]
    roots = np.zeros((degree, count), dtype=np.complex128)
    # Quotients keep their constant term in the last row; leading rows fill up with zeros.
    poly = coefficients.copy()
    left = np.full(count, degree)
    column = np.arange(count)
    while column.size:
        poly = poly[poly.shape[0] - 1 - int(left.max()) :]
        root = _laguerre(poly, left)
        real = (np.abs(root.imag) <= _REAL * np.abs(root)) | (left == 1)
        root.imag[real] = 0.0
        roots[left - 1, column] = root
        roots[left[~real] - 2, column[~real]] = root[~real].conj()
        left = left - np.where(real, 1, 2)
        poly = _deflate(poly, root, real, left)
        unfinished = left > 0
        if not unfinished.all():
            poly, left, column = poly[:, unfinished], left[unfinished], column[unfinished]
    return roots


def _laguerre(poly: FloatArray, degree: IntArray) -> ComplexArray:
    root = np.zeros(degree.size, dtype=np.complex128)
    active = np.arange(degree.size)
    for start in _STARTS:
        root[active] = start
        for _ in range(_STEPS):
            z = root[active]
            step = _laguerre_step(_taylor(poly, z), degree[active])
            root[active] = z - step
            moving = np.abs(step) > _CONVERGED * np.abs(z)
            if not moving.all():
                active, poly = active[moving], poly[:, moving]
            if not active.size:
                return root
    return root


def _laguerre_step(taylor: ComplexArray, degree: IntArray) -> ComplexArray:
    value, first, half_second = taylor
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope = first / value
        square = slope * slope
        curve = square - 2.0 * half_second / value
        spread = np.sqrt((degree - 1) * (degree * curve - square))
        opposed = slope.real * spread.real + slope.imag * spread.imag < 0
        step: ComplexArray = degree / (slope + np.where(opposed, -spread, spread))
    step[~np.isfinite(step)] = 0.0
    return step


def _taylor(poly: FloatArray, z: ComplexArray) -> ComplexArray:
    # Horner's scheme for p, p' and p''/2 in one array: each row takes in the one above it.
    old = np.zeros((3, z.size), dtype=np.complex128)
    new = np.empty_like(old)
    old[0] = poly[0]
    for row in poly[1:]:
        np.multiply(old, z, out=new)
        new[1:] += old[:-1]
        new[0] += row
        old, new = new, old
    return old


def _deflate(
    poly: FloatArray, root: ComplexArray, real: npt.NDArray[np.bool_], degree: IntArray
) -> FloatArray:
    # Divide by z^2 - t z + s, or by z - t, from the highest power down: with roots inside the
    # unit circle rounding errors die away in this direction.
    t = np.where(real, root.real, 2.0 * root.real)
    s = np.where(real, 0.0, root.real**2 + root.imag**2)
    quotient = np.empty_like(poly)
    quotient[0] = poly[0]
    if poly.shape[0] > 1:
        quotient[1] = poly[1] + t * quotient[0]
    for row in range(2, poly.shape[0]):
        quotient[row] = poly[row] + t * quotient[row - 1] - s * quotient[row - 2]
    shifted = np.zeros_like(poly)
    shifted[1:] = quotient[:-1]
    shifted[2:, ~real] = quotient[:-2, ~real]
    shifted[np.arange(poly.shape[0])[:, None] < poly.shape[0] - 1 - degree] = 0.0
    return shifted
