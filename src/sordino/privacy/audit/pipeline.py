"""Audit of everything that happens to a template on its way out, as one black box.

Encoding, clipping, noise and decoding are one function from vectors to protected vectors. It is
run once, on rows whose inputs are secret coins, and the coins are guessed from what came out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.privacy.audit.bounds import rate_at_least
from sordino.privacy.audit.one_run import one_run_epsilon
from sordino.privacy.audit.pair import Release
from sordino.privacy.audit.result import Audit, Finding
from sordino.privacy.audit.statistics import FloatArray, Statistic, learn

# Coins must not come from a stream that a pipeline could draw its noise from.
_STREAM = 0xC0125
_SHARES = 24
_FEWEST = 10
_FEASIBLE = 1e-6


def audit_pipeline(
    release: Release,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    epsilon: float,
    delta: float = 0.0,
    rows: int = 4000,
    statistic: Statistic | None = None,
    false_alarm: float = 1e-3,
    seed: int = 0,
) -> Audit:
    """How much epsilon a pipeline spends on two inputs, at least.

    Two calls: on the first the attacker learns how outputs tell the inputs apart and how many
    coins to guess; the second is the run that counts. With m rows no more than about
    log(m / log(1 / false_alarm)) can be shown: the audit finds half the noise at an epsilon of 2
    or 3 and is blind at 15, where the report says so. A pipeline with additive noise may be held
    to a smaller epsilon for inputs whose codes lie close, and is audited so at any epsilon.

    Args:
        release: shape (n, d) to shape (n, e); n is `rows`, in one call.
        first, second: the inputs, shape (d,); `worst_pair` finds some that are told apart well.
        epsilon: claimed, for these two inputs.
        delta: claimed, in [0, 1).
        rows: coins, at least 100.
        statistic: a score of outputs, high for `first`; by default learnt.
        false_alarm: probability that a true claim fails.
        seed: of the coins.

    Raises:
        UsageError: too few rows, or the inputs do not match.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> def pipeline(x):
        ...     code = np.clip(x @ [[1.0], [-1.0]], -1, 1)
        ...     return np.tanh(code + rng.laplace(scale=1.0, size=code.shape)) @ [[1.0, 2.0]]
        >>> fine = audit_pipeline(pipeline, [1, 0], [0, 1], epsilon=2.0)
        >>> fine.holds, fine.epsilon > 1.4
        (True, True)
        >>> audit_pipeline(pipeline, [1, 0], [0, 1], epsilon=1.0).holds
        False

    Source: T. Steinke, M. Nasr, M. Jagielski, "Privacy auditing with one (1) training run", 2023.
    """
    inputs = np.stack([np.asarray(first, np.float64), np.asarray(second, np.float64)])
    if rows < 100 or inputs.ndim != 2:
        raise UsageError("an audit of a pipeline needs two vectors and at least 100 rows")
    rng = np.random.default_rng([_STREAM, seed])

    coins, released = _run(release, inputs, rows, rng)
    half = rows // 2
    if statistic is None:
        statistic = learn(released[:half][coins[:half]], released[:half][~coins[:half]])
    most, least = _shares(statistic(released[half:]), coins[half:], false_alarm)

    coins, released = _run(release, inputs, rows, rng)
    order = np.argsort(statistic(released), kind="stable")
    lowest, highest = order[: int(least * rows)], order[rows - int(most * rows) :]
    guesses = lowest.size + highest.size
    right = int(np.count_nonzero(coins[highest]) + np.count_nonzero(~coins[lowest]))
    found = one_run_epsilon(rows, guesses, right, delta=delta, false_alarm=false_alarm)
    finding = Finding(
        "whole pipeline in one run",
        found,
        epsilon,
        "epsilon",
        _reach(rows, delta, false_alarm),
        false_alarm,
        f"{right} of {guesses} guesses about {rows} rows were right",
    )
    claim = f"claimed epsilon {epsilon:g}" + (f" at delta {delta:g}" if delta else "")
    return Audit(f"pipeline, {claim}", (finding,))


def worst_pair(
    release: Release, candidates: npt.ArrayLike, *, repeats: int = 64
) -> tuple[FloatArray, FloatArray]:
    """The two of several inputs whose outputs are farthest apart for how much they vary.

    Args:
        release: the pipeline.
        candidates: inputs, shape (k, d) with k at least 2. Give templates of people, and inputs
            that none has: scaled, negated, or made by `crafted_inputs`. A guarantee covers all.
        repeats: releases of each.

    Raises:
        UsageError: fewer than two candidates.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> noisy = lambda x: x + rng.normal(size=x.shape)
        >>> one, other = worst_pair(noisy, [[0.0], [5.0], [-4.0], [1.0]])
        >>> sorted([one.item(), other.item()])
        [-4.0, 5.0]
    """
    inputs = np.asarray(candidates, dtype=np.float64)
    if inputs.ndim != 2 or len(inputs) < 2:
        raise UsageError("a pair is chosen from at least two candidates, shape (k, d)")
    released = np.asarray(release(np.repeat(inputs, repeats, axis=0)), dtype=np.float64)
    groups = released.reshape(len(inputs), repeats, -1)
    centres = groups.mean(axis=1)
    within = np.cov((groups - centres[:, None]).reshape(len(released), -1), rowvar=False)
    values, vectors = np.linalg.eigh(np.atleast_2d(within))
    floor = max(1e-9 * float(values[-1]), np.finfo(np.float64).tiny)
    white = centres @ (vectors / np.sqrt(np.maximum(values, floor)))
    squares = (white**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * white @ white.T
    one, other = np.unravel_index(int(np.argmax(distances)), distances.shape)
    return inputs[one], inputs[other]


def crafted_inputs(
    encode: Release, dimension: int, *, norm: float, samples: int | None = None, seed: int = 0
) -> FloatArray:
    """Inputs for each of which one component of the code stands out.

    Templates of people have codes in which all components share the clipped norm, and noise on
    each hides them well beyond what epsilon promises. The worst inputs put all of it in one
    component. They are found for a layer of weights with rectifiers or another rising function,
    whose weights show in how the code varies with Gaussian inputs.

    Args:
        encode: vectors to codes, shape (n, d) to shape (n, l), before clipping and noise.
        dimension: d.
        norm: of the inputs, Euclidean; large ones drown what the layer adds to the sums.
        samples: inputs to learn from; by default ten for each weight of a component.
        seed: of these.

    Returns:
        Shape (l, d); zero for components that no input raises alone.

    Example:
        >>> weights = np.random.default_rng(1).normal(size=(8, 6))
        >>> encode = lambda x: np.maximum(x @ weights, 0)
        >>> code = encode(crafted_inputs(encode, 8, norm=1.0))
        >>> shares = code / code.sum(axis=1, keepdims=True)
        >>> bool((shares.diagonal() > 0.999).all())
        True
    """
    from scipy.optimize import nnls

    rng = np.random.default_rng([_STREAM, seed])
    size = (samples or 10 * (dimension + 1), dimension)
    inputs = rng.normal(size=size) * (norm / np.sqrt(dimension))
    code = np.asarray(encode(inputs), dtype=np.float64)
    weights = np.stack([_weights(inputs, component) for component in code.T])
    crafted = np.zeros_like(weights)
    for place, own in enumerate(weights):
        # The input that raises this sum most among those that raise no other: what is left of its
        # weights when it is fitted by the others with factors of at least 0.
        others = np.delete(weights, place, axis=0)
        left = own - nnls(others.T, own)[0] @ others
        length = np.linalg.norm(left)
        if length > _FEASIBLE * np.linalg.norm(own):
            crafted[place] = left * (norm / length)
    return crafted


def _weights(inputs: FloatArray, component: FloatArray) -> FloatArray:
    """The inputs' direction along which a component leaves its flat part, by least squares."""
    at_ends = [
        int(np.count_nonzero(component == end)) for end in (component.min(), component.max())
    ]
    falls = at_ends[1] > at_ends[0]
    active = component < component.max() if falls else component > component.min()
    design = np.column_stack([inputs[active], np.ones(int(active.sum()))])
    rise = np.linalg.lstsq(design, component[active], rcond=None)[0][:-1]
    length = max(float(np.linalg.norm(rise)), np.finfo(np.float64).tiny)
    weights: FloatArray = rise / (-length if falls else length)
    return weights


def _run(
    release: Release, inputs: FloatArray, rows: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.bool_], FloatArray]:
    coins = rng.random(rows) < 0.5
    released = np.asarray(release(np.where(coins[:, None], inputs[0], inputs[1])), np.float64)
    return coins, released


def _reach(rows: int, delta: float, false_alarm: float) -> float:
    """The most that right guesses can prove; with a delta not all rows are best guessed."""
    sizes = [rows >> halvings for halvings in range(rows.bit_length())] if delta else [rows]
    return max(
        one_run_epsilon(rows, size, size, delta=delta, false_alarm=false_alarm) for size in sizes
    )


def _shares(
    scores: FloatArray, coins: npt.NDArray[np.bool_], false_alarm: float
) -> tuple[float, float]:
    """Which part of the rows to guess from the top and from the bottom."""
    total = scores.size
    ordered = coins[np.argsort(scores, kind="stable")]
    sizes = np.unique(np.geomspace(_FEWEST, total // 2, _SHARES).astype(np.int64))
    bottom = np.cumsum(~ordered)[sizes - 1]
    top = np.cumsum(ordered[::-1])[sizes - 1]
    guesses = sizes[:, None] + sizes
    accuracy = np.array(
        [
            [float(rate_at_least(t + b, g, false_alarm)) for b, g in zip(bottom, row, strict=True)]
            for t, row in zip(top, guesses, strict=True)
        ]
    )
    most, least = np.unravel_index(int(np.argmax(accuracy)), accuracy.shape)
    return float(sizes[most] / total), float(sizes[least] / total)
