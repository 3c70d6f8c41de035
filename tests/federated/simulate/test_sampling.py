import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from sordino.errors import UsageError
from sordino.federated.simulate.sampling import Sampling
from sordino.privacy.randomness import SeededRandomness


def test_poisson_draws_each_user_for_itself():
    randomness = SeededRandomness(0)
    sizes, counts = [], np.zeros(400)
    for _ in range(800):
        chosen = Sampling("poisson", 80).draw(400, randomness)
        assert (np.diff(chosen) > 0).all()
        sizes.append(len(chosen))
        counts[chosen] += 1
    # The number of users is binomial; drawing with replacement or a fixed size would not be.
    assert np.mean(sizes) == pytest.approx(80, abs=1)
    assert np.var(sizes) == pytest.approx(80 * 0.8, rel=0.2)
    assert counts.var() == pytest.approx(800 * 0.2 * 0.8, rel=0.25)


def test_fixed_draws_as_many_of_all_with_the_same_chance():
    randomness = SeededRandomness(1)
    counts = np.zeros(12)
    for _ in range(3000):
        chosen = Sampling("fixed", 5).draw(12, randomness)
        assert len(set(chosen.tolist())) == 5
        counts[chosen] += 1
    assert chisquare(counts).pvalue > 1e-3


def test_blocks_of_a_large_population_are_as_one(monkeypatch):
    whole = Sampling("poisson", 100).draw(1000, SeededRandomness(2))
    monkeypatch.setattr("sordino.federated.simulate.sampling._BLOCK", 64)
    np.testing.assert_array_equal(Sampling("poisson", 100).draw(1000, SeededRandomness(2)), whole)
    assert kstest(whole / 1000, "uniform").pvalue > 1e-3


def test_everybody_may_be_asked():
    for name in ("poisson", "fixed"):
        assert len(Sampling(name, 7).draw(7, SeededRandomness(0))) == 7


def test_wrong_settings_are_refused():
    with pytest.raises(UsageError, match="not one of"):
        Sampling("check-in", 3)
    with pytest.raises(UsageError, match="at least 1"):
        Sampling("poisson", 0)
    with pytest.raises(UsageError, match="cannot be drawn"):
        Sampling("poisson", 4).draw(3, SeededRandomness(0))
