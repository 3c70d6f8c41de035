from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from sordino.errors import UsageError
from sordino.privacy.audit.bounds import approximate_bound
from sordino.privacy.audit.pair import lower_bound
from sordino.privacy.audit.statistics import laplace_ratio
from tests.privacy.audit import toys


def test_the_bound_exceeds_the_truth_as_rarely_as_stated():
    # One component: the outcome "beyond the input" spends all of epsilon, so the bound is tight.
    release = toys.laplace(1.0, 0)
    statistic = laplace_ratio([1.0], [-1.0], 1.0)
    found = [
        lower_bound(release, [1.0], [-1.0], statistic, claimed=2.0, trials=400, false_alarm=0.1)
        for _ in range(300)
    ]
    alarms = sum(not finding.holds for finding in found)
    assert alarms <= binom.isf(1e-6, 300, 0.1)
    assert max(finding.measured for finding in found) > 1.7


def test_the_bound_approaches_epsilon_with_trials():
    statistic = laplace_ratio([1.0], [-1.0], 1.0)
    found = lower_bound(toys.laplace(1.0, 1), [1.0], [-1.0], statistic, claimed=2.0, trials=400_000)
    assert 1.93 < found.measured <= 2.0


def test_a_learnt_score_finds_noise_that_components_share():
    # Each component alone is as noisy as it should be, and their difference has no noise.
    release = toys.laplace(1.0, 2, shared=True)
    found = lower_bound(release, [0.5, -0.5], [-0.5, 0.5], claimed=2.0, trials=2000)
    assert found.measured > 0.98 * found.reach
    assert not found.holds
    alone = toys.laplace(1.0, 2)
    assert lower_bound(alone, [0.5, -0.5], [-0.5, 0.5], claimed=2.0, trials=2000).holds


def test_delta_forgives_a_rare_disclosure():
    def release(x):
        rng = np.random.default_rng(3)
        told = rng.random((len(x), 1)) < 0.05
        return np.where(told, 100 * x, rng.normal(size=x.shape) > 0)

    strict = lower_bound(release, [1.0], [-1.0], claimed=0.5, trials=4000)
    assert strict.measured > 2
    bound = approximate_bound(0.06)
    assert lower_bound(release, [1.0], [-1.0], claimed=0.5, trials=4000, bound=bound).measured == 0


def test_a_release_without_noise_shows_all_that_can_be_shown():
    found = lower_bound(np.copy, [1.0, 2.0], [1.0, 3.0], claimed=3.0, trials=1000)
    assert found.measured == found.reach
    assert found.reach == pytest.approx(4.18, abs=0.01)


def test_releases_that_are_not_finite_are_refused():
    with pytest.raises(UsageError, match="NaN"):
        lower_bound(lambda x: np.where(x > 1, np.nan, x), [1.0], [2.0], claimed=1.0)


def test_blocks_are_released_until_all_trials_are_made():
    sizes = []

    def release(x):
        sizes.append(len(x))
        return x

    lower_bound(release, [1.0], [0.0], claimed=1.0, trials=40_001)
    assert sum(sizes) == 2 * 40_001
    assert max(sizes) <= 2**14


@pytest.mark.parametrize(
    ("first", "second", "trials"), [([1.0], [1.0, 2.0], 100), (1.0, 2.0, 100), ([1.0], [2.0], 19)]
)
def test_inputs_that_cannot_be_audited_are_refused(first, second, trials):
    with pytest.raises(UsageError):
        lower_bound(np.copy, first, second, claimed=1.0, trials=trials)
