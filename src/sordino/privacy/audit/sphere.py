"""Audits of PrivUnit and its Gaussian form, or of what claims to be one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sordino.privacy.audit.bounds import odds_bound
from sordino.privacy.audit.law import (
    Law,
    allowed_gap,
    gaussian_law,
    largest_gap,
    raised_law,
    sphere_law,
)
from sordino.privacy.audit.pair import Release, lower_bound
from sordino.privacy.audit.result import Audit, Finding
from sordino.privacy.audit.statistics import FloatArray, Statistic, projection, two_caps

_FAR = 1000.0
_CHECKS = 8
"""Findings that may fail by chance."""


@dataclass(frozen=True)
class _Caps:
    """What is claimed of a released vector, divided by its scale.

    Attributes:
        base: law of any component, for a vector that is drawn without regard to the input.
        across: law of a component at a right angle to the input; on the sphere as a part of
            what the component along the input leaves.
        sphere: whether the norm is 1.
    """

    dimension: int
    epsilon: float
    height: float
    probability: float
    scale: float
    base: Law
    across: Law
    sphere: bool


def audit_privunit(
    release: Release,
    *,
    dimension: int,
    epsilon: float,
    height: float,
    probability: float,
    scale: float,
    rounding: float = 1e-9,
    trials: int = 40_000,
    false_alarm: float = 1e-3,
) -> Audit:
    """Is it PrivUnit with these parameters, and does it spend no more than `epsilon`?

    Args:
        release: the mechanism, as a black box.
        dimension: of the vectors, at least 2.
        epsilon: claimed, for any two directions.
        height: gamma, of the cap, in (0, 1).
        probability: p, of a draw from the cap.
        scale: 1 / m, the norm of all releases.
        rounding: by how much released numbers may be off, as part of the scale.
        trials: releases of each input in a check.
        false_alarm: probability that a mechanism that is as claimed fails.

    Example:
        >>> claim = {"dimension": 3, "epsilon": 1.0, "height": 0.2, "probability": 0.6449}
        >>> audit = audit_privunit(lambda x: 3 * x, **claim, scale=3.0, trials=4000)
        >>> print(audit.failed[0].line())
        FAILED opposite inputs: epsilon is at least ..., 1 claimed, ...

    Source: A. Bhowmick et al., "Protection against reconstruction and its applications in private
    federated learning", 2018, algorithm 1.
    """
    # What is left of a vector across the input is uniform on a sphere with a dimension less.
    across = sphere_law(dimension - 1) if dimension > 2 else _two_points
    base = sphere_law(dimension)
    caps = _Caps(dimension, epsilon, height, probability, scale, base, across, True)
    return _audit(release, caps, "privunit", rounding, trials, false_alarm)


def audit_privunit_gaussian(
    release: Release,
    *,
    dimension: int,
    epsilon: float,
    height: float,
    probability: float,
    scale: float,
    rounding: float = 1e-9,
    trials: int = 40_000,
    false_alarm: float = 1e-3,
) -> Audit:
    """Is it the Gaussian form of PrivUnit, and does it spend no more than `epsilon`?

    Args:
        height: gamma, in deviations.
        scale: by which the vector of normal deviates is multiplied.
        release, dimension, epsilon, probability, rounding, trials, false_alarm: as for
            `audit_privunit`.

    Source: H. Asi, V. Feldman, K. Talwar, "Optimal algorithms for mean estimation under local
    differential privacy", 2022, algorithm 2.
    """
    normal = gaussian_law(1.0)
    caps = _Caps(dimension, epsilon, height, probability, scale, normal, normal, False)
    return _audit(release, caps, "privunit-g", rounding, trials, false_alarm)


def _audit(
    release: Release, caps: _Caps, name: str, rounding: float, trials: int, false_alarm: float
) -> Audit:
    risk = false_alarm / _CHECKS
    corner, next_one = np.eye(caps.dimension, dtype=np.float64)[:2]
    places = np.arange(caps.dimension)
    ramp = np.where(places % 2, -1.0, 1.0) * (1.0 + places)
    tilted: FloatArray = ramp / float(np.linalg.norm(ramp))
    edge = caps.scale * (caps.height - rounding)

    def pair(
        check: str, first: FloatArray, second: FloatArray, claimed: float, statistic: Statistic
    ) -> Finding:
        return lower_bound(
            release,
            first,
            second,
            statistic,
            claimed=claimed,
            trials=trials,
            false_alarm=risk,
            check=check,
        )

    epsilon = caps.epsilon
    findings = [
        pair("opposite inputs", tilted, -tilted, epsilon, two_caps(tilted, -tilted, edge)),
        pair("orthogonal inputs", corner, next_one, epsilon, two_caps(corner, next_one, edge)),
        pair("length of the input", _FAR * tilted, tilted, 0.0, projection(tilted, 0 * tilted)),
    ]
    for where, u, other in (("tilted", tilted, corner), ("one component", corner, next_one)):
        released = release(np.tile(u, (trials, 1))) / caps.scale
        along = released @ u
        if where == "tilted":
            findings.append(_odds(along, caps, rounding, risk))
            if caps.sphere:
                findings.append(_norms(released, rounding))
        raised = raised_law(caps.base, caps.height, caps.probability)
        direction = other - (other @ u) * u
        direction /= np.linalg.norm(direction)
        across = released @ direction
        if caps.sphere:
            left = np.linalg.norm(released - along[:, None] * u, axis=1)
            # A release without anything across gets a value that no law has.
            across = np.divide(across, left, out=np.full_like(left, _FAR), where=left > 0)
        for kind, values, law in (("along", along, raised), ("across", across, caps.across)):
            gap = largest_gap(values, law, slack=rounding)
            allowed = allowed_gap(values.size, risk)
            check = f"law {kind} the input, {where}"
            findings.append(
                Finding(check, gap, allowed, "gap", None, risk, f"{values.size} releases")
            )
    subject = f"{name}, dimension {caps.dimension}, claimed epsilon {epsilon:g}"
    return Audit(subject, tuple(findings))


def _odds(along: FloatArray, caps: _Caps, rounding: float, false_alarm: float) -> Finding:
    trials = along.size
    hits = int(np.count_nonzero(along >= caps.height - rounding))
    cap = float(caps.base(np.array([-caps.height]))[0])
    return Finding(
        "odds of the cap",
        odds_bound(hits, trials, cap, false_alarm),
        caps.epsilon,
        "epsilon",
        odds_bound(trials, trials, cap, false_alarm),
        false_alarm,
        f"{hits} of {trials} releases in the cap; the bound holds where the laws below do",
    )


def _norms(released: FloatArray, rounding: float) -> Finding:
    norms = np.linalg.norm(released, axis=1)
    allowed = rounding * math.sqrt(released.shape[1])
    off = int(np.count_nonzero(np.abs(norms - 1) > allowed))
    detail = f"norms of {norms.size} releases"
    return Finding("all releases have one norm", off, 0, "outputs", None, 0.0, detail)


def _two_points(values: FloatArray) -> FloatArray:
    return (values >= -1) * 0.5 + (values >= 1) * 0.5
