"""Audits of PrivUnit, sound and spoilt.

Sound mechanisms pass with probability 0.999 at least; seeds are fixed.
"""

from __future__ import annotations

import pytest

from sordino.privacy.audit.sphere import audit_privunit, audit_privunit_gaussian
from tests.privacy.audit import toys

LAWS = {"law along the input, tilted", "law along the input, one component"}
UNITS = {
    2: toys.PrivUnit(2.0, 0.3),
    8: toys.PrivUnit(8.0, 0.85),
    20: toys.PrivUnit(20.0, 1 - 1.4e-7),
}
GAUSSIAN = toys.PrivUnitGaussian(8, 8.0, 2.6)


def audit(unit, release):
    judge = audit_privunit if isinstance(unit, toys.PrivUnit) else audit_privunit_gaussian
    return judge(release, **unit.claim, trials=20_000)


def failed(result):
    return {finding.check for finding in result.failed}


@pytest.mark.parametrize("unit", [*UNITS.values(), GAUSSIAN])
def test_sound_releases_pass(unit):
    result = audit(unit, unit.release(0))
    assert result.holds, result.lines()
    assert result.false_alarm == pytest.approx(1e-3)


def test_counts_come_close_to_the_claim_at_small_epsilon_and_odds_at_any():
    small = {f.check: f for f in audit(UNITS[2], UNITS[2].release(0)).findings}
    assert 1.8 < small["opposite inputs"].measured <= 2
    assert 1.8 < small["orthogonal inputs"].measured <= 2
    high = {f.check: f for f in audit(UNITS[20], UNITS[20].release(0)).findings}
    assert high["opposite inputs"].blind
    assert not high["odds of the cap"].blind
    assert 19 < high["odds of the cap"].measured <= 20


def test_a_larger_probability_of_the_cap_is_caught():
    for unit, seed in ((UNITS[2], 1), (GAUSSIAN, 2)):
        result = audit(unit, unit.release(seed, p=unit.p + 0.02))
        assert {"odds of the cap", *LAWS} <= failed(result)


def test_a_larger_probability_is_caught_by_counts_alone():
    unit = UNITS[2]
    result = audit_privunit(unit.release(3, p=unit.p + 0.02), **unit.claim, trials=100_000)
    assert {"opposite inputs", "orthogonal inputs"} <= failed(result)


@pytest.mark.parametrize("epsilon", UNITS)
def test_a_lower_cap_is_caught(epsilon):
    # It spends less and tells less: no bound on epsilon finds it, the law does.
    unit = UNITS[epsilon]
    assert failed(audit(unit, unit.release(4, height=0.95 * unit.height))) == LAWS


def test_a_claim_of_half_the_epsilon_is_refuted():
    unit, half = UNITS[2], dict(UNITS[2].claim, epsilon=1.0)
    result = audit_privunit(unit.release(5), **half, trials=20_000)
    assert failed(result) == {"opposite inputs", "orthogonal inputs", "odds of the cap"}


def test_a_length_that_is_let_through_is_caught():
    unit = UNITS[8]
    result = audit(unit, unit.release(6, normalise=False))
    assert failed(result) == {"length of the input"}


def test_norms_that_vary_are_caught():
    unit = UNITS[8]
    sound = unit.release(7)

    def release(x):
        released = sound(x)
        released[0] *= 1.001
        return released

    assert failed(audit(unit, release)) == {"all releases have one norm"}


def test_noise_across_the_input_that_is_not_uniform_is_caught():
    unit = UNITS[8]
    sound = unit.release(8)

    def release(x):
        released = sound(x)
        u = x / (x**2).sum(axis=1, keepdims=True) ** 0.5
        along = (released * u).sum(axis=1, keepdims=True) * u
        across = released - along
        across[:, 0] = abs(across[:, 0])
        across -= (across * u).sum(axis=1, keepdims=True) * u
        length = ((unit.scale**2 - (along**2).sum(axis=1)) / (across**2).sum(axis=1)) ** 0.5
        return along + across * length[:, None]

    assert failed(audit(unit, release)) == {"law across the input, tilted"}
