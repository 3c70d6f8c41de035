"""Canaries: made-up users whose updates are random directions, looked for in what is released.

Half of the directions take part and half do not. How well the two are told apart shows how much
noise there is at most, and so how much epsilon is spent at least.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sordino.errors import UsageError
from sordino.federated.populations.base import Population
from sordino.federated.regimes import Regime
from sordino.federated.server import Server
from sordino.federated.simulate.run import Plan
from sordino.federated.task import ClassifierTask
from sordino.privacy.accounting.sampled_gaussian import (
    LARGEST_NOISE,
    SMALLEST_NOISE,
    accountant_for,
)
from sordino.privacy.audit.bounds import proved
from sordino.privacy.audit.result import Finding
from sordino.privacy.randomness import FloatArray, IntArray, Randomness, SeededRandomness

_STREAM = 0xCA9A
_AT_ONCE = 256
_FAR = 1000.0
# Deviations of the noise by which canaries are to be moved: few enough to be counted well.
_WANTED = 1.5
_MOST_ROUNDS = 64


@dataclass(frozen=True, eq=False)
class Canaries:
    """Where canaries ended up.

    Attributes:
        inside: of those who took part, the part of what was released that lies along them, in norms
            of an upload, shape (n,); what all real users uploaded is taken off.
        outside: the same of those who did not.
        cosine_inside: cosine of those who took part and the change of the model, shape (n,).
        cosine_outside: the same of those who did not.
        rounds: in which each took part.
    """

    inside: FloatArray
    outside: FloatArray
    cosine_inside: FloatArray
    cosine_outside: FloatArray
    rounds: int

    @property
    def distance(self) -> float:
        """Estimate of how far inside and outside lie apart, in deviations."""
        spread = math.sqrt((self.inside.var(ddof=1) + self.outside.var(ddof=1)) / 2)
        return float(self.inside.mean() - self.outside.mean()) / spread


def rounds_for(noise_multiplier: float) -> int:
    """In how many rounds canaries should take part to be told apart well.

    Example:
        >>> rounds_for(0.5), rounds_for(2.0)
        (1, 9)
    """
    return min(_MOST_ROUNDS, max(1, math.ceil((_WANTED * noise_multiplier) ** 2)))


def canaries(
    population: Population,
    task: ClassifierTask,
    regime: Regime,
    plan: Plan,
    *,
    count: int = 1000,
    rounds: int | None = None,
    seed: int = 0,
) -> Canaries:
    """Train with canaries among the users and look for them.

    Directions of one training are at right angles, so that they do not disturb each other. Canaries
    take part in every round: sampling protects nobody whose rounds are known. In regime central
    they send updates far beyond the clip through all that devices do; after a local mechanism they
    upload the longest vector that the server takes, since that is what central noise must hide.

    Args:
        population: the real users.
        task: what is learnt.
        regime: a central one with a fixed clip.
        plan: cohorts of real users.
        count: of canaries on each side, from 20.
        rounds: of a training; as many as `rounds_for` says by default.
        seed: decides everything.

    Raises:
        UsageError: the regime has no central noise or its clip adapts, or there are too few.

    Source: G. Andrew et al., "One-shot empirical privacy estimation for federated learning", 2024;
    that canaries are spread orthogonally and others' uploads are known makes the attack stronger.
    """
    if regime.noise_multiplier is None or regime.adaptive is not None:
        raise UsageError("canaries audit central noise with a fixed clip")
    if count < 20:
        raise UsageError(f"{count} canaries show nothing; give at least 20")
    many = rounds_for(regime.noise_multiplier) if rounds is None else rounds
    parts: list[tuple[FloatArray, ...]] = []
    left = count
    while left:
        pairs = min(left, _AT_ONCE, regime.dimension // 2)
        key = (_STREAM << 96) + (seed << 32) + left
        scores, cosines = _trained(
            population, task, regime, plan, pairs, many, SeededRandomness(key)
        )
        parts.append((scores[:pairs], scores[pairs:], cosines[:pairs], cosines[pairs:]))
        left -= pairs
    inside, outside, cosine_inside, cosine_outside = map(np.concatenate, zip(*parts, strict=True))
    return Canaries(inside, outside, cosine_inside, cosine_outside, many)


def canary_finding(
    seen: Canaries,
    noise_multiplier: float,
    rate: float,
    rounds: int,
    delta: float,
    *,
    sampling: str = "poisson",
    relation: str = "add-remove",
    false_alarm: float = 1e-3,
) -> Finding:
    """The epsilon of a training that canaries prove to be spent, beside what is claimed.

    Counts of canaries beyond the middle between "outside" and "inside" prove a distance of two
    normal laws, and that an upper bound on the noise multiplier. The accountant makes epsilon of
    it, as it does of the claim: that users are sampled as claimed is not audited here.

    Args:
        seen: the canaries.
        noise_multiplier: claimed.
        rate: chance of a user to be in a round, claimed.
        rounds: of the whole training.
        delta: of the whole training.
        sampling: "poisson" or "fixed".
        relation: "add-remove" or "replace".
        false_alarm: probability that the bound lies above the truth.

    Raises:
        UsageError: a number is out of range, or sampling and relation do not fit.
    """
    epsilon_of = accountant_for(sampling, relation)

    def spent(distance: float) -> float:
        noise = math.sqrt(seen.rounds) / distance if distance > 0 else math.inf
        if noise > LARGEST_NOISE:
            return 0.0
        return epsilon_of(max(noise, SMALLEST_NOISE), rate, rounds, delta)

    middle, number = seen.rounds / 2, seen.inside.size
    hits = [int(np.count_nonzero(side > middle)) for side in (seen.inside, seen.outside)]
    distance = float(proved(_distance, (hits[0], hits[1]), number, false_alarm))
    return Finding(
        "canaries",
        spent(distance),
        epsilon_of(noise_multiplier, rate, rounds, delta),
        "epsilon",
        spent(float(proved(_distance, (number, 0), number, false_alarm))),
        false_alarm,
        f"{hits[0]} of {number} canaries are found, and {hits[1]} of {number} who took no part;"
        f" the best estimate is {spent(seen.distance):.3g}",
    )


def _trained(
    population: Population,
    task: ClassifierTask,
    regime: Regime,
    plan: Plan,
    pairs: int,
    rounds: int,
    randomness: Randomness,
) -> tuple[FloatArray, FloatArray]:
    """Scores and cosines of directions, the first half of which takes part."""
    directions = np.linalg.qr(randomness.normals((regime.dimension, 2 * pairs)))[0].T
    uploads = _uploads(regime, directions[:pairs], randomness).sum(axis=0)
    server = Server(task.initial(0), regime, plan.sampling.cohort, randomness=randomness)
    unexplained, change = np.zeros(regime.dimension), np.zeros(regime.dimension)
    for _ in range(rounds):
        chosen = plan.sampling.draw(population.users, randomness)
        server.open()
        real = np.zeros(regime.dimension, dtype=np.int64)
        if len(chosen):
            updates = task.updates(server.parameters, population.cohort(chosen))
            sound = updates[np.isfinite(updates).all(axis=1)]
            real = regime.protect(sound, randomness).points.sum(axis=0)
            server.add(real, 0, len(sound))
        server.add(uploads, 0, pairs)
        released = server.close().mean
        change += released
        unexplained += released * server.cohort - regime.grid.vectors(real)
    return (
        directions @ unexplained / regime.bound,
        directions @ change / np.linalg.norm(change),
    )


def _uploads(regime: Regime, directions: FloatArray, randomness: Randomness) -> IntArray:
    if regime.local_mechanism is None:
        return regime.protect(_FAR * regime.bound * directions, randomness).points
    return regime.grid.l2(regime.bound * directions)


def _distance(likely: FloatArray, rare: FloatArray) -> FloatArray:
    """Distance of two normal laws of deviation 1 with such rates beyond a threshold."""
    from scipy.special import ndtri

    found: FloatArray = np.maximum(ndtri(likely) - ndtri(rare), 0.0)
    return found
