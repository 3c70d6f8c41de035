"""One-run audits of encoding, clipping, noise and decoding as one function.

Sound pipelines pass with probability 0.999 at least; seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.privacy.audit.pipeline import audit_pipeline, crafted_inputs, worst_pair
from tests.privacy.audit import toys

ROWS = 8000


def crafted(pipeline):
    return crafted_inputs(pipeline.encode, pipeline.dimension, norm=1e5)


def far_pair(pipeline, release):
    return worst_pair(release, crafted(pipeline)[:20])


def near_pair(pipeline, claimed):
    """Two inputs whose codes lie so close that they may spend only `claimed`."""
    first, other = crafted(pipeline)[[3, 5]]
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        second = first + middle * (other - first)
        near = pipeline.epsilon * pipeline.distance(first, second) < claimed
        low, high = (middle, high) if near else (low, middle)
    return first, first + low * (other - first)


def audit(pipeline, noise, seed=3):
    release = pipeline.release(seed, noise=noise)
    first, second = far_pair(pipeline, release)
    return audit_pipeline(release, first, second, epsilon=pipeline.epsilon, rows=ROWS)


@pytest.mark.parametrize("epsilon", [2.0, 3.0])
def test_a_sound_pipeline_passes_and_half_its_noise_is_caught(epsilon):
    pipeline = toys.Pipeline(epsilon)
    sound = audit(pipeline, 1.0)
    assert sound.holds
    assert sound.epsilon > 0.3 * epsilon
    assert not audit(pipeline, 0.5).holds


def test_at_epsilon_15_the_audit_says_that_it_is_blind():
    result = audit(toys.Pipeline(15.0), 0.5)
    (finding,) = result.findings
    assert finding.blind
    assert result.holds
    assert finding.reach == pytest.approx(7.05, abs=0.01)
    assert result.lines()[1].startswith("blind  whole pipeline")


def test_near_codes_catch_half_the_noise_at_epsilon_15():
    pipeline = toys.Pipeline(15.0)
    first, second = near_pair(pipeline, 2.0)

    def judge(noise):
        release = pipeline.release(4, noise=noise)
        return audit_pipeline(release, first, second, epsilon=2.0, rows=ROWS)

    assert judge(1.0).holds
    assert not judge(0.5).holds


def test_a_forgotten_clip_is_caught_at_any_epsilon():
    pipeline = toys.Pipeline(15.0)
    first = crafted(pipeline)[3]
    second = 3 * first
    claimed = pipeline.epsilon * pipeline.distance(first, second)
    assert claimed < 0.05
    clipped = audit_pipeline(pipeline.release(5), first, second, epsilon=claimed, rows=1000)
    assert clipped.holds
    add = toys.laplace(2 * pipeline.clip / 15, 5, clip=toys.keep)

    def unclipped(x):
        # The decoder is linear here: saturated outputs would hide what the fault lets through.
        return add(pipeline.encode(x)) @ pipeline.decoder

    assert not audit_pipeline(unclipped, first, second, epsilon=claimed, rows=1000).holds


def test_what_rows_tell_about_each_other_is_covered():
    # Each row is perfectly private by itself, and lies bare in the next.
    def release(x):
        return np.roll(x, 1, axis=0)

    def statistic(released):
        return np.roll(released, -1, axis=0)[:, 0]

    one, other = np.ones(2), -np.ones(2)
    apart = audit_pipeline(release, one, other, epsilon=2.0, rows=1000)
    assert apart.holds
    together = audit_pipeline(release, one, other, epsilon=2.0, rows=1000, statistic=statistic)
    assert not together.holds


def test_delta_counts():
    pure, loose = (
        audit_pipeline(
            toys.gaussian(1.0, 6), [1.0], [-1.0], epsilon=9.0, delta=delta, rows=2000
        ).findings[0]
        for delta in (0.0, 1e-5)
    )
    assert 0 < loose.measured < pure.measured
    assert 0 < loose.reach < pure.reach


def test_the_coins_are_not_the_noise_of_a_pipeline_with_the_same_seed():
    for seed in range(3):
        release = toys.laplace(1.0, seed)
        result = audit_pipeline(release, [1.0], [-1.0], epsilon=2.0, rows=4000, seed=seed)
        assert 1.5 < result.epsilon <= 2.0


def test_the_pipeline_is_run_twice_on_all_rows():
    sizes = []

    def release(x):
        sizes.append(x.shape)
        return x

    audit_pipeline(release, [1.0, 0.0], [0.0, 1.0], epsilon=1.0, rows=321)
    assert sizes == [(321, 2), (321, 2)]


def test_false_alarms_are_as_rare_as_stated():
    release = toys.laplace(1.0, 7)
    alarms = sum(
        not audit_pipeline(
            release, [1.0], [-1.0], epsilon=2.0, rows=200, false_alarm=0.1, seed=seed
        ).holds
        for seed in range(100)
    )
    # 10 expected at most; 28 or more have a chance below 1e-6.
    assert alarms < 28


def test_the_worst_pair_is_far_for_how_much_outputs_vary():
    rng = np.random.default_rng(8)

    def release(x):
        return x + rng.normal(size=x.shape) * [10.0, 0.1]

    candidates = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 1.0], [1.0, 0.1]])
    pair = worst_pair(release, candidates)
    assert {tuple(x) for x in pair} in (
        {(0.0, 0.0), (0.0, 1.0)},
        {(9.0, 0.0), (0.0, 1.0)},
    )


@pytest.mark.parametrize(("dimension", "code"), [(64, 64), (192, 64)])
def test_crafted_inputs_reach_the_clip_in_one_component_and_templates_do_not(dimension, code):
    pipeline = toys.Pipeline(2.0, dimension=dimension, code=code)
    inputs = crafted(pipeline)
    shares = np.abs(pipeline.clipped(inputs)).max(axis=1) / pipeline.clip
    assert np.median(shares) > 0.9
    assert pipeline.distance(inputs[0], inputs[1]) > 0.9
    usual = np.random.default_rng(9).normal(size=(2, dimension))
    assert np.abs(pipeline.clipped(usual)).max() / pipeline.clip < 0.2


def test_components_that_fall_are_crafted_too_and_hopeless_ones_are_left():
    weights = np.random.default_rng(10).normal(size=(6, 4))
    weights[:, 3] = weights[:, 0] + weights[:, 1]  # rises only where one of them does

    def encode(x):
        return np.maximum(x @ weights, 0) * [1.0, -2.0, 1.0, 1.0]

    inputs = crafted_inputs(encode, 6, norm=1.0)
    code = np.abs(encode(inputs[:3]))
    assert (code.diagonal() / code.sum(axis=1) > 0.4).all()
    assert encode(inputs[1:2])[0, 1] < 0
    assert not inputs[3].any()


@pytest.mark.parametrize("rows", [99, 0])
def test_too_few_rows_are_refused(rows):
    with pytest.raises(UsageError, match="at least 100"):
        audit_pipeline(np.copy, [1.0], [0.0], epsilon=1.0, rows=rows)


def test_one_candidate_is_no_pair():
    with pytest.raises(UsageError, match="two candidates"):
        worst_pair(np.copy, [[1.0, 2.0]])
