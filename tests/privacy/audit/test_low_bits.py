from __future__ import annotations

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.privacy.audit.low_bits import low_bits, off_grid
from tests.privacy.audit import toys


@pytest.mark.parametrize("noise", ["laplace", "normal"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_low_bits_of_floating_point_noise_tell_the_input(noise, kind):
    rng = np.random.default_rng(0)

    def release(x):
        return x.astype(kind) + getattr(rng, noise)(size=x.shape).astype(kind)

    finding = low_bits(release, np.zeros(1), np.ones(1), claimed=1.0, trials=10_000)
    assert not finding.holds
    # A single release proves what the input was not: the outcome never occurs on the other.
    assert " and 0 times" in finding.detail


def test_low_bits_of_noise_on_a_grid_tell_nothing():
    finding = low_bits(
        toys.laplace(1.0, 1, bound=9.0), np.zeros(3), np.ones(3), claimed=0.1, trials=10_000
    )
    assert finding.holds
    assert finding.measured == 0


def test_single_outputs_off_the_grid_are_counted():
    def release(x):
        released = np.tile(np.arange(x.shape[1]) * 0.5, (len(x), 1))
        released[7, 1] += 0.25
        return released

    finding = off_grid(release, np.zeros((2, 3)), 0.5)
    assert finding.measured == 1
    assert not finding.holds
    assert finding.false_alarm == 0


@pytest.mark.parametrize("grid", [0.0, -0.5, 0.3, float("nan")])
def test_grids_that_are_no_power_of_two_are_refused(grid):
    with pytest.raises(UsageError, match="power of two"):
        off_grid(np.copy, np.zeros((1, 1)), grid)
