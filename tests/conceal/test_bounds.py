from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq

from sordino.conceal.bounds import auc_at_most, eer_at_least


def curve(epsilon: float, delta: float):
    """The best true-positive rate at a false-positive rate, from the definition."""

    def best(rate: float) -> float:
        return min(1.0, np.exp(epsilon) * rate + delta, 1 - np.exp(-epsilon) * (1 - delta - rate))

    return best


@given(epsilon=st.floats(0.01, 12), delta=st.sampled_from([0.0, 1e-6, 0.1, 0.7]))
def test_both_follow_from_the_curve(epsilon, delta):
    best = curve(epsilon, delta)
    crossing = brentq(lambda rate: 1 - best(rate) - rate, 0, 1)
    assert eer_at_least(epsilon, delta) == pytest.approx(crossing, abs=1e-9)
    area, _ = quad(best, 0, 1, points=sorted({crossing, 1 - delta}), epsabs=1e-10, limit=200)
    assert auc_at_most(epsilon, delta) == pytest.approx(area, abs=1e-8)


def test_reference_values():
    rates = [eer_at_least(epsilon) for epsilon in (0.2, 1, 2, 3, 4)]
    assert rates == pytest.approx([0.45, 0.269, 0.119, 0.047, 0.018], abs=6e-4)
    areas = [auc_at_most(epsilon) for epsilon in (0.2, 1, 2, 3, 4)]
    assert areas == pytest.approx([0.55, 0.731, 0.881, 0.953, 0.982], abs=6e-4)
    assert (auc_at_most(np.inf), eer_at_least(np.inf)) == (1, 0)
