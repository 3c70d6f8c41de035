from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from sordino.errors import UsageError
from sordino.privacy.mechanisms.clip import clip_l1, clip_l2, unit_rows

CLIPS = [(clip_l1, 1), (clip_l2, 2)]
components = st.floats(-1e6, 1e6).map(lambda value: value if abs(value) > 1e-100 else 0.0)
rows = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=components)


@pytest.mark.parametrize(("clip", "order"), CLIPS)
@given(x=rows, bound=st.floats(1e-3, 1e3))
def test_the_papers_formula(
    clip: Callable[..., np.ndarray], order: int, x: np.ndarray, bound: float
) -> None:
    norms = np.linalg.norm(x, order, axis=1, keepdims=True)
    expected = x / np.maximum(1, norms / bound)
    assert np.allclose(clip(x, bound), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize(("clip", "order"), CLIPS)
def test_short_vectors_stay_bit_by_bit(clip: Callable[..., np.ndarray], order: int) -> None:
    x = np.random.default_rng(order).normal(size=(10, 64)) / 64
    before = x.copy()
    assert np.array_equal(clip(x, 1.0), x)
    assert clip(x, 1.0) is not x
    clip(x, 1e-3)
    assert np.array_equal(x, before)


@pytest.mark.parametrize(("clip", "order"), CLIPS)
def test_one_vector_and_other_types(clip: Callable[..., np.ndarray], order: int) -> None:
    whole = np.array([3, 0, -4])
    assert np.linalg.norm(clip(whole, 2.0), order) == pytest.approx(2.0)
    assert clip(whole.astype(np.float32), 2.0).dtype == np.float64
    assert clip(np.zeros((0, 5)), 2.0).shape == (0, 5)


@pytest.mark.parametrize(("clip", "order"), CLIPS)
@pytest.mark.parametrize("size", [1e308, 1e200, 1e-200, 5e-324])
def test_extreme_sizes(clip: Callable[..., np.ndarray], order: int, size: float) -> None:
    x = np.full((1, 100), size)
    clipped = clip(x, 1e-250)
    expected = min(1e-250, np.longdouble(size) * 100 ** (1 / order))
    assert np.sum((clipped.astype(np.longdouble) / 1e-260) ** order) ** (
        np.longdouble(1) / order
    ) == pytest.approx(expected / 1e-260, rel=1e-9)


@pytest.mark.parametrize(
    "function", [lambda x: clip_l1(x, 1.0), lambda x: clip_l2(x, 1.0), unit_rows]
)
def test_zero_stays_zero(function: Callable[..., np.ndarray]) -> None:
    assert np.array_equal(function(np.zeros((2, 3))), np.zeros((2, 3)))


@pytest.mark.parametrize(
    "function", [lambda x: clip_l1(x, 1.0), lambda x: clip_l2(x, 1.0), unit_rows]
)
@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([[1.0, math.nan]], "NaN"),
        ([[math.inf, 1.0]], "NaN or infinity"),
        ([["a", "b"]], "numbers"),
        ([[1j, 2]], "numbers"),
        ([[None, 1.0]], "numbers"),
        (1.0, "shape"),
        (np.zeros((1, 2, 3)), "shape"),
        (np.zeros((3, 0)), "shape"),
    ],
)
def test_what_is_no_vector_is_refused(
    function: Callable[..., np.ndarray], x: object, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        function(x)


@pytest.mark.parametrize("clip", [clip_l1, clip_l2])
@pytest.mark.parametrize("bound", [None, 0.0, -1.0, math.nan, math.inf, 1e-300])
def test_impossible_bounds_are_refused(clip: Callable[..., np.ndarray], bound: float) -> None:
    with pytest.raises(UsageError, match="clip"):
        clip([[1.0]], bound)


@given(rows)
def test_directions_have_length_1(x: np.ndarray) -> None:
    units = unit_rows(x)
    lengths = np.linalg.norm(units, axis=1)
    assert np.allclose(lengths[x.any(axis=1)], 1, atol=1e-12)
    sizes = np.abs(x).max(axis=1, keepdims=True)
    assert np.allclose(units * np.linalg.norm(x, axis=1, keepdims=True), x, atol=1e-9 * sizes)
