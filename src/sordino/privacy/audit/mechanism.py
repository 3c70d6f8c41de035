"""Audits of sordino's own mechanisms against what they claim."""

from __future__ import annotations

import math

from sordino.errors import UsageError
from sordino.privacy.audit.additive import audit_gaussian, audit_laplace
from sordino.privacy.audit.pair import Release
from sordino.privacy.audit.result import Audit
from sordino.privacy.audit.sphere import audit_privunit, audit_privunit_gaussian
from sordino.privacy.mechanisms.base import Mechanism
from sordino.privacy.mechanisms.gaussian import Gaussian
from sordino.privacy.mechanisms.laplace import Laplace
from sordino.privacy.mechanisms.privunit import PrivUnit, PrivUnitG
from sordino.privacy.randomness import FloatArray, Randomness

_DIMENSION = 4


def audit(
    mechanism: Mechanism,
    *,
    release: Release | None = None,
    dimension: int | None = None,
    randomness: Randomness | None = None,
    trials: int = 40_000,
    false_alarm: float = 1e-3,
) -> Audit:
    """Does a mechanism spend no more than it claims, and is its noise what it claims?

    Args:
        mechanism: Laplace, Gaussian, PrivUnit or PrivUnitG; what it claims is taken as the claim.
        release: what is audited against this claim; by default the mechanism itself.
        dimension: of the vectors to try, where the mechanism takes any; 4 by default.
        randomness: what the mechanism draws from; the operating system by default.
        trials: releases of each input in a check.
        false_alarm: probability that a mechanism that is as claimed fails.

    Returns:
        The audit; `Audit.lines` is a report.

    Raises:
        UsageError: the mechanism is of another kind, or claims nothing.

    Example:
        >>> from sordino.privacy import Laplace
        >>> from sordino.privacy.randomness import SeededRandomness
        >>> claim = Laplace(clip=1.0, epsilon=2)
        >>> audit(claim, randomness=SeededRandomness(1), trials=2000).holds
        True
        >>> careless = Laplace(clip=1.0, epsilon=4)
        >>> audit(claim, release=careless.release, trials=2000).holds
        False
    """

    def own(x: FloatArray) -> FloatArray:
        return mechanism.release(x, randomness)

    audited = own if release is None else release
    size = _DIMENSION if dimension is None else dimension
    if isinstance(mechanism, Laplace):
        return audit_laplace(
            audited,
            clip=mechanism.clip,
            epsilon=mechanism.epsilon,
            dimension=size,
            scale=mechanism.scale,
            grid=mechanism.grid.step,
            trials=trials,
            false_alarm=false_alarm,
        )
    if isinstance(mechanism, Gaussian):
        return audit_gaussian(
            audited,
            clip=mechanism.clip,
            epsilon=mechanism.epsilon,
            delta=mechanism.delta,
            dimension=size,
            deviation=mechanism.standard_deviation,
            grid=mechanism.grid.step,
            trials=trials,
            false_alarm=false_alarm,
        )
    if isinstance(mechanism, PrivUnit | PrivUnitG):
        if dimension not in (None, mechanism.dimension):
            raise UsageError(
                f"the mechanism is for {mechanism.dimension} components, not {dimension}"
            )
        sphere = isinstance(mechanism, PrivUnit)
        judge = audit_privunit if sphere else audit_privunit_gaussian
        # Before they are put on the grid, vectors are about as long as a Gaussian one.
        length = math.sqrt(mechanism.dimension) if sphere else 1.0
        return judge(
            audited,
            dimension=mechanism.dimension,
            epsilon=mechanism.epsilon,
            height=mechanism.gamma,
            probability=mechanism.p,
            scale=mechanism.norm,
            rounding=2 * mechanism.grid / length,
            trials=trials,
            false_alarm=false_alarm,
        )
    raise UsageError(f"{mechanism.name} claims nothing that an audit could refute")
