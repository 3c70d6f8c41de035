import math

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.federated.adaptive import AdaptiveClip
from sordino.privacy.accounting import adaptive as accounting
from sordino.privacy.randomness import SeededRandomness


def test_it_moves_towards_the_quantile_from_both_sides():
    norms = np.random.default_rng(0).lognormal(0.0, 0.5, 4000)
    for quantile in (0.2, 0.5, 0.8):
        rule = AdaptiveClip(quantile, rate=0.3, bit_deviation=20.0)
        for start in (0.01, 50.0):
            clip = start
            for number in range(80):
                below = int(np.where(norms <= clip, 1, -1).sum())
                clip = rule.next_clip(clip, below, len(norms), SeededRandomness(number))
            assert clip == pytest.approx(np.quantile(norms, quantile), rel=0.03)


def test_one_step_is_that_of_the_paper():
    rule = AdaptiveClip(0.5, rate=0.2)
    # 30 of 40 below: the fraction 0.75 is above the quantile, so the clip goes down.
    assert rule.next_clip(2.0, 30 - 10, 40, None) == pytest.approx(2 * math.exp(-0.2 * 0.25))


def test_noise_of_the_count_has_its_deviation():
    rule = AdaptiveClip(0.5, rate=1.0, bit_deviation=30.0)
    clips = [rule.next_clip(1.0, 0, 1000, SeededRandomness(seed)) for seed in range(600)]
    # log(clip) = -(noise / 1000), as signs are twice the bits.
    deviation = np.log(clips).std() * 1000
    assert deviation == pytest.approx(math.sqrt(4 * 30.0**2 + 4) / 2, rel=0.1)


def test_both_releases_cost_what_one_does():
    for z, bits in ((0.6, 5.0), (1.0, 0.8), (3.0, 50.0)):
        found = AdaptiveClip(bit_deviation=bits).update_multiplier(z)
        assert found**-2 + (2 * bits) ** -2 == pytest.approx(z**-2)
        assert found == pytest.approx(accounting.update_multiplier(z, bits), rel=1e-3)


def test_too_little_noise_on_the_count_is_refused():
    for bits in (0.0, 0.5):
        with pytest.raises(UsageError, match="bit_deviation"):
            AdaptiveClip(bit_deviation=bits).update_multiplier(1.0)
    for settings in ({"quantile": 0.0}, {"rate": 0.0}, {"bit_deviation": math.inf}):
        with pytest.raises(UsageError):
            AdaptiveClip(**settings)
