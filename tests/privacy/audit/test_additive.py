"""Audits of Laplace and Gaussian noise, sound and spoilt.

Sound mechanisms pass with probability 0.999 at least; seeds are fixed.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.privacy.audit.additive import audit_gaussian, audit_laplace
from sordino.privacy.audit.bounds import gaussian_epsilon
from tests.privacy.audit import toys

NEAR = {"near inputs, one component", "near inputs, all components"}
OPPOSITE = {"opposite inputs, one component", "opposite inputs, all components"}
LAW = "law of the noise"
CLIP = "inputs beyond the clip"


def laplace_audit(release, epsilon, **others):
    given = {"clip": 1.0, "dimension": 4, "grid": toys.GRID, "trials": 20_000, **others}
    return audit_laplace(release, epsilon=epsilon, **given)


def gaussian_audit(release, deviation, epsilon=None):
    return audit_gaussian(
        release,
        clip=1.0,
        epsilon=epsilon or gaussian_epsilon(2 / deviation, 1e-6),
        deviation=deviation,
        delta=1e-6,
        dimension=4,
        grid=toys.GRID,
        trials=20_000,
    )


def failed(audit):
    return {finding.check for finding in audit.failed}


def found(audit, check):
    return next(finding for finding in audit.findings if finding.check == check)


@pytest.mark.parametrize("epsilon", [0.2, 2.0, 15.0])
def test_sound_laplace_noise_passes(epsilon):
    audit = laplace_audit(toys.laplace(2 / epsilon, 0), epsilon)
    assert audit.holds, audit.lines()
    assert audit.false_alarm == pytest.approx(1e-3)


def test_the_bound_comes_close_to_the_claim():
    audit = laplace_audit(toys.laplace(1.0, 0), 2.0)
    assert 1.8 < found(audit, "opposite inputs, one component").measured <= 2.0


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 15.0, 50.0])
def test_half_the_noise_is_caught_at_any_epsilon(epsilon):
    # The same fault as a sensitivity of C for 2 C.
    audit = laplace_audit(toys.laplace(1 / epsilon, 1), epsilon)
    assert {LAW, "near inputs, one component"} <= failed(audit)


def test_opposite_inputs_have_power_at_small_epsilon_only():
    assert failed(laplace_audit(toys.laplace(0.5, 1), 2.0)) >= OPPOSITE
    high = laplace_audit(toys.laplace(1 / 15, 1), 15.0)
    assert all(found(high, check).blind for check in OPPOSITE)
    assert not any(found(high, check).blind for check in NEAR)


def test_a_tenth_less_noise_is_caught():
    assert LAW in failed(laplace_audit(toys.laplace(0.9, 2), 2.0))


@pytest.mark.parametrize("epsilon", [2.0, 15.0])
def test_a_forgotten_clip_is_caught(epsilon):
    release = toys.laplace(2 / epsilon, 3, clip=toys.keep)
    assert CLIP in failed(laplace_audit(release, epsilon))


def test_a_clip_by_the_wrong_norm_is_caught():
    release = toys.laplace(1.0, 4, clip=toys.clip_l2)
    assert {"opposite inputs, all components", LAW} <= failed(laplace_audit(release, 2.0))


@pytest.mark.parametrize("epsilon", [2.0, 15.0])
def test_noise_that_components_share_is_caught(epsilon):
    release = toys.laplace(2 / epsilon, 5, shared=True)
    assert "near inputs, all components" in failed(laplace_audit(release, epsilon))


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 15.0])
def test_noise_in_floating_point_is_caught_by_its_low_bits(epsilon):
    release = toys.laplace(2 / epsilon, 6, grid=False)
    assert failed(laplace_audit(release, epsilon)) == {
        "low bits alone",
        "releases lie on the grid",
    }
    assert failed(laplace_audit(release, epsilon, grid=0.0)) == {"low bits alone"}


def test_noise_of_another_law_is_caught():
    # Uniform noise tells inputs apart for certain at its ends.
    rng = np.random.default_rng(7)

    def release(x):
        noise = rng.uniform(-3, 3, size=x.shape)
        return toys.on_grid(toys.clip_l1(x, 1.0)) + toys.on_grid(noise)

    assert {LAW, "opposite inputs, one component"} <= failed(laplace_audit(release, 2.0))


def test_a_scale_other_than_that_of_epsilon_can_be_claimed():
    audit = laplace_audit(toys.laplace(1.1, 8), 2.0, scale=1.1)
    assert audit.holds, audit.lines()
    assert LAW in failed(laplace_audit(toys.laplace(1.1, 8), 2.0))


@pytest.mark.parametrize("deviation", [4.461, 0.6])
def test_sound_gaussian_noise_passes_and_is_bounded_closely(deviation):
    audit = gaussian_audit(toys.gaussian(deviation, 0), deviation)
    assert audit.holds, audit.lines()
    epsilon = gaussian_epsilon(2 / deviation, 1e-6)
    best = max(found(audit, check).measured for check in OPPOSITE)
    assert 0.7 * epsilon < best <= epsilon


@pytest.mark.parametrize("deviation", [4.461, 0.6, 0.1])
def test_half_the_gaussian_noise_is_caught_at_any_epsilon(deviation):
    audit = gaussian_audit(toys.gaussian(deviation / 2, 1), deviation)
    assert {LAW, *NEAR} <= failed(audit)


def test_gaussian_noise_on_a_vector_that_is_clipped_by_another_norm_or_not_is_caught():
    wide = toys.gaussian(2.0, 2, clip=lambda x, c: np.clip(x, -c, c))
    assert "opposite inputs, all components" in failed(gaussian_audit(wide, 2.0))
    assert CLIP in failed(gaussian_audit(toys.gaussian(2.0, 2, clip=toys.keep), 2.0))


def test_the_classical_formula_is_refuted_at_high_epsilon():
    # It holds for epsilon below 1 only.
    deviation = 2 * math.sqrt(2 * math.log(1.25e6)) / 25
    audit = gaussian_audit(toys.gaussian(deviation, 3), deviation, epsilon=25.0)
    assert {*OPPOSITE, *NEAR} <= failed(audit)
    assert LAW not in failed(audit)
    assert found(audit, "opposite inputs, one component").limit == 25


def test_the_deviation_may_be_left_to_epsilon_and_delta():
    given = {"clip": 1.0, "delta": 1e-6, "dimension": 2, "trials": 2000}
    audit = audit_gaussian(toys.gaussian(4.461, 4), epsilon=2.0, **given)
    assert audit.holds, audit.lines()
    assert LAW in failed(audit_gaussian(toys.gaussian(4.461, 4), epsilon=3.0, **given))


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_claims_of_nothing_are_refused(epsilon):
    with pytest.raises(UsageError, match="claim nothing"):
        laplace_audit(np.copy, epsilon)
    with pytest.raises(UsageError, match="claim nothing"):
        audit_gaussian(np.copy, clip=1.0, epsilon=epsilon, delta=1e-6, dimension=2)
