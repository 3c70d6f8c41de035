"""What a training run guarantees and what it does not, for machines to read."""

from __future__ import annotations

import math
from typing import Any

from sordino.errors import UsageError
from sordino.federated.regimes import Regime
from sordino.privacy.ledger.composition import Releases, basic

_NOT_COVERED = (
    "what the model tells about people as a whole, of whom nobody in particular has to take part",
    "that a user takes part at all, against who runs the server or watches the network",
    "settings that were chosen on other data: clip, learning rates, the initial model",
    "several devices or user names of one person: each counts as a user of its own",
)
_TRUST = {
    "none": "the server, its operators and everybody who sees the model",
    "local": "nobody but the own device",
    "central": "the server, which sees single updates and adds the noise",
    "central-local": "the own device for the local guarantee, the server for the central one",
}


def privacy_statement(
    regime: Regime,
    *,
    population: int,
    sampling_rate: float,
    rounds: int,
    delta: float,
    relation: str = "add-remove",
    sampling: str = "poisson",
    participation_cap: int | None = None,
    simulation: bool = False,
) -> dict[str, Any]:
    """What is guaranteed to a user, ready for JSON.

    Args:
        regime: what uploads go through.
        population: how many users there are.
        sampling_rate: chance of a user to take part in a round, above 0 and at most 1.
        rounds: how many in all.
        delta: for the central guarantee.
        relation: "add-remove" or "replace".
        sampling: "poisson" or "fixed".
        participation_cap: most rounds of a user; None for none.
        simulation: a seed has decided the noise, or data are no real users.

    Raises:
        UsageError: sampling and relation do not fit, or a number is out of range.

    Example:
        >>> regime = Regime.local(dimension=8, clip=1.0, epsilon=2.0)
        >>> statement = privacy_statement(regime, population=1000, sampling_rate=0.1, rounds=30,
        ...                               delta=1e-6, participation_cap=5)
        >>> statement["local"]["epsilon_total"], statement["guarantee"]
        (10.0, True)
    """
    if not 0 < sampling_rate <= 1:
        raise UsageError(f"sampling rate {sampling_rate} is not above 0 and at most 1")
    if rounds < 1 or population < 1:
        raise UsageError("a run has at least 1 round and 1 user")
    most = rounds if participation_cap is None else min(rounds, participation_cap)
    local = _local(regime, most)
    central = _central(regime, sampling_rate, rounds, delta, relation, sampling)
    guaranteed = local is not None or central is not None
    why_not = None if guaranteed else "regime none: nothing random is added"
    if simulation and guaranteed:
        why_not = "simulation, no guarantee: a seed decides the noise"
    return {
        "unit": "one user with all examples",
        "regime": regime.terms(),
        "trusted": _TRUST[regime.name],
        "population": population,
        "sampling": sampling,
        "sampling_rate": sampling_rate,
        "rounds": rounds,
        "participation_cap": participation_cap,
        "local": local,
        "central": central,
        "guarantee": guaranteed and not simulation,
        "why_not": why_not,
        "not_covered": list(_NOT_COVERED),
    }


def _local(regime: Regime, most: int) -> dict[str, Any] | None:
    """What holds against the server, whoever it is."""
    epsilon, delta = regime.release_cost()
    if not math.isfinite(epsilon):
        return None
    total = basic([Releases(epsilon, delta, most)])
    return {
        "mechanism": regime.mechanism,
        "relation": "any pair (replace)",
        "epsilon": epsilon,
        "delta": delta,
        "releases": most,
        "epsilon_total": total.epsilon,
        "delta_total": total.delta,
    }


def _central(
    regime: Regime, rate: float, rounds: int, delta: float, relation: str, sampling: str
) -> dict[str, Any] | None:
    """What holds against those who see the model, and every model on the way."""
    if regime.noise_multiplier is None:
        return None
    from sordino.privacy.accounting.sampled_gaussian import accountant_for

    epsilon_of = accountant_for(sampling, relation)
    z = regime.noise_multiplier
    return {
        "mechanism": "gaussian",
        "relation": relation,
        "noise_multiplier": z,
        "norm": regime.bound,
        "standard_deviation": (regime.update_multiplier or z) * regime.bound,
        "epsilon_of_one_round": epsilon_of(z, rate, 1, delta),
        "epsilon_total": epsilon_of(z, rate, rounds, delta),
        "delta_total": delta,
        "accountant": "pld",
        "adaptive_clip": "counted" if regime.adaptive is not None else None,
    }
