from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_curve

from sordino.errors import UsageError
from sordino.evaluate.metrics.det import det_points

SCORES = st.lists(st.integers(-20, 20), min_size=1, max_size=40)


@given(SCORES, SCORES)
def test_short_lists_have_every_point_of_the_roc(targets, nontargets):
    scores = np.array([*targets, *nontargets], dtype=float)
    labels = np.arange(scores.size) < len(targets)
    alarms, hits, _ = roc_curve(labels, scores, drop_intermediate=False)
    wanted = set(zip(alarms.round(9).tolist(), (1 - hits).round(9).tolist(), strict=True))
    found = det_points(targets, nontargets)
    assert {(round(alarm, 9), round(miss, 9)) for alarm, miss in found} == wanted
    assert list(found) == sorted(found, key=lambda point: (point[0], -point[1]))
    assert (found[0], found[-1]) == ((0.0, 1.0), (1.0, 0.0))


@pytest.mark.parametrize("most", [5, 50, 200])
def test_long_lists_have_few_points(most):
    rng = np.random.default_rng(0)
    own, others = rng.standard_normal(3000) + 1, rng.standard_normal(20_000)
    found = det_points(own, others, most)
    assert most / 2 <= len(found) <= most
    assert (found[0], found[-1]) == ((0.0, 1.0), (1.0, 0.0))
    curve = {
        (round(float((others >= score).mean()), 9), round(float((own < score).mean()), 9))
        for score in np.concatenate([own, others[::50]])
    }
    shared = {(round(alarm, 9), round(miss, 9)) for alarm, miss in found} & curve
    assert len(shared) >= len(found) / 2 - 1


def test_nothing_has_no_curve():
    with pytest.raises(UsageError, match="no non-target scores"):
        det_points([1.0], [])
