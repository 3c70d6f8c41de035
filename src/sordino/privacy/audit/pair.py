"""How well the releases of two inputs can be told apart, for a mechanism as a black box."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.privacy.audit.bounds import Bound, proved, pure_bound, reach
from sordino.privacy.audit.events import best_event
from sordino.privacy.audit.result import Finding
from sordino.privacy.audit.statistics import FloatArray, Statistic, learn

Release = Callable[[FloatArray], FloatArray]
"""Vectors, shape (n, d), to protected vectors, shape (n, e)."""

_ROWS = 2**14


def lower_bound(
    release: Release,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    statistic: Statistic | None = None,
    *,
    claimed: float,
    trials: int = 40_000,
    false_alarm: float = 1e-3,
    bound: Bound = pure_bound,
    check: str = "two inputs",
) -> Finding:
    """An epsilon that the mechanism spends, proved by counting outcomes on two inputs.

    Half of the releases choose an outcome (and the score, where it is learnt), the other half
    count it. Rows must be released independently of each other; `one_run` does without that.

    Args:
        release: the mechanism.
        first, second: the inputs, shape (d,).
        statistic: a score of released vectors; by default learnt.
        claimed: epsilon for these two inputs, at least 0.
        trials: releases of each input, at least 20.
        false_alarm: probability that the bound lies above the truth.
        bound: what counts prove: `pure_bound`, `approximate_bound(delta)`,
            `gaussian_bound(delta)`.
        check: the finding's name.

    Returns:
        The finding; its `measured` is the lower bound.

    Raises:
        UsageError: too few trials, the inputs do not match, or a release is not finite.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> noisy = lambda x: x + rng.laplace(scale=1.0, size=x.shape)
        >>> found = lower_bound(noisy, [1.0], [-1.0], claimed=2.0)
        >>> found.holds, found.measured > 1.7
        (True, True)
        >>> lower_bound(noisy, [2.0], [-2.0], claimed=2.0).holds
        False

    Source: Z. Ding et al., "Detecting violations of differential privacy", 2018;
    M. Jagielski, J. Ullman, A. Oprea, "Auditing differentially private machine learning", 2020.
    """
    if trials < 20:
        raise UsageError(f"an audit of {trials} trials shows nothing; give at least 20")
    inputs = _rows(first, second)
    spare = trials // 2
    counted = trials - spare
    if statistic is None:
        seen = [np.concatenate(list(_released(release, x, spare))) for x in inputs]
        statistic = learn(seen[0], seen[1])
        trained = statistic(seen[0]), statistic(seen[1])
    else:
        trained = (
            _scores(release, inputs[0], spare, statistic),
            _scores(release, inputs[1], spare, statistic),
        )
    event = best_event(trained, bound, false_alarm)
    hits = [event.hits(_scores(release, x, counted, statistic)) for x in inputs]
    likely, rare = hits[event.favours], hits[1 - event.favours]
    return Finding(
        check,
        float(proved(bound, (likely, rare), counted, false_alarm)),
        claimed,
        "epsilon",
        reach(bound, counted, false_alarm),
        false_alarm,
        f"an outcome occurred {likely} and {rare} times in {counted} releases",
    )


def _rows(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if one.ndim != 1 or one.shape != other.shape:
        raise UsageError(
            f"two inputs of shapes {one.shape} and {other.shape}; give two vectors of one size"
        )
    return one, other


def _released(release: Release, x: FloatArray, trials: int) -> Iterator[FloatArray]:
    for start in range(0, trials, _ROWS):
        rows = min(_ROWS, trials - start)
        released = np.asarray(release(np.tile(x, (rows, 1))), dtype=np.float64)
        if not np.isfinite(released).all():
            raise UsageError("what is audited released NaN or infinity")
        yield released


def _scores(release: Release, x: FloatArray, trials: int, statistic: Statistic) -> FloatArray:
    return np.concatenate([statistic(block) for block in _released(release, x, trials)])
