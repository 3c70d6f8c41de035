import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import roc_auc_score

from sordino.errors import UsageError
from sordino.federated.attacks.intervals import area_over_users, mean_over_users, share_of_users


@pytest.mark.parametrize("hits", [0, 3, 40])
def test_shares_have_exact_intervals(hits):
    found = share_of_users(np.arange(40)[None] < hits)
    exact = binomtest(hits, 40).proportion_ci(0.95, method="exact")
    assert found == pytest.approx((hits / 40, exact.low, exact.high), abs=1e-9)


def test_seeds_of_a_user_go_together():
    once = np.random.default_rng(0).normal(size=(1, 60))
    again = np.repeat(once, 50, axis=0)
    assert mean_over_users(again) == pytest.approx(mean_over_users(once))
    assert share_of_users(again > 0) == share_of_users(once > 0)


def test_means_cover_the_truth_as_often_as_they_should():
    rng = np.random.default_rng(1)
    found = [mean_over_users(rng.normal(size=(1, 50))) for _ in range(60)]
    inside = sum(one.low < 0 < one.high for one in found)
    assert 50 <= inside <= 60
    assert all(one.high - one.low < 1 for one in found)


def test_areas_are_means_over_seeds():
    rng = np.random.default_rng(2)
    members = rng.random((3, 50)) < 0.5
    scores = rng.normal(size=(3, 50)) + members
    found = area_over_users(scores, members)
    areas = [roc_auc_score(who, row) for row, who in zip(scores, members, strict=True)]
    assert found.value == pytest.approx(np.mean(areas))
    assert 0.5 < found.low < found.value < found.high < 1


def test_nobody_is_refused():
    with pytest.raises(UsageError, match="at least 1 user"):
        mean_over_users(np.zeros((1, 0)))
