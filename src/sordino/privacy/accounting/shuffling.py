"""What it is worth that nobody knows which report is whose."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sordino.errors import UsageError
from sordino.privacy.accounting.rounding import rounded_up
from sordino.privacy.mechanisms.calibration import turning_point
from sordino.privacy.mechanisms.checks import checked_delta, checked_epsilon
from sordino.privacy.randomness import FloatArray, IntArray

_MOST_REPORTS = 10**9
# Parts of delta that are left out of sums, and added to what they give.
_TAIL = 1e-4
# A gain of less is none.
_GAIN = 0.99
# Beyond, hiding is out of question, and exp is large.
_LARGEST_EPSILON = 300.0


@dataclass(frozen=True)
class Shuffled:
    """What one round of shuffled reports guarantees to each who reports.

    Attributes:
        epsilon: after shuffling, rounded up; the local one where shuffling gains nothing.
        local_epsilon: of each report before.
        reports: how many there are.
        delta: of `epsilon`.
    """

    epsilon: float
    local_epsilon: float
    reports: int
    delta: float

    @property
    def amplified(self) -> bool:
        """Whether shuffling gains anything worth the name."""
        return self.epsilon < _GAIN * self.local_epsilon

    @property
    def sentence(self) -> str:
        """The same in words."""
        if self.amplified:
            return (
                f"shuffled among {self.reports:,} reports, epsilon {self.local_epsilon:g} of a"
                f" report counts as {self.epsilon:g} at delta {self.delta:g}"
            )
        needed = 100 * math.exp(self.local_epsilon)
        return (
            f"no amplification: epsilon {self.local_epsilon:g} stays {self.local_epsilon:g} among"
            f" {self.reports:,} reports; hiding among others takes about {needed:.1g} of them"
        )


def shuffled(local_epsilon: float, reports: int, delta: float) -> Shuffled:
    """Epsilon of reports that are put in a random order before anybody sees them.

    Holds for any local mechanism with a pure epsilon, if each user reports once. Another report
    looks with probability exp(-local_epsilon) as if it came from one of the two people whom an
    observer wants to tell apart; the more such, the less is told. Their exact number of possible
    outcomes is summed up here, not a closed formula.

    Args:
        local_epsilon: of one report, with delta 0; up to 300.
        reports: how many are shuffled, up to 1e9.
        delta: between 0 and 1.

    Raises:
        UsageError: an argument is out of range.

    Example:
        >>> shuffled(4.0, 100_000, 1e-6).epsilon < 0.18
        True
        >>> shuffled(25.0, 10_000_000, 1e-6).amplified
        False

    Source: V. Feldman, A. McMillan and K. Talwar, "Hiding among the clones: a simple and nearly
    optimal analysis of privacy amplification by shuffling", 2021, theorem 3.2.
    """
    checked_epsilon(local_epsilon, largest=_LARGEST_EPSILON)
    checked_delta(delta)
    if not 1 <= reports <= _MOST_REPORTS or reports % 1 != 0:
        raise UsageError(f"reports {reports} is not a whole number from 1 to {_MOST_REPORTS:,}")
    counts, chances, left_out = _clones(local_epsilon, int(reports), delta)

    def suffices(epsilon: float) -> bool:
        return _delta(epsilon, local_epsilon, counts, chances) + left_out <= delta

    if suffices(0.0):
        epsilon = 0.0
    elif not suffices(local_epsilon * (1 - 1e-9)):
        epsilon = local_epsilon
    else:
        epsilon = turning_point(suffices, 0.0, local_epsilon)
    return Shuffled(min(rounded_up(epsilon), local_epsilon), local_epsilon, int(reports), delta)


def _clones(local_epsilon: float, reports: int, delta: float) -> tuple[IntArray, FloatArray, float]:
    """How many others may look like one of the two, how likely, and how likely are others."""
    from scipy.stats import binom

    law = binom(reports - 1, math.exp(-local_epsilon))
    tail = delta * _TAIL
    lowest, highest = int(law.ppf(tail)), int(law.isf(tail))
    counts = np.arange(max(lowest, 0), highest + 1)
    return counts, law.pmf(counts), 2 * tail


def _delta(epsilon: float, local_epsilon: float, counts: IntArray, chances: FloatArray) -> float:
    """The delta of an epsilon below the local one, from numbers of clones and their chances.

    Of c clones, half look like the one and half like the other, each by chance; so of c + 1 reports
    a look like the one, the own among them with probability p if it is true, and 1 - p if not. Both
    likelihoods differ most where a is large: above `least`, the first is more than exp(epsilon)
    times the second.
    """
    from scipy.stats import binom

    own, ratio = math.exp(local_epsilon), math.exp(epsilon)
    # Counted from the top, where floats can tell numbers just below all of them apart.
    from_top = (own - ratio) / ((own - 1) * (ratio + 1))
    least = counts + 1 - np.ceil((counts + 1) * from_top)
    p, rest = own / (own + 1), 1 / (own + 1)
    others_more, others = binom.sf(least - 1, counts, 0.5), binom.sf(least, counts, 0.5)
    true = p * others_more + rest * others
    false = rest * others_more + p * others
    return float(chances @ np.maximum(true - ratio * false, 0.0))
