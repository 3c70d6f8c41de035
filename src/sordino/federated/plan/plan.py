"""The answer to a question: for every regime its noise, its guarantees and what signal is left."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

from sordino.errors import UsageError
from sordino.federated.plan.question import Question
from sordino.federated.plan.search import Wish, smallest_cohort, ways_out
from sordino.federated.plan.signal import Signal
from sordino.privacy.accounting.rounding import rounded_up
from sordino.privacy.accounting.sampled_gaussian import accountant_for, noise_multiplier_for
from sordino.privacy.accounting.shuffling import Shuffled, shuffled
from sordino.privacy.mechanisms.calibration import (
    gaussian_delta,
    gaussian_noise_multiplier,
    turning_point,
)


@dataclass(frozen=True)
class RegimePlan:
    """What one regime gives.

    Attributes:
        regime: its name.
        cohort: how many users are expected in a round; None where no cohort gives the wanted SNR.
        snr: expected norm of the mean update over that of all noise in it.
        smallest_cohort: for the wanted SNR; None where none was wanted or none suffices.
        noise_multiplier: standard deviation of the central noise over `bound`; None without.
        bound: norm of an upload, in clips, that central noise is for; None without.
        epsilon: of the whole training, by PLD, against those who see its models; None without
            central noise.
        epsilon_rdp: the same by RDP.
        local_epsilon: of one upload, against the server too; None without local noise.
        local_delta: the same.
        local_total: epsilon of all uploads of the user who is drawn most.
        mean_uploads: how often a user uploads, on average.
        most_uploads: how often the user who is drawn most does, as a rule.
        shuffling: what hiding among a round's uploads would gain; None where it is not known.
        ways: what would make the wanted SNR possible, each for itself; None where it is.
    """

    regime: str
    cohort: int | None
    snr: float | None = None
    smallest_cohort: int | None = None
    noise_multiplier: float | None = None
    bound: float | None = None
    epsilon: float | None = None
    epsilon_rdp: float | None = None
    local_epsilon: float | None = None
    local_delta: float = 0.0
    local_total: float | None = None
    mean_uploads: float | None = None
    most_uploads: int | None = None
    shuffling: Shuffled | None = None
    ways: tuple[str, ...] | None = None

    def json(self) -> dict[str, Any]:
        """All attributes, ready for JSON."""
        said = {name: _number(value) for name, value in vars(self).items()}
        hidden = self.shuffling
        said["shuffling"] = hidden and {"epsilon": hidden.epsilon, "amplified": hidden.amplified}
        said["ways"] = None if self.ways is None else list(self.ways)
        return said


@dataclass(frozen=True)
class Plan:
    """The answer to a question.

    Attributes:
        question: what was asked.
        regimes: one answer for each regime.
    """

    question: Question
    regimes: tuple[RegimePlan, ...]

    def json(self) -> dict[str, Any]:
        """Question, answers and notes, ready for JSON."""
        asked = {**vars(self.question), "regimes": list(self.question.regimes)}
        answers = [regime.json() for regime in self.regimes]
        return {"question": asked, "regimes": answers, "notes": list(self.notes())}

    def notes(self) -> Iterator[str]:
        """What has to be known beside the numbers."""
        asked = self.question
        if asked.norm == asked.alignment == 1:
            yield (
                "SNR is for updates as long as the clip that all agree, which is the best case:"
                " tell what a simulation has measured by norm and alignment"
            )
        if asked.delta > 1 / asked.population:
            yield (
                f"delta {asked.delta:g} is above one over the population: a mechanism that gives"
                f" away one user now and then would keep to it; use {1 / asked.population:.1g}"
            )
        drawn = (
            "every user is drawn for a round independently and with the same chance"
            if asked.sampling == "poisson"
            else "the users of a round are drawn by the server out of all, always as many"
        )
        yield f"epsilon of the training holds only if {drawn}, and nobody learns who was"
        for regime in self.regimes:
            if regime.local_total is not None and regime.mean_uploads is not None:
                yield (
                    f"{regime.regime}: a user uploads {regime.mean_uploads:.3g} times on average"
                    f" and some user {regime.most_uploads}, with local epsilon"
                    f" {regime.local_total:.4g} together; a cap on participation limits that"
                )
            if regime.shuffling is not None:
                yield f"{regime.regime}: {regime.shuffling.sentence}"
            if regime.ways:
                yield f"{regime.regime}: SNR {asked.snr:g} takes {', or '.join(regime.ways)}"
            elif regime.ways is not None:
                yield f"{regime.regime}: {_hopeless(regime)}"


class _Central(NamedTuple):
    noise_multiplier: float
    epsilon: float
    epsilon_rdp: float


def planned(question: Question) -> Plan:
    """Answer a question, without any training and in seconds.

    Args:
        question: what is thought of.

    Raises:
        UsageError: one regime is asked for and cannot have the wanted SNR; the message says what
            would make it possible. Of several regimes, their answers do. Or dp-accounting is
            missing.

    Example:
        >>> question = Question(population=10**6, rounds=100, delta=1e-7, cohort=500, epsilon=2.0,
        ...                     regimes=("none", "local"))
        >>> none, local = planned(question).regimes
        >>> none.snr, round(local.snr, 4)
        (inf, 0.0646)
    """
    central = cache(partial(_central, question))
    answers = (_answer(question, name, central) for name in question.regimes)
    plan = Plan(question, tuple(answers))
    if len(plan.regimes) == 1 and plan.regimes[0].ways is not None:
        (only,) = plan.regimes
        now = f"a cohort of {only.cohort:,} has {only.snr:.3g}" if only.cohort else "no cohort has"
        cure = f"possible with {', or '.join(only.ways)}" if only.ways else _hopeless(only)
        raise UsageError(f"SNR {question.snr:g} in regime {only.regime}: {now}; {cure}")
    return plan


def _hopeless(regime: RegimePlan) -> str:
    also = "" if regime.regime == "central" else ", or raise the local epsilon"
    return f"no cohort of this population helps: train fewer parameters{also}"


def _answer(question: Question, name: str, central: Callable[[int], _Central]) -> RegimePlan:
    upload_epsilon = _upload_epsilon(question, name, central)
    signal = Signal.of(question, name, upload_epsilon or 0.0)
    cohort, smallest, ways = question.cohort, None, None
    if question.snr is not None:
        wish = Wish(
            signal,
            question.snr,
            question.population,
            question.rounds,
            question.delta,
            question.epsilon,
            question.noise_multiplier,
            question.sampling,
            question.relation,
        )
        smallest = smallest_cohort(wish)
        if smallest is None or (cohort is not None and not wish.granted(cohort)):
            ways = tuple(ways_out(wish, cohort or question.population, smallest))
        cohort = cohort or smallest
    if cohort is None:
        return RegimePlan(name, None, ways=ways)
    noise = central(cohort) if signal.bound is not None else None
    return _filled(question, name, signal, upload_epsilon, cohort, noise, smallest, ways)


def _filled(
    question: Question,
    name: str,
    signal: Signal,
    upload_epsilon: float | None,
    cohort: int,
    noise: _Central | None,
    smallest: int | None,
    ways: tuple[str, ...] | None,
) -> RegimePlan:
    rate, rounds, delta = cohort / question.population, question.rounds, question.delta
    z, tight, loose = (None, None, None) if noise is None else noise
    most = _most_uploads(question, rate) if upload_epsilon is not None else None
    pure = name == "central-local"
    total = None
    if upload_epsilon is not None and most is not None:
        total = _composed(upload_epsilon, 0.0 if pure else delta, most)
    return RegimePlan(
        name,
        cohort,
        signal.snr(cohort, z),
        smallest,
        z,
        signal.bound,
        tight,
        loose,
        upload_epsilon,
        delta if name == "local" else 0.0,
        total,
        rounds * rate if upload_epsilon is not None else None,
        most,
        shuffled(upload_epsilon, cohort, delta) if pure and upload_epsilon is not None else None,
        ways,
    )


def _central(question: Question, cohort: int) -> _Central:
    """Noise of a cohort's rounds and what they cost."""
    rate, rounds, delta = cohort / question.population, question.rounds, question.delta
    noise = question.noise_multiplier
    if noise is None:
        assert question.epsilon is not None
        noise = noise_multiplier_for(
            question.epsilon,
            rate,
            rounds,
            delta,
            sampling=question.sampling,
            relation=question.relation,
        )
    spent = accountant_for(question.sampling, question.relation)
    tight = spent(noise, rate, rounds, delta)
    return _Central(noise, tight, spent(noise, rate, rounds, delta, accountant="rdp"))


def _upload_epsilon(
    question: Question, name: str, central: Callable[[int], _Central]
) -> float | None:
    """Of one upload; in regime local the same as the central regimes have in all."""
    if name == "central-local":
        return question.local_epsilon
    if name != "local":
        return None
    if question.epsilon is not None:
        return question.epsilon
    assert question.cohort is not None
    return central(question.cohort).epsilon


def _most_uploads(question: Question, rate: float) -> int:
    """How often the user uploads who is drawn most: less than one user is expected beyond."""
    from scipy.stats import binom

    beyond = int(binom.isf(1 / question.population, question.rounds, rate))
    # Of one user alone the quantile says nothing; no maximum is below the mean. In a rate from
    # division the last bit may be wrong, which must not add a round.
    mean = math.ceil(round(rate * question.rounds, 6))
    return min(question.rounds, max(1, beyond, mean))


def _composed(epsilon: float, delta: float, uploads: int) -> float:
    """Epsilon of uploads with the same local noise; Gaussian noise composes exactly."""
    if delta == 0:
        return rounded_up(epsilon * uploads)
    z = gaussian_noise_multiplier(epsilon, delta) / math.sqrt(uploads)
    together = turning_point(
        lambda wanted: gaussian_delta(wanted, z) <= delta, 0.0, epsilon * uploads + 1
    )
    return rounded_up(together)


def _number(value: Any) -> Any:
    # JSON has no infinity.
    return "inf" if value == math.inf else value
