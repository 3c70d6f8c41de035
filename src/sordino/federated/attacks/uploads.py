"""Do uploads spend the epsilon that a regime claims for them? Likelihood ratios, from outside."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sordino.errors import UsageError
from sordino.federated.regimes import Regime
from sordino.privacy.audit.bounds import odds_bound
from sordino.privacy.audit.mechanism import audit
from sordino.privacy.audit.pair import Release
from sordino.privacy.audit.result import Audit, Finding
from sordino.privacy.audit.sphere import audit_privunit
from sordino.privacy.mechanisms.scalar import ScalarDP
from sordino.privacy.mechanisms.vectors import PrivVector
from sordino.privacy.randomness import FloatArray, IntArray, Randomness

_FEW_COMPONENTS = 4
_MOST_NUMBERS = 2**20


def audit_uploads(
    claim: Regime,
    randomness: Randomness,
    *,
    regime: Regime | None = None,
    trials: int = 20_000,
    false_alarm: float = 1e-3,
) -> Audit:
    """Audit all that happens to updates on devices: clip, local mechanism and whole numbers.

    Noise that is added does not depend on how many components there are, and is audited with four.
    Directions are audited with all; trials are then fewer, so that memory suffices.

    Args:
        claim: a regime with a local mechanism.
        randomness: where noise comes from.
        regime: what is audited against the claim; by default the same.
        trials: uploads of each input in a check.
        false_alarm: probability that a true claim fails.

    Raises:
        UsageError: the claim has no local mechanism.

    Example:
        >>> from sordino.privacy.randomness import SeededRandomness
        >>> regime = Regime.local(dimension=500, clip=0.3, epsilon=2.0)
        >>> audit_uploads(regime, SeededRandomness(1), trials=2000).holds
        True
        >>> double = Regime.local(dimension=500, clip=0.3, epsilon=4.0)
        >>> audit_uploads(regime, SeededRandomness(1), regime=double, trials=2000).holds
        False

    Source: see `sordino.privacy.audit`, which does the work.
    """
    audited = claim if regime is None else regime
    mechanism = claim.local_mechanism
    if isinstance(mechanism, PrivVector):
        return _audit_direction(claim, mechanism, audited, randomness, trials, false_alarm)
    if mechanism is None:
        raise UsageError(f"regime {claim.name!r} has no local mechanism that could be audited")
    release = _release(_small(audited), randomness)
    return audit(
        mechanism,
        release=release,
        dimension=_FEW_COMPONENTS,
        trials=trials,
        false_alarm=false_alarm,
    )


def _small(regime: Regime) -> Regime:
    """The same on devices, for few components; what happens to uploads later does not count."""
    alone = {"name": "local", "noise_multiplier": None, "reclip": None}
    few = {"dimension": _FEW_COMPONENTS}
    # With few components the Euclidean clip would be the narrower one, and hide the other.
    wide = {} if regime.l1_clip is None else {"clip": max(regime.clip, regime.l1_clip)}
    return replace(regime, **alone, **few, **wide)  # type: ignore[arg-type]


def _release(regime: Regime, randomness: Randomness) -> Release:
    return lambda x: regime.grid.vectors(regime.protect(x, randomness).points)


def _audit_direction(
    claim: Regime,
    mechanism: PrivVector,
    audited: Regime,
    randomness: Randomness,
    trials: int,
    false_alarm: float,
) -> Audit:
    count = max(400, min(trials, _MOST_NUMBERS // claim.dimension))
    release, direction = _release(audited, randomness), mechanism.direction
    scalar = ScalarDP(1.0, claim.length_epsilon) if claim.length_epsilon else None
    unit = direction.norm * claim.clip

    def directions(x: FloatArray) -> FloatArray:
        uploads = release(x * claim.clip) / claim.clip
        if scalar is None:
            return uploads
        # A length comes on few levels, and those below 0 turn the direction around.
        levels = _levels(uploads * claim.clip / unit, scalar)
        turned: FloatArray = uploads / scalar.number_of(levels)[:, None]
        return turned

    share = false_alarm / 2 if scalar is not None else false_alarm
    judged = audit_privunit(
        directions,
        dimension=claim.dimension,
        epsilon=direction.epsilon,
        height=direction.gamma,
        probability=direction.p,
        scale=direction.norm,
        rounding=2 * (direction.grid + claim.grid.step / claim.clip) / math.sqrt(claim.dimension),
        trials=count,
        false_alarm=share,
    )
    findings = judged.findings
    if scalar is not None:
        findings += (_length(release, claim, unit, scalar, count, share),)
    return Audit(f"uploads of {judged.subject}", findings)


def _length(
    release: Release, claim: Regime, unit: float, scalar: ScalarDP, trials: int, false_alarm: float
) -> Finding:
    """How much more often the own level of a length is told than another."""
    longest = np.zeros((trials, claim.dimension))
    longest[:, 0] = claim.clip
    levels = _levels(release(longest) / unit, scalar)
    hits, even = int(np.count_nonzero(levels == scalar.levels)), 1 / (scalar.levels + 1)
    return Finding(
        "length",
        odds_bound(hits, trials, even, false_alarm),
        claim.length_epsilon,
        "epsilon",
        odds_bound(trials, trials, even, false_alarm),
        false_alarm,
        f"{hits} of {trials} uploads tell the own one of {scalar.levels + 1} levels",
    )


def _levels(uploads: FloatArray, scalar: ScalarDP) -> IntArray:
    """The level of each upload, from its norm."""
    sizes = np.abs(scalar.number_of(np.arange(scalar.levels + 1)))
    order = np.argsort(sizes)
    middles = (sizes[order][1:] + sizes[order][:-1]) / 2
    levels: IntArray = order[np.searchsorted(middles, np.linalg.norm(uploads, axis=1))]
    return levels
