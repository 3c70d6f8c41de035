import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("torch", reason="extra train")
pytest.importorskip("dp_accounting", reason="extra federated")

from sordino.errors import UsageError
from sordino.federated.adaptive import AdaptiveClip
from sordino.federated.attacks.canaries import (
    Canaries,
    canaries,
    canary_finding,
    rounds_for,
)
from sordino.federated.populations.synthetic import SyntheticPopulation
from sordino.federated.regimes import Protected, Regime
from sordino.federated.simulate.run import Plan
from sordino.federated.simulate.sampling import Sampling
from sordino.federated.task import ClassifierTask
from sordino.privacy.audit.bounds import gaussian_epsilon
from sordino.privacy.exact import discrete_gaussian

POPULATION = SyntheticPopulation(200, inputs=20, classes=3)
TASK = ClassifierTask(20, POPULATION.classes, (10,))
D = TASK.dimension
PLAN = Plan(Sampling("poisson", 20), rounds=30)
Z = 1.2
CLAIM = (Z, 0.1, 30, 1e-5)


def tried(regime, claim=CLAIM, seed=0):
    seen = canaries(POPULATION, TASK, regime, PLAN, count=400, rounds=rounds_for(Z), seed=seed)
    return seen, canary_finding(seen, *claim)


@pytest.mark.parametrize(
    "regime", [Regime.central(D, 0.3, Z), Regime.central_local(D, 0.3, Z, 20.0)]
)
def test_what_is_claimed_holds_and_canaries_come_near_to_it(regime):
    seen, found = tried(regime)
    assert found.holds
    assert not found.blind
    assert found.measured > found.limit / 2
    assert seen.distance == pytest.approx(math.sqrt(seen.rounds) / Z, rel=0.15)
    assert seen.inside.mean() == pytest.approx(seen.rounds, rel=0.15)
    assert abs(seen.outside.mean()) < 0.3
    assert seen.cosine_inside.mean() > seen.cosine_outside.mean() + 0.02


@pytest.mark.parametrize(
    "regime", [Regime.central(D, 0.3, Z / 2), Regime.central_local(D, 0.3, Z / 2, 20.0)]
)
def test_half_the_noise_is_caught(regime):
    assert not tried(regime)[1].holds


def test_a_missing_clip_is_caught():
    class Unclipped(Regime):
        def protect(self, updates, randomness):
            return Protected(np.rint(np.asarray(updates) / self.grid.step).astype(np.int64), None)

    assert not tried(Unclipped("central", D, 0.3, Z))[1].holds


def test_noise_for_the_clip_after_privunit_is_caught():
    @dataclass(frozen=True)
    class ForTheClip(Regime):
        def noise(self, randomness):
            deviation = Fraction(self.noise_multiplier * self.clip / self.grid.step)
            return discrete_gaussian(deviation**2, self.dimension, randomness)

    sound = Regime.central_local(D, 0.3, Z, 20.0)
    assert not tried(ForTheClip.from_terms(sound.terms()))[1].holds


def test_the_epsilon_is_that_of_the_distance_that_counts_prove():
    # In full participation all rounds together are one release of Gaussian noise.
    rng = np.random.default_rng(0)
    mu, rounds = 1.5, 4
    side = rng.normal(size=(2, 200_000)) * rounds / mu
    seen = Canaries(side[0] + rounds, side[1], side[0], side[1], rounds)
    found = canary_finding(seen, math.sqrt(rounds) / mu, 1.0, rounds, 1e-5)
    exact = gaussian_epsilon(mu, 1e-5)
    assert found.limit == pytest.approx(exact, rel=0.01)
    assert exact * 0.97 < found.measured < exact


def test_canaries_that_nobody_can_tell_show_nothing():
    side = np.random.default_rng(1).normal(size=(2, 100))
    seen = Canaries(side[0], side[1], side[0], side[1], 2)
    assert canary_finding(seen, *CLAIM).measured == 0


def test_all_found_show_no_more_than_counts_can():
    seen = Canaries(np.full(50, 4.0), np.zeros(50), np.ones(50), np.zeros(50), 4)
    seen.inside[0] = 3.9
    seen.outside[0] = 0.1
    found = canary_finding(seen, *CLAIM)
    assert found.measured == found.reach > found.limit


def test_what_canaries_cannot_audit_is_refused():
    adaptive = Regime.central(D, 0.3, Z, adaptive=AdaptiveClip(bit_deviation=5.0))
    for regime in (Regime.unprotected(D, 0.3), Regime.local(D, 0.3, 2.0), adaptive):
        with pytest.raises(UsageError, match="central noise"):
            canaries(POPULATION, TASK, regime, PLAN)
    with pytest.raises(UsageError, match="at least 20"):
        canaries(POPULATION, TASK, Regime.central(D, 0.3, Z), PLAN, count=19)
