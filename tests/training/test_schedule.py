from __future__ import annotations

import numpy as np
import pytest

from sordino.training.schedule import warm_cosine


def test_rises_in_a_straight_line():
    shares = [warm_cosine(step, warmup=10, steps=100) for step in range(10)]
    assert np.allclose(shares, np.arange(1, 11) / 10)


def test_falls_as_half_a_cosine():
    steps = np.arange(10, 101)
    shares = [warm_cosine(int(step), warmup=10, steps=100) for step in steps]
    assert np.allclose(shares, np.cos(np.linspace(0, np.pi / 2, 91)) ** 2)


def test_is_nothing_after_the_run():
    assert warm_cosine(500, warmup=10, steps=100) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize(("warmup", "steps"), [(0, 1), (0, 10), (5, 5), (20, 10)])
def test_short_runs_stay_in_range(warmup, steps):
    shares = [warm_cosine(step, warmup=warmup, steps=steps) for step in range(steps)]
    assert 0 < min(shares) <= max(shares) <= 1
