"""Audits of Laplace and Gaussian mechanisms, or of what claims to be one.

Additive noise promises more than its epsilon: inputs at a part of the sensitivity spend that
part of epsilon. Held to that with inputs that lie close, it can be audited at any epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sordino.errors import UsageError
from sordino.privacy.audit.bounds import (
    Bound,
    gaussian_bound,
    gaussian_distance,
    gaussian_epsilon,
    pure_bound,
)
from sordino.privacy.audit.law import Law, allowed_gap, gaussian_law, laplace_law, largest_gap
from sordino.privacy.audit.low_bits import low_bits, off_grid
from sordino.privacy.audit.pair import Release, lower_bound
from sordino.privacy.audit.result import Audit, Finding
from sordino.privacy.audit.statistics import FloatArray, Statistic, laplace_ratio, projection

_NEAR = 2.0
"""How much epsilon (Laplace) or distance in deviations (Gaussian) lies between near inputs: few
enough to be counted well."""
_FAR = 1000.0
_ROUNDING = 1e-9
_LAW_DRAWS = 200_000
_CHECKS = 7
"""Findings that may fail by chance."""


@dataclass(frozen=True)
class _Noise:
    """What a mechanism with additive noise claims.

    Attributes:
        epsilon_at: epsilon for two inputs at a part of the largest distance, 0 to 1.
        near: the part of the largest distance at which near inputs lie.
        statistic: the best score for two inputs within the clip.
        bound: what counts of outcomes prove.
        law: of the noise on each component.
        spread: 1 where the norm of clipping is the sum of magnitudes, 2 where it is Euclidean.
    """

    clip: float
    dimension: int
    epsilon_at: Callable[[float], float]
    near: float
    statistic: Callable[[FloatArray, FloatArray], Statistic]
    bound: Bound
    law: Law
    spread: int


def audit_laplace(
    release: Release,
    *,
    clip: float,
    epsilon: float,
    dimension: int,
    scale: float | None = None,
    grid: float = 0.0,
    trials: int = 40_000,
    false_alarm: float = 1e-3,
) -> Audit:
    """Is it Laplace noise for `epsilon` on vectors that are clipped to an L1 norm?

    Args:
        release: the mechanism, as a black box.
        clip: largest L1 norm C; two inputs are at most 2C apart.
        epsilon: claimed, for any two inputs.
        dimension: of the vectors to try; a few suffice, and are quick.
        scale: of the noise, where it is claimed to differ from 2C / epsilon.
        grid: step of the multiples on which releases are claimed to lie; 0 for none.
        trials: releases of each input in a check.
        false_alarm: probability that a mechanism that is as claimed fails.

    Raises:
        UsageError: the clip or epsilon is not finite and above 0, or see `lower_bound`.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> def half(x):
        ...     norms = np.abs(x).sum(axis=1, keepdims=True)
        ...     return x / np.maximum(norms, 1) + rng.laplace(scale=0.05, size=x.shape)
        >>> audit = audit_laplace(half, clip=1.0, epsilon=20.0, dimension=3, trials=4000)
        >>> [finding.check for finding in audit.failed]
        ['near inputs, one component', 'law of the noise', ...]
    """
    _check(clip, epsilon)
    size = 2 * clip / epsilon if scale is None else scale
    noise = _Noise(
        clip,
        dimension,
        lambda part: epsilon * part,
        min(1.0, _NEAR / epsilon),
        lambda one, other: laplace_ratio(one, other, size),
        pure_bound,
        laplace_law(size),
        1,
    )
    subject = f"laplace, clip {clip:g}, claimed epsilon {epsilon:g}"
    return _audit(release, noise, subject, grid, trials, false_alarm)


def audit_gaussian(
    release: Release,
    *,
    clip: float,
    epsilon: float,
    delta: float,
    dimension: int,
    deviation: float | None = None,
    grid: float = 0.0,
    trials: int = 40_000,
    false_alarm: float = 1e-3,
) -> Audit:
    """Is it Gaussian noise for `epsilon` at `delta` on vectors that are clipped to an L2 norm?

    The bounds are those of Gaussian differential privacy, told as the epsilon at `delta`; they
    have power at any epsilon.

    Args:
        release: the mechanism, as a black box.
        clip: largest L2 norm C; two inputs are at most 2C apart.
        epsilon: claimed, for any two inputs.
        delta: claimed, in (0, 1).
        deviation: of the noise on each component, where it is claimed to differ from the least
            that epsilon and delta allow.
        dimension, grid, trials, false_alarm: as for `audit_laplace`.

    Raises:
        UsageError: as for `audit_laplace`, or delta is not in (0, 1).

    Example:
        >>> rng = np.random.default_rng(0)
        >>> def noisy(x):
        ...     norms = np.linalg.norm(x, axis=1, keepdims=True)
        ...     return x / np.maximum(norms, 1) + rng.normal(size=x.shape)
        >>> claim = {"clip": 1.0, "epsilon": 2.0, "delta": 1e-6, "dimension": 3}
        >>> audit_gaussian(noisy, **claim, trials=4000).holds
        False
    """
    _check(clip, epsilon)
    mu = gaussian_distance(epsilon, delta)
    noise = _Noise(
        clip,
        dimension,
        lambda part: epsilon if part == 1 else gaussian_epsilon(mu * part, delta),
        min(1.0, _NEAR / mu),
        projection,
        gaussian_bound(delta),
        gaussian_law(2 * clip / mu if deviation is None else deviation),
        2,
    )
    subject = f"gaussian, clip {clip:g}, claimed epsilon {epsilon:g} at delta {delta:g}"
    return _audit(release, noise, subject, grid, trials, false_alarm)


def _check(clip: float, epsilon: float) -> None:
    if not (0 < clip < math.inf and 0 < epsilon < math.inf):
        raise UsageError(
            f"a clip of {clip} and an epsilon of {epsilon} claim nothing that can be refuted"
        )


def _audit(
    release: Release, noise: _Noise, subject: str, grid: float, trials: int, false_alarm: float
) -> Audit:
    one = np.zeros(noise.dimension)
    one[noise.dimension // 2] = noise.clip
    signs = np.where(np.arange(noise.dimension) % 2, -1.0, 1.0)
    spread = signs * noise.clip / noise.dimension ** (1 / noise.spread)
    # Of large norm, so that clipping by the wrong norm shows.
    unclipped = signs * noise.clip * _FAR
    risk = false_alarm / _CHECKS

    def pair(
        check: str,
        first: FloatArray,
        second: FloatArray,
        part: float,
        statistic: Statistic | None,
    ) -> Finding:
        return lower_bound(
            release,
            first,
            second,
            statistic,
            claimed=noise.epsilon_at(part),
            trials=trials,
            false_alarm=risk,
            bound=noise.bound,
            check=check,
        )

    near = noise.near
    findings = [
        pair("opposite inputs, one component", one, -one, 1, projection(one, -one)),
        pair(
            "opposite inputs, all components",
            unclipped,
            -unclipped,
            1,
            noise.statistic(spread, -spread),
        ),
        pair("near inputs, one component", near * one, -near * one, near, projection(one, -one)),
        pair("near inputs, all components", near * spread, -near * spread, near, None),
        pair("inputs beyond the clip", _FAR * one, one, 0, projection(one, 0 * one)),
        _law(release, noise, (one, unclipped), (one, spread), grid, risk),
        low_bits(
            release,
            np.zeros(noise.dimension),
            near * spread,
            claimed=noise.epsilon_at(near / 2),
            trials=trials,
            false_alarm=risk,
            bound=noise.bound,
        ),
    ]
    if grid:
        findings.append(off_grid(release, np.stack([0.7 * one, spread / math.e]), grid))
    return Audit(subject, tuple(findings))


def _law(
    release: Release,
    noise: _Noise,
    inputs: tuple[FloatArray, FloatArray],
    clipped: tuple[FloatArray, FloatArray],
    grid: float,
    false_alarm: float,
) -> Finding:
    rows = math.ceil(_LAW_DRAWS / noise.dimension / 2)
    added = [
        release(np.tile(x, (rows, 1))) - inside for x, inside in zip(inputs, clipped, strict=True)
    ]
    draws = np.concatenate(added)
    # On a grid a vector is rounded, and may be shortened by a step for each component.
    slack = (1 + noise.dimension) * grid + _ROUNDING * noise.clip
    gap = largest_gap(draws, noise.law, slack=slack)
    allowed = allowed_gap(draws.size, false_alarm)
    detail = f"{draws.size} draws of the noise on a component"
    return Finding("law of the noise", gap, allowed, "gap", None, false_alarm, detail)
