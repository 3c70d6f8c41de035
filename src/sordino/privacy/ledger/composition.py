"""What several releases guarantee together.

All sums are exact and rounded up once, so that a figure is never below what was spent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from sordino.errors import UsageError

LARGEST_EPSILON = 1e6
"""Above this an epsilon says nothing, and is to be given as infinite."""

# A mechanism for epsilon 15 proves 15.000000000000002; six of them have to fit into 90.
_TOLERANCE = 1 + Fraction(1, 10**9)
# Wider than what a few roundings of float64 can lose.
_ROUNDING = 1 + 1e-12


class Guarantee(NamedTuple):
    """Differential privacy with these parameters.

    Attributes:
        epsilon: 0 or more; infinite where nothing is guaranteed.
        delta: from 0 to 1.
    """

    epsilon: float
    delta: float


class Releases(NamedTuple):
    """Releases that cost the same.

    Attributes:
        epsilon: of each.
        delta: of each.
        number: how many, 1 or more.
    """

    epsilon: float
    delta: float
    number: int


@dataclass(frozen=True)
class Limit:
    """What may be spent in all.

    Args:
        epsilon: above 0; infinite for no limit.
        delta: from 0 up to below 1; what is not slack is for the deltas of the releases.
        slack: how much of delta pays for advanced composition; 0 for basic composition only.

    Raises:
        UsageError: a number is out of its range.

    Example:
        >>> Limit(90.0)
        Limit(epsilon=90.0, delta=0.0, slack=0.0)
    """

    epsilon: float
    delta: float = 0.0
    slack: float = 0.0

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise UsageError(f"a limit needs an epsilon above 0, not {self.epsilon:g}")
        if not 0 <= self.delta < 1:
            raise UsageError(f"the delta of a limit is from 0 to below 1, not {self.delta:g}")
        if not 0 <= self.slack <= self.delta:
            raise UsageError(
                f"the slack of a limit is a part of its delta {self.delta:g}, not {self.slack:g}"
            )


def check_cost(epsilon: float, delta: float) -> None:
    """Refuse what is no parameter of differential privacy.

    Raises:
        UsageError: epsilon is not from 0 to a million nor infinite, or delta is not in [0, 1).
    """
    if not 0 <= epsilon <= LARGEST_EPSILON and epsilon != math.inf:
        raise UsageError(
            f"the epsilon of a release is from 0 to {LARGEST_EPSILON:g}, or inf; not {epsilon:g}"
        )
    if not 0 <= delta < 1:
        raise UsageError(f"the delta of a release is from 0 to below 1, not {delta:g}")


def basic(spending: Iterable[Releases]) -> Guarantee:
    """Basic composition: epsilons and deltas add up, whatever the releases depend on.

    Args:
        spending: what was released.

    Example:
        >>> basic([Releases(15.0, 0.0, 6)])
        Guarantee(epsilon=90.0, delta=0.0)

    Source: C. Dwork and A. Roth, "The algorithmic foundations of differential privacy", 2014,
    theorem 3.16.
    """
    known = list(spending)
    epsilon = math.inf if _unbounded(known) else _rounded_up(_sum_of_epsilons(known))
    return Guarantee(epsilon, min(1.0, _rounded_up(_sum_of_deltas(known))))


def advanced(spending: Iterable[Releases], slack: float) -> Guarantee | None:
    """Advanced composition of releases with different parameters.

    It holds where epsilons, deltas and the number of releases do not depend on what earlier
    releases showed; for those that may, see `within`.

    Args:
        spending: what was released.
        slack: what is added to delta for a smaller epsilon, above 0 and below 1.

    Returns:
        The guarantee; None where its epsilon is not smaller than that of basic composition.

    Raises:
        UsageError: the slack is out of its range.

    Example:
        >>> found = advanced([Releases(0.1, 0.0, 100)], slack=1e-6)
        >>> f"{found.epsilon:.4f} {found.delta:.1e}"
        '5.7561 1.0e-06'

    Source: P. Kairouz, S. Oh and P. Viswanath, "The composition theorem for differential privacy",
    IEEE Transactions on Information Theory 63(6), 2017, theorem 3.5.
    """
    if not 0 < slack < 1:
        raise UsageError(f"a slack is above 0 and below 1, not {slack:g}")
    known = list(spending)
    if _unbounded(known):
        return None
    drift = math.fsum(n * epsilon * math.tanh(epsilon / 2) for epsilon, _, n in known)
    squares = float(_sum_of_squares(known))
    log_terms = -math.log(slack), math.log(math.e + math.sqrt(squares) / slack)
    epsilon = (drift + math.sqrt(2 * squares * min(log_terms))) * _ROUNDING
    if not epsilon < basic(known).epsilon:
        return None
    kept = math.log1p(-slack) + math.fsum(n * math.log1p(-delta) for _, delta, n in known)
    return Guarantee(epsilon, min(1.0, -math.expm1(kept) * _ROUNDING))


def within(spending: Iterable[Releases], limit: Limit) -> bool:
    """Tell whether releases keep a limit, also if each was chosen after seeing those before it.

    With slack, that is a privacy filter: as long as it is asked before each release, all of them
    together have the guarantee of the limit.

    Args:
        spending: what was released, with what is about to be.
        limit: what may be spent; it counts as kept up to one part in a billion above it.

    Example:
        >>> [within([Releases(15.0, 0.0, number)], Limit(90.0)) for number in (6, 7)]
        [True, False]
        >>> within([Releases(0.1, 0.0, 100)], Limit(6.0, delta=1e-6, slack=1e-6))
        True

    Source: J. Whitehouse, A. Ramdas, R. Rogers and Z. S. Wu, "Fully-adaptive composition in
    differential privacy", ICML 2023 (the filter for approximate differential privacy).
    """
    known = list(spending)
    # The slack is set aside also where basic composition is enough: which of the two rules lets the
    # last release through may depend on what the others showed.
    if _sum_of_deltas(known) > (Fraction(limit.delta) - Fraction(limit.slack)) * _TOLERANCE:
        return False
    if limit.epsilon == math.inf:
        return True
    if _unbounded(known):
        return False
    most = Fraction(limit.epsilon) * _TOLERANCE
    if _sum_of_epsilons(known) <= most:
        return True
    if limit.slack == 0:
        return False
    squares = float(_sum_of_squares(known))
    filtered = squares / 2 + math.sqrt(-2 * squares * math.log(limit.slack))
    return Fraction(filtered * _ROUNDING) <= most


def _unbounded(spending: Sequence[Releases]) -> bool:
    return any(epsilon == math.inf for epsilon, _, _ in spending)


def _sum_of_epsilons(spending: Sequence[Releases]) -> Fraction:
    return sum((n * Fraction(epsilon) for epsilon, _, n in spending), Fraction())


def _sum_of_squares(spending: Sequence[Releases]) -> Fraction:
    return sum((n * Fraction(epsilon) ** 2 for epsilon, _, n in spending), Fraction())


def _sum_of_deltas(spending: Sequence[Releases]) -> Fraction:
    return sum((n * Fraction(delta) for _, delta, n in spending), Fraction())


def _rounded_up(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
