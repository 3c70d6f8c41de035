"""The first layer tells what it was fed: a user's input, from the user's upload.

For one example x the change of a linear layer is a sum over local steps of g x^T in its weights and
of g in its biases: a matrix of rank one, of which each row over its bias is x. With noise, the best
matrix of rank one is the best guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.federated.populations.base import Population
from sordino.federated.regimes import Regime
from sordino.federated.task import ClassifierTask, Examples
from sordino.privacy.randomness import FloatArray, IntArray, Randomness, SeededRandomness

View = Literal["upload", "model"]

_STREAM = 0x1EA4
_BLOCK = 2**22


@dataclass(frozen=True, eq=False)
class Leak:
    """What an attacker got of each user, shape (seeds, users) each.

    Attributes:
        cosine: of the recovered and the true input.
        found: whether of all users' inputs the true one is nearest to the recovered one.
        matched: whether an attacker who holds all users' examples, and lacks only whose upload this
            is, picks the true one.
    """

    cosine: FloatArray
    found: npt.NDArray[np.bool_]
    matched: npt.NDArray[np.bool_]


def recovered_inputs(task: ClassifierTask, changes: npt.ArrayLike) -> FloatArray:
    """What the first layer was fed, from changes of all parameters.

    Args:
        task: whose parameters they are.
        changes: shape (n, d), each from one example, in any scale.

    Returns:
        Shape (n, inputs), as the network gets them: see `ClassifierTask.prepared`.

    Raises:
        UsageError: the shape does not fit.

    Example:
        >>> task = ClassifierTask(inputs=3, classes=("F", "M"), standardise=False)
        >>> one = Examples.of([[1.0, -2.0, 0.5]], [1])
        >>> recovered_inputs(task, task.updates(task.initial(0), one)).round(3).tolist()
        [[1.0, -2.0, 0.5]]

    Source: L. T. Phong et al., "Privacy-preserving deep learning via additively homomorphic
    encryption", 2018, section III, on the gradients of one example.
    """
    rows = np.asarray(changes, dtype=np.float64)
    width = (*task.hidden, len(task.classes))[0]
    if rows.ndim != 2 or rows.shape[1] != task.dimension:
        raise UsageError(f"changes have shape {rows.shape}; expected (n, {task.dimension})")
    weights, biases = np.split(rows[:, : width * (task.inputs + 1)], [width * task.inputs], axis=1)
    layer = np.concatenate([weights.reshape(-1, width, task.inputs), biases[:, :, None]], axis=2)
    # The first right singular vector is the input with a 1 for the bias, up to a factor.
    shares = np.linalg.eigh(layer @ layer.transpose(0, 2, 1))[1][:, :, -1]
    fed = np.einsum("nw,nwi->ni", shares, layer)
    bias = np.where(fed[:, -1:] == 0, 1.0, fed[:, -1:])
    recovered: FloatArray = fed[:, :-1] / bias
    return recovered


def single_examples(population: Population, most: int) -> Examples:
    """One example of each of some users, no two alike.

    Args:
        population: the users, of whom some are taken evenly.
        most: how many of them.

    Raises:
        UsageError: fewer than 2 are left.
    """
    count = min(most, population.users)
    held = population.cohort(np.linspace(0, population.users - 1, count).astype(np.int64))
    _, first = np.unique(held.vectors[:, 0], axis=0, return_index=True)
    kept = np.sort(first)
    if len(kept) < 2:
        raise UsageError("an attack on users needs at least 2 whose examples differ")
    return Examples(
        held.vectors[kept, :1], held.labels[kept, :1], np.ones(len(kept), dtype=np.int64)
    )


def leak(
    task: ClassifierTask,
    regime: Regime,
    examples: Examples,
    seeds: range,
    *,
    view: View = "upload",
) -> Leak:
    """Recover every user's input from one round.

    Args:
        task: what is learnt; a seed decides where it starts.
        regime: what updates go through.
        examples: one of each user, no two alike.
        seeds: of initial parameters and noise.
        view: "upload", what the server gets of a user; or "model", what the released model tells
            those who know all other uploads of the round, so that central noise alone is left.

    Raises:
        UsageError: a user has more than one example.

    Example:
        >>> task = ClassifierTask(inputs=8, classes=("F", "M"), hidden=(4,))
        >>> users = np.random.default_rng(0).normal(size=(5, 8))
        >>> examples = Examples.stacked([(user[None], [0]) for user in users])
        >>> bare = leak(task, Regime.unprotected(task.dimension, 1.0), examples, range(1))
        >>> bool(bare.cosine.min() > 0.999), bool(bare.found.all())
        (True, True)
    """
    if (examples.counts != 1).any():
        raise UsageError("the first layer tells single inputs: give one example of each user")
    truth = task.prepared(examples.vectors[:, 0]).astype(np.float64)
    own = np.arange(len(examples))
    cosines, found, matched = [], [], []
    for seed in seeds:
        updates = task.updates(task.initial(seed), examples)
        randomness = SeededRandomness((_STREAM << 64) + seed)
        known = regime.clipped(updates)
        near, guess = [], []
        size = max(1, _BLOCK // task.dimension)
        for start in range(0, len(updates), size):
            seen = _seen(regime, updates[start : start + size], view, randomness)
            near.append(_cosines(recovered_inputs(task, seen), truth))
            guess.append(_likeliest(seen, known, regime))
        similar = np.concatenate(near)
        cosines.append(similar[own, own])
        found.append(similar.argmax(axis=1) == own)
        matched.append(np.concatenate(guess) == own)
    return Leak(np.array(cosines), np.array(found), np.array(matched))


def matching_bound(epsilon: float, delta: float, users: int) -> float:
    """The largest part of users that can be matched on average, whoever tries.

    Args:
        epsilon: of one upload, for any two users.
        delta: of one upload.
        users: among whom to choose.

    Example:
        >>> round(matching_bound(2.0, 0.0, 100), 4)
        0.0695
    """
    odds = (users - 1) * float(np.exp(-epsilon))
    return min(1.0, (1 + odds * delta) / (1 + odds))


def _seen(
    regime: Regime, updates: npt.NDArray[np.float32], view: View, randomness: Randomness
) -> FloatArray:
    points: IntArray = regime.protect(updates, randomness).points
    if view == "model":
        points = points + np.stack([regime.noise(randomness) for _ in points])
    return regime.grid.vectors(points)


def _likeliest(seen: FloatArray, known: FloatArray, regime: Regime) -> IntArray:
    """Which known update explains best what was seen."""
    score = seen @ known.T
    squares = np.square(known).sum(axis=1)
    if regime.mechanism == "privunit":
        # What is released depends on directions most.
        score /= np.sqrt(np.maximum(squares, np.finfo(np.float64).tiny))
    else:
        score -= squares / 2
    best: IntArray = score.argmax(axis=1)
    return best


def _cosines(rows: FloatArray, others: FloatArray) -> FloatArray:
    """Cosine of each row with each other row; 0 for zeros."""
    sides = []
    for side in (rows, others):
        norms = np.linalg.norm(side, axis=1, keepdims=True)
        sides.append(side / np.where(norms > 0, norms, 1.0))
    cosines: FloatArray = sides[0] @ sides[1].T
    return cosines
