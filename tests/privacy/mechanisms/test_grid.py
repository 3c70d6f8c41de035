from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sordino.errors import UsageError
from sordino.privacy.mechanisms.clip import clip_l1, clip_l2
from sordino.privacy.mechanisms.grid import Grid

vectors = arrays(np.float64, (3, 5), elements=st.floats(-10, 10))
clips = st.floats(1e-3, 1e3)


@given(st.floats(1e-200, 1e200), st.integers(2, 40))
def test_the_bound_has_the_wanted_bits_and_is_no_more_than_the_clip(clip: float, bits: int) -> None:
    grid = Grid.for_clip(clip, bits)
    assert math.frexp(grid.step)[0] == 0.5
    assert grid.bound.bit_length() == bits
    assert grid.bound * grid.step <= clip < (grid.bound + 1) * grid.step


@given(vectors, clips, st.integers(4, 20))
def test_l1_norms_are_within_the_bound_and_points_near(
    x: np.ndarray, clip: float, bits: int
) -> None:
    grid, clipped = Grid.for_clip(clip, bits), clip_l1(x, clip)
    points = grid.l1(clipped)
    assert np.abs(points).sum(axis=1).max() <= grid.bound
    # Rounding, cutting the bound to whole steps, and shortening.
    assert np.abs(points - clipped / grid.step).sum(axis=1).max() <= 5 / 2 + 1 + 5 / 2 + 1


@given(vectors, clips, st.integers(4, 20))
def test_l2_norms_are_within_the_bound_and_points_near(
    x: np.ndarray, clip: float, bits: int
) -> None:
    grid, clipped = Grid.for_clip(clip, bits), clip_l2(x, clip)
    points = grid.l2(clipped)
    assert (points.astype(object) ** 2).sum(axis=1).max() <= grid.bound**2
    distances = np.linalg.norm(points - clipped / grid.step, axis=1)
    assert distances.max() <= math.sqrt(5) + 2


def test_vectors_well_inside_go_to_the_nearest_point() -> None:
    x = np.random.default_rng(1).uniform(-0.01, 0.01, (20, 64))
    grid = Grid.for_clip(1.0, 32)
    for points in (grid.l1(x), grid.l2(x)):
        assert np.abs(points * grid.step - x).max() <= grid.step / 2


@pytest.mark.parametrize("clip", [1.0, 0.7, 18.35])
def test_a_million_components_on_the_bound(clip: float) -> None:
    x = np.ones((1, 10**6))
    points = Grid.for_clip(clip, 32).l1(clip_l1(x, clip))
    assert np.abs(points).sum() == pytest.approx(2**32 * clip / 2 ** math.frexp(clip)[1], rel=5e-4)
    points = Grid.for_clip(clip, 26).l2(clip_l2(x, clip))
    assert np.linalg.norm(points) == pytest.approx(
        2**26 * clip / 2 ** math.frexp(clip)[1], rel=2e-5
    )


def test_vectors_beyond_the_bound_are_refused() -> None:
    grid = Grid.for_clip(1.0, 20)
    for within in (grid.l1, grid.l2):
        with pytest.raises(UsageError, match="not clipped"):
            within(np.array([[0.1, 0.1], [0.9, 0.9]]))


def test_too_many_components_for_the_grid_are_refused() -> None:
    with pytest.raises(UsageError, match="100 components"):
        Grid.for_clip(1.0, 5).l1(np.zeros((1, 100)))
