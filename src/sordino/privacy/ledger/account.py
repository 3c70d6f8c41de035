"""What one person has spent, for which purposes and by which mechanisms."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, Protocol

from sordino.errors import UsageError
from sordino.privacy.ledger.composition import (
    Guarantee,
    Releases,
    advanced,
    basic,
    check_cost,
)

DEFAULT_SLACK = 1e-6
"""What advanced composition adds to delta if nothing else is said."""


class Priced(Protocol):
    """Anything that states what one release costs."""

    @property
    def epsilon(self) -> float:
        """Of one release, rounded up; infinite where nothing is guaranteed."""

    @property
    def delta(self) -> float:
        """Of one release."""

    def statement(self) -> Mapping[str, object]:
        """The guarantee in a form for JSON: the mechanism's name and all that it depends on."""


@dataclass(frozen=True)
class Cost:
    """What one release costs, for releases that are made elsewhere.

    Args:
        epsilon: from 0 to a million, or infinite.
        delta: from 0 to below 1.
        mechanism: what it is called when spending is shown.

    Raises:
        UsageError: a number is out of its range.

    Example:
        >>> Cost(15.0).statement()["mechanism"]
        'stated'
    """

    epsilon: float
    delta: float = 0.0
    mechanism: str = "stated"

    def __post_init__(self) -> None:
        check_cost(self.epsilon, self.delta)

    def statement(self) -> Mapping[str, object]:
        """The three of them."""
        return {
            "mechanism": self.mechanism,
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
        }


def cost_of(mechanism: Priced) -> Cost:
    """What a release by a mechanism is charged with.

    Returns:
        Its epsilon and delta; an infinite epsilon where its statement says `guarantee: false`.

    Raises:
        UsageError: it states no such cost.
    """
    statement = mechanism.statement()
    epsilon = math.inf if statement.get("guarantee") is False else float(mechanism.epsilon)
    name = statement.get("mechanism", type(mechanism).__name__)
    return Cost(epsilon, float(mechanism.delta), str(name))


def canonical(mechanism: Priced) -> str:
    """What a mechanism states, as text that is equal where it states the same.

    Raises:
        UsageError: the statement cannot be written as JSON.

    Example:
        >>> canonical(Cost(15.0)) == canonical(Cost(15))
        True
    """
    numbers = float(mechanism.epsilon), float(mechanism.delta)
    try:
        return json.dumps([*numbers, dict(mechanism.statement())], sort_keys=True)
    except (TypeError, ValueError) as error:
        raise UsageError(f"the statement of a mechanism is not for JSON: {error}") from error


class Entry(NamedTuple):
    """Releases of one kind.

    Attributes:
        purpose: what for.
        cost: of each.
    """

    purpose: str
    cost: Cost


@dataclass(frozen=True)
class Account:
    """How many releases of each kind there were.

    Attributes:
        entries: numbers of 1 or more.

    Example:
        >>> account = Account().with_releases(Entry("log-in", Cost(15.0)), 2)
        >>> account.spending("log-in"), account.spending("survey")
        ([Releases(epsilon=15.0, delta=0.0, number=2)], [])
    """

    entries: Mapping[Entry, int] = field(default_factory=lambda: MappingProxyType({}))

    def with_releases(self, entry: Entry, number: int) -> Account:
        """An account that has further releases."""
        return Account(Counter(self.entries) + Counter({entry: number}))

    def spending(self, purpose: str | None = None) -> list[Releases]:
        """What was spent on a purpose, or on all of them."""
        return [
            Releases(entry.cost.epsilon, entry.cost.delta, number)
            for entry, number in self.entries.items()
            if purpose in (None, entry.purpose)
        ]

    def releases(self, purpose: str | None = None) -> int:
        """How many releases there were for a purpose, or for all of them."""
        return sum(number for _, _, number in self.spending(purpose))

    def purposes(self) -> list[str]:
        """What there were releases for, sorted."""
        return sorted({entry.purpose for entry in self.entries})

    def to_bytes(self) -> bytes:
        """For storage; read back by `from_bytes` without any loss."""
        rows = [
            [purpose, cost.mechanism, float(cost.epsilon).hex(), float(cost.delta).hex(), number]
            for (purpose, cost), number in self.entries.items()
        ]
        return json.dumps(rows).encode("ascii")

    @classmethod
    def from_bytes(cls, stored: bytes | None) -> Account:
        """What `to_bytes` made; an empty account from nothing."""
        rows = json.loads(stored) if stored else []
        return cls(
            {
                Entry(purpose, Cost(float.fromhex(epsilon), float.fromhex(delta), name)): number
                for purpose, name, epsilon, delta, number in rows
            }
        )


@dataclass(frozen=True)
class Spent:
    """What releases have cost in all.

    Attributes:
        releases: how many there were.
        basic: the guarantee that always holds.
        advanced: one with a smaller epsilon and a larger delta, for parameters and a number of
            releases that were chosen beforehand; None where there is no such.
    """

    releases: int
    basic: Guarantee
    advanced: Guarantee | None


def spent_of(
    account: Account, purpose: str | None = None, *, slack: float = DEFAULT_SLACK
) -> Spent:
    """What the releases in an account have cost, on one purpose or on all.

    Args:
        account: the releases.
        purpose: what for; None for all purposes together.
        slack: what advanced composition adds to delta, above 0 and below 1.

    Example:
        >>> spent_of(Account().with_releases(Entry("log-in", Cost(15.0)), 6)).basic.epsilon
        90.0
    """
    spending = account.spending(purpose)
    return Spent(account.releases(purpose), basic(spending), advanced(spending, slack))
