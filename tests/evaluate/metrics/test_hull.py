from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.evaluate.metrics.eer import equal_error_rate_convex_hull, min_dcf
from sordino.evaluate.metrics.hull import hull_detection_cost, hull_equal_error_rate
from sordino.evaluate.metrics.pav import WeightedCalibration, optimal_calibration

SCORES = st.lists(st.integers(0, 12), min_size=1, max_size=30)


@given(SCORES, SCORES)
def test_rate_and_cost_are_those_of_the_whole_roc(targets, nontargets):
    steps = optimal_calibration(targets, nontargets)
    wanted = equal_error_rate_convex_hull(targets, nontargets).rate
    assert hull_equal_error_rate(steps) == pytest.approx(wanted, abs=1e-12)
    for p_target in (0.01, 0.5, 0.9):
        wanted = min_dcf(targets, nontargets, p_target=p_target).cost
        assert hull_detection_cost(steps, p_target=p_target) == pytest.approx(wanted, abs=1e-12)


def test_costs_weigh():
    rng = np.random.default_rng(0)
    own, others = rng.standard_normal(300) + 1, rng.standard_normal(500)
    costs = {"p_target": 0.2, "c_miss": 3.0, "c_fa": 0.5}
    found = hull_detection_cost(optimal_calibration(own, others), **costs)
    assert found == pytest.approx(min_dcf(own, others, **costs).cost, abs=1e-12)


def test_weighted_steps_give_the_figures_of_copied_trials():
    rng = np.random.default_rng(0)
    is_target = np.arange(200) < 60
    scores = (rng.standard_normal(200) + is_target).round(1)
    weights = rng.integers(0, 4, 200)
    steps = WeightedCalibration(scores, is_target)(weights)
    own, others = (np.repeat(scores[kind], weights[kind]) for kind in (is_target, ~is_target))
    wanted = equal_error_rate_convex_hull(own, others).rate
    assert hull_equal_error_rate(steps) == pytest.approx(wanted, abs=1e-12)
    assert hull_detection_cost(steps) == pytest.approx(min_dcf(own, others).cost, abs=1e-12)
