"""Audits of sordino's own mechanisms, and of mutants of them.

Sound mechanisms pass with probability 0.999 at least; seeds are fixed.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import betainc

from sordino.errors import UsageError
from sordino.privacy import Gaussian, Laplace, PrivUnit, PrivUnitG
from sordino.privacy.audit.mechanism import audit
from sordino.privacy.audit.pair import lower_bound
from sordino.privacy.audit.pipeline import audit_pipeline, crafted_inputs
from sordino.privacy.mechanisms.clip import clip_l1
from sordino.privacy.mechanisms.scalar import ScalarDP
from sordino.privacy.mechanisms.unprotected import Unprotected
from sordino.privacy.randomness import SeededRandomness
from tests.privacy.audit import toys

LAWS = {"law along the input, tilted", "law along the input, one component"}
MECHANISMS = [
    Laplace(clip=18.35, epsilon=1),
    Laplace(clip=18.35, epsilon=15),
    Gaussian(clip=1.0, epsilon=2, delta=1e-6),
    Gaussian(clip=3.0, epsilon=20, delta=1e-5),
    PrivUnit(dimension=2, epsilon=2),
    PrivUnit(dimension=3, epsilon=8),
    PrivUnit(dimension=16, epsilon=25),
    PrivUnitG(dimension=8, epsilon=4),
    PrivUnitG(dimension=8, epsilon=25),
]


def seeded(mechanism, seed):
    randomness = SeededRandomness(seed)
    return lambda x: mechanism.release(x, randomness)


def judge(mechanism, release=None, trials=20_000):
    return audit(mechanism, release=release, randomness=SeededRandomness(1), trials=trials)


def failed(result):
    return {finding.check for finding in result.failed}


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.name}-{m.epsilon:g}")
def test_the_mechanisms_spend_no_more_than_they_claim(mechanism):
    result = judge(mechanism)
    assert result.holds, result.lines()
    assert result.false_alarm == pytest.approx(1e-3)
    # At least one check of epsilon could have failed.
    assert any(finding.unit == "epsilon" and not finding.blind for finding in result.findings)


def test_templates_of_the_usual_size_pass():
    for mechanism in (Laplace(clip=18.35, epsilon=15), PrivUnit(dimension=64, epsilon=15)):
        size = None if isinstance(mechanism, PrivUnit) else 64
        result = audit(mechanism, dimension=size, randomness=SeededRandomness(2), trials=4000)
        assert result.holds, result.lines()


@pytest.mark.parametrize("epsilon", [1.0, 15.0])
def test_laplace_with_half_the_noise_is_caught(epsilon):
    # Or, which is the same, with a sensitivity of C for 2 C.
    half = seeded(Laplace(clip=2.0, epsilon=2 * epsilon), 3)
    result = judge(Laplace(clip=2.0, epsilon=epsilon), half)
    assert {"near inputs, one component", "law of the noise"} <= failed(result)


@pytest.mark.parametrize("epsilon", [1.0, 15.0])
def test_laplace_without_its_clip_is_caught(epsilon):
    mechanism = Laplace(clip=2.0, epsilon=epsilon)
    noise = seeded(mechanism, 4)
    result = judge(mechanism, lambda x: x + noise(np.zeros_like(x)))
    assert "inputs beyond the clip" in failed(result)


@pytest.mark.parametrize("epsilon", [1.0, 15.0])
def test_laplace_noise_in_floating_point_is_caught(epsilon):
    mechanism, rng = Laplace(clip=2.0, epsilon=epsilon), np.random.default_rng(5)

    def release(x):
        return clip_l1(x, 2.0) + rng.laplace(scale=mechanism.scale, size=x.shape)

    assert failed(judge(mechanism, release)) == {"low bits alone", "releases lie on the grid"}


@pytest.mark.parametrize("epsilon", [1.0, 20.0])
def test_gaussian_with_half_the_noise_is_caught(epsilon):
    mechanism = Gaussian(clip=1.0, epsilon=epsilon, delta=1e-6)
    sound = seeded(mechanism, 6)

    def half(x):
        kept = 2 * sound(np.zeros_like(x))
        return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1) + kept / 4

    result = judge(mechanism, half)
    assert {"near inputs, one component", "near inputs, all components"} <= failed(result)


@pytest.mark.parametrize("kind", [PrivUnit, PrivUnitG])
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_privunit_with_a_larger_probability_is_caught(kind, epsilon):
    mutant = kind(dimension=16, epsilon=epsilon)
    mutant._p += Fraction(2, 100)
    result = judge(kind(dimension=16, epsilon=epsilon), seeded(mutant, 7))
    assert {"odds of the cap", *LAWS} <= failed(result)


@pytest.mark.parametrize("epsilon", [1.0, 8.0, 25.0])
def test_privunit_with_a_lower_cap_is_caught(epsilon):
    mechanism, mutant = (PrivUnit(dimension=16, epsilon=epsilon) for _ in range(2))
    mutant.q = float(betainc(7.5, 7.5, (1 - 0.95 * mechanism.gamma) / 2))
    result = judge(mechanism, seeded(mutant, 8), trials=60_000 if epsilon == 1 else 20_000)
    assert failed(result) == LAWS


def test_privunit_with_twice_the_epsilon_is_caught():
    twice = seeded(PrivUnit(dimension=16, epsilon=4), 9)
    result = judge(PrivUnit(dimension=16, epsilon=2), twice)
    assert {"opposite inputs", "orthogonal inputs"} <= failed(result)


def test_scalar_releases_spend_no_more_than_they_claim():
    def release(mechanism, seed):
        randomness = SeededRandomness(seed)
        return lambda x: mechanism.release(x[:, 0], randomness)[:, None]

    def bound(mechanism):
        return lower_bound(release(mechanism, 10), [0.0], [2.0], lambda z: z[:, 0], claimed=2.0)

    sound = bound(ScalarDP(clip=2.0, epsilon=2))
    assert sound.holds
    assert sound.measured > 1.8
    assert not bound(ScalarDP(clip=2.0, epsilon=2.3)).holds


@pytest.mark.parametrize("kind", [Laplace, PrivUnit])
def test_a_pipeline_around_a_mechanism_is_audited_as_a_whole(kind):
    pipeline = toys.Pipeline(2.0)
    inputs = crafted_inputs(pipeline.encode, pipeline.dimension, norm=1e5)

    def judge_pipeline(epsilon):
        given = {"clip": pipeline.clip} if kind is Laplace else {"dimension": 64}
        release = seeded(kind(**given, epsilon=epsilon), 12)

        def whole(x):
            return np.tanh(release(pipeline.encode(x)) @ pipeline.decoder)

        return audit_pipeline(whole, inputs[0], inputs[1], epsilon=2.0, rows=8000)

    sound = judge_pipeline(2.0)
    assert sound.holds
    assert sound.epsilon > 0.7
    assert not judge_pipeline(4.0).holds


def test_nothing_is_to_be_refuted_where_nothing_is_claimed():
    with pytest.raises(UsageError, match="claims nothing"):
        audit(Unprotected(clip=1.0))


def test_a_dimension_that_the_mechanism_does_not_take_is_refused():
    with pytest.raises(UsageError, match="3 components, not 4"):
        audit(PrivUnit(dimension=3, epsilon=1), dimension=4)
