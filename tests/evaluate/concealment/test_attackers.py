from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from sordino.errors import UsageError
from sordino.evaluate.attributes.learners import LEARNERS
from sordino.evaluate.concealment.attackers import ATTACKERS, PAPER, SWEEP
from sordino.evaluate.concealment.settings import Settings


def test_the_papers_classifier_has_two_layers_and_comes_near_the_best_possible():
    rng = np.random.default_rng(0)
    labels = np.arange(4000) % 2
    vectors = rng.normal(0, 1, (4000, 8))
    vectors[:, 3] += 1.5 * labels
    fitted = ATTACKERS[PAPER].fit(vectors[:2000], labels[:2000], 2, seed=0)
    network = fitted.model[-1]
    assert [weights.shape for weights in network.coefs_] == [(8, 100), (100, 1)]
    assert (network.learning_rate_init, network.batch_size, network.alpha) == (1e-3, 128, 0.0)
    best = norm.cdf(1.5 / np.sqrt(2))
    found = roc_auc_score(labels[2000:], np.diff(fitted.scores(vectors[2000:]))[:, 0])
    assert best - 0.04 < found < best + 0.02


def test_all_known_attackers_take_part():
    assert set(LEARNERS) < set(ATTACKERS)
    assert set(SWEEP) < set(ATTACKERS)
    assert Settings().attackers[0] == PAPER


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"attackers": ("oracle",)}, "no attacker 'oracle'; there are: paper-classifier"),
        ({"sweep_attackers": ()}, "there is no attacker"),
        ({"copies": 0}, "at least 1 release"),
        ({"folds": 1}, "1 folds are too few"),
        ({"draws": 99}, "100 draws"),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(UsageError, match=message):
        Settings(**settings)
