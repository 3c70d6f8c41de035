"""Sums of what many devices upload, without each device's noise where only the sum counts."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sordino.federated.regimes import Regime
from sordino.privacy.exact import discrete_gaussian
from sordino.privacy.mechanisms.gaussian import Gaussian
from sordino.privacy.mechanisms.laplace import Laplace
from sordino.privacy.randomness import IntArray, Randomness

# Numbers at a time, so that they stay in the cache.
_BLOCK = 2**17


def uploaded_sum(
    regime: Regime, updates: npt.ArrayLike, randomness: Randomness
) -> tuple[IntArray, int]:
    """Sum of all points that devices would upload, and of their signs.

    Where devices add noise that does not depend on their update, that of all of them is drawn at
    once: a sum of discrete Gaussian numbers is one of the summed variance, up to a factor within
    1 +- 1e-33, and a sum of discrete Laplace numbers is a difference of two negative binomial ones.
    It is a shortcut of simulations: nothing that a device could use.

    Args:
        regime: what updates go through.
        updates: shape (n, d), finite; n may be 0.
        randomness: where noise comes from.

    Returns:
        Shape (d,), and the sum of signs, 0 where the clip does not adapt.
    """
    rows = np.asarray(updates)
    mechanism = regime.local_mechanism
    at_once = mechanism is not None and not math.isfinite(regime.bound)
    total, below = np.zeros(regime.dimension, dtype=np.int64), 0
    size = max(1, _BLOCK // regime.dimension)
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        if at_once:
            total += regime.before_noise(block).sum(axis=0)
            continue
        points, signs = regime.protect(block, randomness)
        total += points.sum(axis=0)
        below += 0 if signs is None else int(signs.sum())
    if at_once and len(rows):
        total += _noise_of_all(regime, len(rows), randomness)
    return total, below


def _noise_of_all(regime: Regime, devices: int, randomness: Randomness) -> IntArray:
    """Sum of the additive noise of so many devices, shape (d,)."""
    mechanism, shape = regime.local_mechanism, regime.dimension
    if isinstance(mechanism, Gaussian):
        steps = Fraction(mechanism.standard_deviation / mechanism.grid.step)
        return discrete_gaussian(devices * steps**2, shape, randomness)
    assert isinstance(mechanism, Laplace)
    generator = np.random.Generator(np.random.Philox(key=int(randomness.bits(1)[0])))
    success = -math.expm1(-mechanism.grid.step / mechanism.scale)
    parts = generator.negative_binomial(devices, success, (2, shape))
    difference: IntArray = parts[0] - parts[1]
    return difference
