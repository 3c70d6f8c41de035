"""Audits of uploads, and of mutants. Sound regimes pass with probability 0.999; seeds are fixed."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.federated.attacks.uploads import audit_uploads
from sordino.federated.regimes import Protected, Regime
from sordino.privacy.mechanisms.vectors import PrivVector
from sordino.privacy.randomness import SeededRandomness

TRIALS = 6000
GAUSSIAN = Regime.local(800, 0.3, 2.0)
LAPLACE = Regime.local(800, 0.3, 2.0, mechanism="laplace")
RECLIPPED = Regime.central_local(800, 0.3, 1.0, 8.0, mechanism="gaussian", reclip=1.0)
PRIVUNIT = Regime.central_local(30, 0.3, 1.0, 8.0)
WITH_LENGTH = Regime.central_local(30, 0.3, 1.0, 16.0, norm=0.03)
REGIMES = [GAUSSIAN, LAPLACE, RECLIPPED, PRIVUNIT, WITH_LENGTH]
NAMES = ["gaussian", "laplace", "gaussian, reclipped", "privunit", "privunit with length"]


def audited(claim, regime=None, trials=TRIALS):
    return audit_uploads(claim, SeededRandomness(1), regime=regime, trials=trials)


def failed(audit):
    return {finding.check for finding in audit.failed}


@pytest.mark.parametrize("regime", REGIMES, ids=NAMES)
def test_regimes_spend_no_more_than_they_claim(regime):
    found = audited(regime)
    assert found.holds, found.lines()
    assert found.false_alarm == pytest.approx(1e-3)


@pytest.mark.parametrize("regime", REGIMES, ids=NAMES)
def test_twice_the_epsilon_is_caught(regime):
    # With additive noise this is half of it, or a sensitivity of C in the place of 2 C.
    assert not audited(regime, replace(regime, local_epsilon=2 * regime.local_epsilon)).holds


def test_there_are_checks_of_the_length():
    assert WITH_LENGTH.length_epsilon > 0
    more = replace(WITH_LENGTH, length_epsilon=WITH_LENGTH.length_epsilon + 2, local_epsilon=18.0)
    assert "length" in failed(audited(WITH_LENGTH, more))
    assert "length" in {finding.check for finding in audited(WITH_LENGTH).findings}


@pytest.mark.parametrize("regime", [GAUSSIAN, LAPLACE], ids=["gaussian", "laplace"])
def test_a_missing_clip_is_caught(regime):
    class Unclipped(Regime):
        def protect(self, updates, randomness):
            noise = super().protect(np.zeros_like(updates), randomness).points
            return Protected(noise + np.rint(updates / self.grid.step).astype(np.int64), None)

    assert "inputs beyond the clip" in failed(audited(regime, Unclipped(**vars_of(regime))))


def test_noise_of_floats_is_caught():
    class Floats(Regime):
        def protect(self, updates, randomness):
            released = np.asarray(updates) / np.maximum(
                1, np.linalg.norm(updates, axis=1, keepdims=True) / self.clip
            )
            noise = randomness.normals(released.shape)
            released = released + noise * self.local_mechanism.standard_deviation
            return Protected(released / self.grid.step, None)

    assert "releases lie on the grid" in failed(audited(GAUSSIAN, Floats(**vars_of(GAUSSIAN))))


def test_a_cap_that_is_drawn_from_too_often_is_caught():
    mutant = replace(PRIVUNIT)
    mechanism = PrivVector(30, 8.0, 0.3)
    mechanism.direction._p = mechanism.direction._p + Fraction(2, 100)
    mutant.__dict__["local_mechanism"] = mechanism
    assert "odds of the cap" in failed(audited(PRIVUNIT, mutant, 40_000))


def test_nothing_random_is_refused():
    with pytest.raises(UsageError, match="no local mechanism"):
        audited(Regime.central(5, 1.0, 1.0))


def vars_of(regime):
    return {name: getattr(regime, name) for name in regime.terms()}
