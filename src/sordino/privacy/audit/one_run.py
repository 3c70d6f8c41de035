"""What right guesses about many secret coins prove, when all were used in one run.

Before the run each row's input is drawn by a coin from two candidates. From everything that the
run put out, an attacker guesses as many coins as they like. Under differential privacy no more
guesses can be right than the accuracy of randomised response allows; nothing is assumed about how
rows influence each other.

Source: T. Steinke, M. Nasr, M. Jagielski, "Privacy auditing with one (1) training run", 2023,
theorem 5.2 and corollary 5.4.
"""

from __future__ import annotations

import math

import numpy as np

from sordino.errors import UsageError
from sordino.privacy.audit.bounds import rate_at_least

_GRID = 64
_STEPS = 40


def one_run_p_value(rows: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """Probability, at most, of so many right guesses under (epsilon, delta)-privacy.

    Args:
        rows: coins that were thrown.
        guesses: coins that were guessed, at most `rows`; how many must not depend on the run.
        right: guesses that were right.
        epsilon: at least 0.
        delta: in [0, 1].

    Raises:
        UsageError: an argument is out of its range.

    Example:
        >>> round(one_run_p_value(100, 100, 75, np.log(3), 0.0), 3)
        0.553
    """
    from scipy.stats import binom

    _check(rows, guesses, right, delta)
    if not epsilon >= 0:
        raise UsageError(f"an epsilon of {epsilon} is below 0")
    accuracy = 1 / (1 + math.exp(-epsilon))
    chance = float(binom.sf(right - 1, guesses, accuracy))
    if delta == 0 or right == 0:
        return chance
    lost = np.arange(1, right + 1)
    near_misses = np.cumsum(binom.pmf(right - lost, guesses, accuracy))
    worst = float((near_misses / lost).max())
    return min(1.0, chance + 2 * rows * delta * worst)


def one_run_epsilon(
    rows: int, guesses: int, right: int, *, delta: float = 0.0, false_alarm: float = 0.05
) -> float:
    """The epsilon that so many right guesses prove to be spent.

    Args:
        rows, guesses, right, delta: as for `one_run_p_value`.
        false_alarm: probability that the result lies above the truth.

    Example:
        >>> round(one_run_epsilon(1000, 100, 75, delta=1e-4), 3)
        0.673
        >>> round(one_run_epsilon(1000, 1000, 1000), 1)
        5.8
    """
    _check(rows, guesses, right, delta)
    if guesses == 0 or right == 0:
        return 0.0
    accuracy = float(rate_at_least(right, guesses, false_alarm))
    top = max(0.0, math.log(accuracy / (1 - accuracy)))
    if delta == 0 or top == 0:
        return top

    def refuted(epsilon: float) -> bool:
        return one_run_p_value(rows, guesses, right, epsilon, delta) < false_alarm

    # Up to the first epsilon that is not refuted: all smaller ones must be.
    grid = np.linspace(0, top, _GRID).tolist()
    allowed = next((place for place, value in enumerate(grid) if not refuted(value)), _GRID)
    if allowed == 0:
        return 0.0
    if allowed == _GRID:
        return top
    low, high = grid[allowed - 1], grid[allowed]
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return float(low)


def _check(rows: int, guesses: int, right: int, delta: float) -> None:
    if not 0 <= right <= guesses <= rows or rows < 1:
        raise UsageError(
            f"{right} right of {guesses} guesses about {rows} rows; none may exceed the next"
        )
    if not 0 <= delta <= 1:
        raise UsageError(f"a delta of {delta} is not in [0, 1]")
