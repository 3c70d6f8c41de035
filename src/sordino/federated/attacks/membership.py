"""Who was in the training? Users whose examples the final model knows better than others'."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.federated.populations.base import Population
from sordino.federated.regimes import Regime
from sordino.federated.simulate.run import Plan, simulate
from sordino.federated.task import ClassifierTask, Examples, Ints
from sordino.privacy.randomness import FloatArray

_STREAM = 0x3E3B
_MOST_USERS = 2000


def membership(
    population: Population, task: ClassifierTask, regime: Regime, plan: Plan, seed: int
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Train on half of the users, then look how well the model knows each.

    Cohorts are halved too, so that everybody's chance to be in a round is what the plan says.

    Args:
        population: the users.
        task: what is learnt.
        regime: what updates go through.
        plan: rounds and cohorts for all users together.
        seed: decides who is in, initial parameters and noise.

    Returns:
        Minus the mean loss of each of at most 2000 users, and whether they took part, both of
        shape (users,).

    Raises:
        UsageError: there are fewer than 4 users, or things do not fit together.

    Source: S. Yeom et al., "Privacy risk in machine learning: analyzing the connection to
    overfitting", 2018, adversary 2.
    """
    if population.users < 4:
        raise UsageError("membership is told among at least 4 users")
    order = np.random.default_rng([_STREAM, seed]).permutation(population.users)
    half = _Part(population, np.sort(order[: population.users // 2]))
    sampling = replace(plan.sampling, cohort=max(1, plan.sampling.cohort // 2))
    done = simulate(half, task, regime, replace(plan, sampling=sampling), seed)
    count = min(_MOST_USERS, population.users)
    users = np.linspace(0, population.users - 1, count).astype(np.int64)
    inside = np.isin(users, half.chosen)
    return -_losses(task, done.parameters, population.cohort(users)), inside


class _Part(Population):
    """Some of the users of another population."""

    def __init__(self, whole: Population, chosen: Ints) -> None:
        self.users, self.inputs = len(chosen), whole.inputs
        self.classes, self.held_out = whole.classes, whole.held_out
        self.chosen = chosen
        self._whole = whole

    def cohort(self, chosen: Ints) -> Examples:
        return self._whole.cohort(self.chosen[chosen])

    def facts(self) -> dict[str, Any]:
        return {**self._whole.facts(), "users": self.users, "part": True}


def _losses(
    task: ClassifierTask, parameters: npt.NDArray[np.float32], examples: Examples
) -> FloatArray:
    """Mean cross-entropy of each user's examples, shape (users,)."""
    from scipy.special import log_softmax

    flat = examples.vectors.reshape(-1, task.inputs)
    logits = task.logits(parameters, flat).astype(np.float64)
    logs = log_softmax(logits, axis=1)[np.arange(len(flat)), examples.labels.ravel()]
    logs = logs.reshape(examples.labels.shape)
    real = np.arange(examples.labels.shape[1]) < examples.counts[:, None]
    losses: FloatArray = -np.where(real, logs, 0.0).sum(axis=1) / examples.counts
    return losses
