"""What an attacker's scores say: figures of all groups of trials, and the most exposed speakers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sordino.corpus.trials import Trials
from sordino.evaluate.exposure import identification, worst_cases
from sordino.evaluate.privacy import measure
from sordino.evaluate.results import ALL, Attack, WorstCase

_FEWER_DRAWS = 300


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of an attacker.

    Attributes:
        system: who was attacked.
        scenario: see `Attack`.
        attacker: its name.
        scores: shape (trials,).
        trials: theirs.
        groups: which trials belong to each group, shape (trials,); "all" is one of them.
        ratios: whether the scores are calibrated log-likelihood ratios.
        draws: of the bootstrap for the group "all"; others get at most 300.
        seed: of the bootstrap.
    """

    system: str
    scenario: str
    attacker: str
    scores: npt.NDArray[np.floating]
    trials: Trials
    groups: Mapping[str, npt.NDArray[np.bool_]]
    ratios: bool
    draws: int
    seed: int


@dataclass(frozen=True)
class Assessed:
    """What they say: see `Attack` and `WorstCase`."""

    attacks: tuple[Attack, ...]
    worst: tuple[WorstCase, ...]


def assess(job: Scored, advance: Callable[[float], None]) -> Assessed:
    """Work scores out, in whatever process."""
    del advance
    attacks = []
    for group, chosen in job.groups.items():
        whole = group == ALL
        privacy = measure(
            job.scores[chosen],
            job.trials.select(chosen),
            ratios=job.ratios,
            draws=job.draws if whole else min(job.draws, _FEWER_DRAWS),
            seed=job.seed,
            detail=whole,
        )
        if not whole:
            privacy = replace(privacy, det=())
        found = identification(job.scores, job.trials) if whole else None
        attacks.append(Attack(job.system, job.scenario, job.attacker, group, privacy, found))
    worst = worst_cases(
        job.scores,
        job.trials,
        system=job.system,
        scenario=job.scenario,
        attacker=job.attacker,
    )
    return Assessed(tuple(attacks), worst)
