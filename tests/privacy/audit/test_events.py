from __future__ import annotations

import numpy as np

from sordino.privacy.audit.bounds import gaussian_bound, pure_bound
from sordino.privacy.audit.events import best_event


def test_the_event_lies_where_the_ratio_is_largest():
    rng = np.random.default_rng(0)
    # Only above 3 do the inputs differ, by a factor of 20.
    common = rng.uniform(0, 3, size=(2, 10_000))
    common[0, :2000] = rng.uniform(3, 4, size=2000)
    common[1, :100] = rng.uniform(3, 4, size=100)
    event = best_event((common[0], common[1]), pure_bound, 0.01)
    assert event.above
    assert event.favours == 0
    assert 2.9 < event.threshold < 3.6


def test_an_event_below_that_favours_the_second_input_is_found():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 5000))
    second[:500] -= 10
    event = best_event((first, second), pure_bound, 0.01)
    assert not event.above
    assert event.favours == 1
    assert event.hits(second) > 50 * max(1, event.hits(first)) or event.hits(first) == 0


def test_the_threshold_belongs_to_its_event():
    scores = np.array([1.0] * 50), np.array([0.0] * 50)
    event = best_event(scores, pure_bound, 0.01)
    assert {event.hits(scores[0]), event.hits(scores[1])} == {0, 50}


def test_equal_scores_give_some_event():
    scores = np.zeros(30), np.zeros(30)
    assert best_event(scores, gaussian_bound(1e-5), 0.01).hits(scores[0]) == 30
