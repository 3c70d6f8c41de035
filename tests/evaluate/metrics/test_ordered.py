from __future__ import annotations

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.evaluate.metrics.ordered import OrderedTrials


def test_weights_follow_their_trials():
    rng = np.random.default_rng(0)
    scores, labels = rng.integers(0, 9, 200).astype(float), rng.random(200) < 0.3
    weights = rng.integers(0, 5, 200)
    trials = OrderedTrials(scores, labels)
    found = trials.split(weights)
    for ordered, part, kind in (
        (trials.targets, found[0], labels),
        (trials.nontargets, found[1], ~labels),
    ):
        assert (np.diff(ordered) >= 0).all()
        for value in range(9):
            assert part[ordered == value].sum() == weights[kind & (scores == value)].sum()


def test_labels_must_fit_the_scores():
    with pytest.raises(UsageError, match=r"expected bool of shape \(2,\)"):
        OrderedTrials(np.zeros(2), np.array([True]))
    with pytest.raises(UsageError, match="the labels are int64"):
        OrderedTrials(np.zeros(2), np.array([1, 0], dtype=np.int64))
    with pytest.raises(UsageError, match="there are no non-target scores"):
        OrderedTrials(np.zeros(2), np.array([True, True]))
