"""All attacks on a planned training, under several regimes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from sordino.errors import UsageError
from sordino.federated.attacks.canaries import canaries, canary_finding, rounds_for
from sordino.federated.attacks.intervals import (
    Figure,
    area_over_users,
    mean_over_users,
    share_of_users,
)
from sordino.federated.attacks.leak import View, leak, matching_bound, single_examples
from sordino.federated.attacks.membership import membership
from sordino.federated.attacks.report import MISSED, REFUTED, Line, Report
from sordino.federated.attacks.uploads import audit_uploads
from sordino.federated.populations.base import Population
from sordino.federated.regimes import Regime
from sordino.federated.simulate.compare import Budget, regime_of
from sordino.federated.simulate.run import Plan
from sordino.federated.task import ClassifierTask, Examples
from sordino.privacy.randomness import SeededRandomness

ATTACKS = ("leak", "uploads", "canaries", "membership")
"""What can be tried."""

_RECOVERED = 0.9
# Deviations to either side that hold 95 % of a normal law.
_NORMAL = 1.96
_ON: dict[View, str] = {"upload": "one upload", "model": "the released model"}
_STREAM = 0xA0D17


@dataclass(frozen=True)
class Effort:
    """How much attackers try.

    Attributes:
        attacks: some of `ATTACKS`.
        users: how many are attacked by a leak.
        canaries: on each side.
        trials: uploads of each input in a check.
        mutants: also audit what spends twice as much, which must be caught.

    Raises:
        UsageError: there is no such attack.
    """

    attacks: Sequence[str] = ATTACKS
    users: int = 200
    canaries: int = 1000
    trials: int = 20_000
    mutants: bool = True

    def __post_init__(self) -> None:
        unknown = set(self.attacks) - set(ATTACKS)
        if unknown:
            raise UsageError(
                f"no attack {', '.join(sorted(unknown))}; there are {', '.join(ATTACKS)}"
            )


@dataclass(frozen=True, eq=False)
class _Target:
    """A training that is attacked."""

    name: str
    population: Population
    task: ClassifierTask
    regime: Regime
    plan: Plan
    budget: Budget
    seeds: range
    effort: Effort


def audit_training(
    population: Population,
    task: ClassifierTask,
    clip: float,
    plan: Plan,
    budget: Budget,
    names: Sequence[str],
    seeds: range,
    effort: Effort | None = None,
    *,
    tell: Callable[[str, str], None] | None = None,
) -> Report:
    """Try all attacks on all regimes.

    Args:
        population: the users.
        task: what is learnt.
        clip: bound on the norm of an update.
        plan: rounds and cohorts.
        budget: what may be spent.
        names: regimes, as `regime_of` knows them.
        seeds: of initial parameters and noise.
        effort: how much is tried.
        tell: is told of every attack and regime before they begin.

    Raises:
        UsageError: things do not fit together, or no attack applies to any of the regimes.

    Example:
        >>> from sordino.federated.populations.synthetic import SyntheticPopulation
        >>> from sordino.federated.simulate.sampling import Sampling
        >>> population = SyntheticPopulation(users=50, inputs=8, classes=2)
        >>> task = ClassifierTask(8, population.classes, hidden=(4,))
        >>> plan = Plan(Sampling("poisson", 20), rounds=3)
        >>> report = audit_training(population, task, 0.3, plan, Budget(), ["none", "local"],
        ...                         range(1), Effort(attacks=["leak"]))
        >>> [line.verdict for line in report.lines if line.figure == "cosine"]
        ['recovered', 'fails']
    """
    tried = Effort() if effort is None else effort
    examples = single_examples(population, tried.users)
    regimes = {name: regime_of(name, task, clip, plan, population.users, budget) for name in names}
    pairs = [(attack, name) for attack in ATTACKS if attack in tried.attacks for name in regimes]
    senseless = [(attack, name) for attack, name in pairs if not _applies(attack, regimes[name])]
    if len(senseless) == len(pairs):
        raise UsageError(
            f"nothing to audit: attack {', '.join(tried.attacks)} does not apply to regime"
            f" {', '.join(regimes)}; uploads needs local noise, canaries central noise"
        )
    lines: list[Line] = []
    for attack in ATTACKS:
        for name, regime in regimes.items():
            if (attack, name) not in pairs or (attack, name) in senseless:
                continue
            if tell is not None:
                tell(attack, name)
            target = _Target(name, population, task, regime, plan, budget, seeds, tried)
            if attack == "leak":
                lines += _leaks(target, examples)
            elif attack == "uploads":
                lines += _uploads(target)
            elif attack == "canaries":
                lines += _canaries(target)
            else:
                lines += _membership(target)
    facts = {
        "population": population.facts(),
        "task": task.terms(),
        "clip": clip,
        "cohort": plan.sampling.cohort,
        "sampling": plan.sampling.name,
        "rounds": plan.rounds,
        "budget": asdict(budget),
        "seeds": list(seeds),
        "attacked_users": len(examples),
        "effort": {**asdict(tried), "attacks": list(tried.attacks)},
        "not_applicable": [f"{attack}: {name}" for attack, name in senseless],
    }
    return Report(tuple(lines), facts)


def _applies(attack: str, regime: Regime) -> bool:
    """Whether a regime has the noise that an attack is about."""
    if attack == "uploads":
        return regime.local_mechanism is not None
    return attack != "canaries" or regime.noise_multiplier is not None


def _leaks(target: _Target, examples: Examples) -> Iterator[Line]:
    regime, users = target.regime, len(examples)
    views: tuple[View, ...] = ("upload",)
    if regime.noise_multiplier is not None:
        views = ("upload", "model")
    epsilon, delta = regime.release_cost()
    most = matching_bound(epsilon, delta, users) if math.isfinite(epsilon) else math.nan
    for view in views:
        got = leak(target.task, regime, examples, target.seeds, view=view)
        cosine = mean_over_users(got.cosine)
        trusted = view == "upload" and regime.local_mechanism is None
        yield _leaked(target, view, "cosine", cosine, 0.0, math.nan, trusted)
        for name, hits in (("found", got.found), ("matched", got.matched)):
            share = share_of_users(hits)
            # Recovering is no more than choosing among all: the same bound holds for both.
            yield _leaked(target, view, name, share, 1 / users, most, trusted)


def _leaked(
    target: _Target,
    view: View,
    figure: str,
    got: Figure,
    chance: float,
    most: float,
    trusted: bool,
) -> Line:
    if got.low > most:
        verdict = REFUTED
    elif got.low > _RECOVERED:
        bare = target.regime.noise_multiplier is None
        verdict = "recovered" if bare or not trusted else "recovered: the server is trusted"
    else:
        verdict = "above chance" if got.low > chance else "fails"
    detail = f"{len(target.seeds)} seeds"
    return Line("leak", target.name, _ON[view], figure, *got, chance, most, verdict, detail)


def _uploads(target: _Target) -> Iterator[Line]:
    regime, effort = target.regime, target.effort
    assert regime.local_epsilon is not None
    double = replace(regime, local_epsilon=2 * regime.local_epsilon)
    for audited in (regime, double) if effort.mutants else (regime,):
        own = audited is regime
        randomness = SeededRandomness((_STREAM << 64) + target.seeds.start)
        found = audit_uploads(regime, randomness, regime=audited, trials=effort.trials)
        yield Line(
            "uploads",
            target.name,
            "one upload" if own else "mutant: twice the epsilon",
            "epsilon shown",
            found.epsilon,
            limit=regime.local_epsilon,
            verdict=_judged(found.holds, own),
            detail=f"refuted by {len(found.failed)} of {len(found.findings)} checks: "
            + "; ".join(finding.line() for finding in found.findings),
        )


def _canaries(target: _Target) -> Iterator[Line]:
    regime, effort, plan = target.regime, target.effort, target.plan
    z = regime.noise_multiplier
    assert z is not None
    half = replace(regime, noise_multiplier=z / 2)
    for audited in (regime, half) if effort.mutants else (regime,):
        own = audited is regime
        seen = canaries(
            target.population,
            target.task,
            audited,
            plan,
            count=effort.canaries,
            rounds=rounds_for(z),
            seed=target.seeds.start,
        )
        found = canary_finding(
            seen,
            z,
            plan.sampling.rate(target.population.users),
            plan.rounds,
            target.budget.delta,
            sampling=plan.sampling.name,
            relation=target.budget.relation,
        )
        on = "the released model" if own else "mutant: half the noise"
        yield Line(
            "canaries",
            target.name,
            on,
            "epsilon shown",
            found.measured,
            limit=found.limit,
            verdict=_judged(found.holds, own),
            detail=found.detail,
        )
        root = math.sqrt(seen.cosine_inside.size)
        middle, spread = seen.cosine_inside.mean(), seen.cosine_inside.std(ddof=1) / root
        yield Line(
            "canaries",
            target.name,
            on,
            "cosine",
            float(middle),
            float(middle - _NORMAL * spread),
            float(middle + _NORMAL * spread),
            float(seen.cosine_outside.mean()),
        )


def _membership(target: _Target) -> Iterator[Line]:
    scores, members = zip(
        *(
            membership(target.population, target.task, target.regime, target.plan, seed)
            for seed in target.seeds
        ),
        strict=True,
    )
    area = area_over_users(np.stack(scores), np.stack(members))
    verdict = "above chance" if area.low > 0.5 else "fails"
    detail = f"{len(scores)} seeds"
    yield Line(
        "membership", target.name, "the last model", "AUC", *area, 0.5, math.nan, verdict, detail
    )


def _judged(holds: bool, own: bool) -> str:
    if own:
        return "holds" if holds else REFUTED
    return MISSED if holds else "caught"
