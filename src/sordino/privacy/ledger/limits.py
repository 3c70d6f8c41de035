"""Which limits hold for a release, and whether it keeps them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sordino.errors import UsageError
from sordino.privacy.ledger.account import Account, Entry
from sordino.privacy.ledger.composition import Limit, basic, within

Limits = Mapping[str | None, Limit]
"""Limits by purpose; None for all purposes together."""


def spend(
    account: Account, entry: Entry, number: int, limits: Limits, given: Limit | None
) -> Account:
    """An account with further releases, if they keep every limit for them.

    Args:
        account: what was released before.
        entry: what is about to be released.
        number: how often.
        limits: those that are set for the person.
        given: a further one, for the purpose of these releases.

    Raises:
        UsageError: a limit would be passed, or there is none.

    Example:
        >>> from sordino.privacy.ledger.account import Cost
        >>> entry = Entry("log-in", Cost(15.0))
        >>> account = spend(Account(), entry, 2, {"log-in": Limit(30.0)}, None)
        >>> spend(account, entry, 1, {"log-in": Limit(30.0)}, None)
        Traceback (most recent call last):
        sordino.errors.UsageError: 1 more release would pass the limit for 'log-in': epsilon 30 ...
    """
    scopes = [scope for scope in (entry.purpose, None) if scope in limits]
    chosen = [(scope, limits[scope]) for scope in scopes]
    if given is not None:
        chosen.append((entry.purpose, given))
    if not chosen:
        raise UsageError(
            f"no limit is set for {entry.purpose!r}; set one with: sordino ledger limit EPSILON"
            f" --purpose {entry.purpose!r}"
        )
    after = account.with_releases(entry, number)
    for scope, limit in chosen:
        if not within(after.spending(scope), limit):
            raise UsageError(_refusal(account, after, scope, limit))
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
