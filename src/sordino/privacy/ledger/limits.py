"""Which limits hold for a release, and whether it keeps them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from sordino.errors import UsageError
from sordino.privacy.ledger.account import Account, Entry
from sordino.privacy.ledger.composition import Limit, basic, within

Limits = Mapping[str | None, Limit]
"""Limits by purpose; None for all purposes together."""


@dataclass(frozen=True)
class Standing:
    """Where a person stands.

    Attributes:
        account: what was released.
        limits: what holds for further releases: own limits, and for other purposes everybody's.
    """

    account: Account
    limits: Limits


def spend(standing: Standing, entry: Entry, number: int, given: Limit | None = None) -> Account:
    """An account with further releases, if they keep every limit for them.

    Args:
        standing: what was released before, and the limits that are set.
        entry: what is about to be released.
        number: how often.
        given: a further limit, for the purpose of these releases.

    Raises:
        UsageError: a limit would be passed, or there is none.

    Example:
        >>> from sordino.privacy.ledger.account import Cost
        >>> entry, limits = Entry("log-in", Cost(15.0)), {"log-in": Limit(30.0)}
        >>> account = spend(Standing(Account(), limits), entry, 2)
        >>> spend(Standing(account, limits), entry, 1)
        Traceback (most recent call last):
        sordino.errors.UsageError: 1 more release would pass the limit for 'log-in': epsilon 30 ...
    """
    chosen = [
        (scope, standing.limits[scope])
        for scope in (entry.purpose, None)
        if scope in standing.limits
    ]
    if given is not None:
        chosen.append((entry.purpose, given))
    if not chosen:
        raise UsageError(
            f"no limit is set for {entry.purpose!r}; set one with: sordino ledger limit EPSILON"
            f" --purpose {entry.purpose!r}"
        )
    after = standing.account.with_releases(entry, number)
    for scope, limit in chosen:
        if not within(after.spending(scope), limit):
            raise UsageError(_refusal(standing.account, after, scope, limit))
    return after


def to_bytes(limits: Limits) -> bytes:
    """For storage; read back by `from_bytes` without any loss."""
    rows = [
        [scope, *(float(number).hex() for number in (limit.epsilon, limit.delta, limit.slack))]
        for scope, limit in limits.items()
    ]
    return json.dumps(rows).encode("ascii")


def from_bytes(stored: bytes | None) -> dict[str | None, Limit]:
    """What `to_bytes` made; no limits from nothing."""
    rows = json.loads(stored) if stored else []
    return {scope: Limit(*map(float.fromhex, numbers)) for scope, *numbers in rows}


def _refusal(before: Account, after: Account, scope: str | None, limit: Limit) -> str:
    number = after.releases(scope) - before.releases(scope)
    old, new = basic(before.spending(scope)), basic(after.spending(scope))
    return (
        f"{number} more release{'' if number == 1 else 's'} would pass the limit for"
        f" {'all purposes' if scope is None else repr(scope)}: epsilon {old.epsilon:.6g} ->"
        f" {new.epsilon:.6g} of {limit.epsilon:.6g}, delta {old.delta:.6g} -> {new.delta:.6g} of"
        f" {limit.delta - limit.slack:.6g}"
    )
