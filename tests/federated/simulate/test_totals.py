import numpy as np
import pytest
from scipy.stats import kstest, laplace, norm

from sordino.federated.adaptive import AdaptiveClip
from sordino.federated.regimes import Regime
from sordino.federated.simulate.totals import uploaded_sum
from sordino.privacy.randomness import SeededRandomness

D = 3000


def updates_of(n, d=D):
    return np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize("n", [1, 50])
def test_noise_of_all_at_once_is_like_that_of_each(mechanism, n):
    regime = Regime.local(D, 1.0, 2.0, mechanism=mechanism)
    updates = updates_of(n)
    clean = regime.before_noise(updates).sum(axis=0)
    together = uploaded_sum(regime, updates, SeededRandomness(1))[0] - clean
    apart = regime.protect(updates, SeededRandomness(2)).points.sum(axis=0) - clean
    expected = regime.noise_norm(1, reports=n) / np.sqrt(D) / regime.grid.step
    assert together.std() == pytest.approx(expected, rel=0.1)
    assert apart.std() == pytest.approx(expected, rel=0.1)
    if n == 1:
        law = norm if mechanism == "gaussian" else laplace
        scale = expected if mechanism == "gaussian" else expected / np.sqrt(2)
        assert kstest(together, law(scale=scale).cdf).pvalue > 1e-3
    else:
        assert kstest(together, apart).pvalue > 1e-3


def test_other_regimes_add_up_what_is_uploaded():
    rule = AdaptiveClip(bit_deviation=5.0)
    for regime in (
        Regime.unprotected(D, 60.0),
        Regime.central(D, 54.0, 1.0, adaptive=rule),
        Regime.central_local(D, 1.0, 1.0, 25.0),
    ):
        updates = updates_of(7)
        points, below = regime.protect(updates, SeededRandomness(3))
        total, signs = uploaded_sum(regime, updates, SeededRandomness(3))
        np.testing.assert_array_equal(total, points.sum(axis=0))
        assert signs == (0 if below is None else below.sum())


@pytest.mark.parametrize(
    "regime",
    [
        Regime.unprotected(D, 1.0),
        Regime.local(D, 1.0, 2.0),
        Regime.local(D, 1.0, 2.0, mechanism="laplace"),
    ],
    ids=lambda regime: f"{regime.name}-{regime.mechanism}",
)
def test_nobody_adds_nothing(regime):
    total, signs = uploaded_sum(regime, np.empty((0, D)), SeededRandomness(0))
    assert not total.any()
    assert signs == 0
