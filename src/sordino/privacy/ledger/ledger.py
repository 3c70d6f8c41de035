"""Counts what each release of a person's data costs, before it is released.

A release is counted and its result remembered in one transaction, and only then handed out: what
was handed out is always counted, and what was lost on the way costs nothing.
"""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sordino.errors import SordinoError, StoreError, UsageError
from sordino.privacy.keys import SecretKey
from sordino.privacy.ledger import limits, memo
from sordino.privacy.ledger.account import (
    DEFAULT_SLACK,
    Account,
    Cost,
    Entry,
    Priced,
    Spent,
    canonical,
    cost_of,
    spent_of,
)
from sordino.privacy.ledger.composition import Guarantee, Limit, basic
from sordino.privacy.ledger.limits import Limits, Standing
from sordino.privacy.ledger.memo import Vectors
from sordino.privacy.ledger.store import Records, Store

LEDGER_VARIABLE = "SORDINO_LEDGER"

_LONGEST_NAME = 256
_ACCOUNT, _LIMITS, _MEMO = "account", "limits", "memo"
# The owner of what holds for everybody; a pseudonym is never empty.
_EVERYBODY = ""


class Releasing(Priced, Protocol):
    """A randomised mechanism that states what one release costs."""

    def release(self, x: Vectors) -> npt.NDArray[np.floating]:
        """Protect vectors, shape (n, d), each for itself."""


@dataclass(frozen=True)
class Charge:
    """Releases that have been counted and may be made now.

    Attributes:
        person: the pseudonym.
        purpose: what for.
        cost: of each.
        releases: how many.
        spent: what the person has spent on the purpose with them, by basic composition.
    """

    person: str
    purpose: str
    cost: Cost
    releases: int
    spent: Guarantee


@dataclass(frozen=True)
class Forgotten:
    """What was removed.

    Attributes:
        templates: how many remembered results.
        releases: how many releases that are no longer counted.
    """

    templates: int
    releases: int


class _Asked(NamedTuple):
    """A request: whose, by name and pseudonym, and where its result is remembered."""

    person: str
    owner: str
    place: bytes


class Ledger:
    """What releases have cost each person, in a file that many programs may use at once.

    People are known by pseudonyms that cannot be told without the key. Limits are checked and
    spending is written in one step. One object serves all threads, and processes that are split
    off. Every method raises the `OutputError` and the `StoreError` below as well.

    Args:
        path: the file; `<path>.key` beside it holds its key, unless one is given.
        key: a secret that lasts; None for the file beside it.
        create: make the ledger where there is none.
        wait: how many seconds another program may hold the file before that is an error.

    Raises:
        UsageError: there is no such ledger, or the key is missing or another one.
        OutputError: the file cannot be made, opened or written.
        StoreError: it is no ledger or damaged, or another program holds it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = Ledger(Path(folder, "ledger"), create=True)
        ...     _ = ledger.set_limit(Limit(30.0), purpose="log-in")
        ...     for _ in range(2):
        ...         charge = ledger.charge("anna", "log-in", Cost(15.0))
        ...     charge.spent.epsilon, ledger.spent("anna").releases
        (30.0, 2)
    """

    def __init__(
        self,
        path: Path | str,
        key: SecretKey | None = None,
        *,
        create: bool = False,
        wait: float = 30.0,
    ) -> None:
        self._store = Store(Path(path), key, create=create, wait=wait)

    @property
    def path(self) -> Path:
        """The file."""
        return self._store.path

    def charge(
        self,
        person: str,
        purpose: str,
        mechanism: Priced,
        *,
        releases: int = 1,
        limit: Limit | float | None = None,
    ) -> Charge:
        """Count releases that are made elsewhere, and only after this has returned.

        Args:
            person: whose data, 1 to 256 characters, compared in NFC form.
            purpose: what for, likewise.
            mechanism: what tells the cost of each release: a mechanism, or a `Cost`.
            releases: how many, 1 or more.
            limit: what may be spent on the purpose, beside the limits that are set; a number is
                an epsilon.

        Raises:
            UsageError: a limit would be passed or there is none; nothing has been counted.
        """
        if releases < 1:
            raise UsageError(f"at least 1 release is charged, not {releases}")
        entry = Entry(_checked("purpose", purpose), cost_of(mechanism))
        with self._store.transaction(write=True) as records:
            account = self._charge(records, person, entry, releases, _limit(limit))
        spent = basic(account.spending(entry.purpose))
        return Charge(self.pseudonym(person), entry.purpose, entry.cost, releases, spent)

    def release(
        self,
        person: str,
        purpose: str,
        vector: npt.ArrayLike,
        mechanism: Releasing,
        *,
        name: str | None = None,
        limit: Limit | float | None = None,
    ) -> Vectors:
        """Protect a vector of a person and count it; what was asked before costs nothing.

        Args:
            person: whose vector, 1 to 256 characters, compared in NFC form.
            purpose: what for, likewise.
            vector: finite numbers, shape (d,).
            mechanism: what protects it.
            name: what this release is called; for the same name, purpose and mechanism the same
                result comes again, whatever the vector is. None: for the same vector, to the last
                bit.
            limit: as for `charge`.

        Returns:
            The protected vector, shape (k,).

        Raises:
            UsageError: as for `charge`, or the vector is none.
        """
        rows = np.asarray(vector, dtype=np.float64)[np.newaxis]
        names = None if name is None else [name]
        protected: Vectors = self.release_all(
            [person], purpose, rows, mechanism, names=names, limit=limit
        )[0]
        return protected

    def release_all(
        self,
        people: Sequence[str],
        purpose: str,
        vectors: npt.ArrayLike,
        mechanism: Releasing,
        *,
        names: Sequence[str] | None = None,
        limit: Limit | float | None = None,
    ) -> Vectors:
        """Protect vectors of many people: all of them or, on error, none.

        Args:
            people: whose vectors, n names; they may repeat.
            purpose: what for.
            vectors: finite numbers, shape (n, d).
            mechanism: what protects them.
            names: what the releases are called, n names; see `release`.
            limit: what may be spent on the purpose for each person; see `charge`.

        Returns:
            The protected vectors, shape (n, k).

        Raises:
            UsageError: as for `release`.
        """
        rows = _checked_vectors(vectors, people)
        entry, given = Entry(_checked("purpose", purpose), cost_of(mechanism)), _limit(limit)
        asked = self._asked(people, entry.purpose, mechanism, _requests(rows, names))
        with self._store.transaction(write=False) as records:
            found = _remembered(records, asked)
        missing: dict[_Asked, int] = {}
        for row, one in enumerate(asked):
            if one not in found:
                # Of equal requests the first is drawn.
                missing.setdefault(one, row)
        if missing:
            drawn = _drawn(mechanism, rows[list(missing.values())])
            with self._store.transaction(write=True) as records:
                # Where another program has been first, its result stands and ours was for nothing.
                found |= _remembered(records, missing)
                new = {
                    one: vector
                    for one, vector in zip(missing, drawn, strict=True)
                    if one not in found
                }
                for person, number in Counter(one.person for one in new).items():
                    self._charge(records, person, entry, number, given)
                for one, vector in new.items():
                    records.put(_MEMO, one.owner, memo.packed(vector), one.place)
            found |= new
        return np.array([found[one] for one in asked])

    def remembered(self, person: str, purpose: str, name: str, mechanism: Priced) -> Vectors | None:
        """The result that `release` gave under a name, shape (k,); None where there is none."""
        (asked,) = self._asked([person], _checked("purpose", purpose), mechanism, _named([name]))
        with self._store.transaction(write=False) as records:
            return _remembered(records, [asked]).get(asked)

    def spent(
        self, person: str, purpose: str | None = None, *, slack: float = DEFAULT_SLACK
    ) -> Spent:
        """What the releases of a person have cost.

        Args:
            person: whose data.
            purpose: what for; None for all purposes together.
            slack: what advanced composition adds to delta, above 0 and below 1.
        """
        return spent_of(self.standing(person).account, purpose, slack=slack)

    def standing(self, person: str) -> Standing:
        """All releases of a person and the limits for them."""
        with self._store.transaction(write=False) as records:
            return _standing(records, self.pseudonym(person))

    def standings(self) -> dict[str, Standing]:
        """The same for all people of whom there are releases or own limits, by pseudonym."""
        with self._store.transaction(write=False) as records:
            owners = {*records.owners(_ACCOUNT), *records.owners(_LIMITS)} - {_EVERYBODY}
            return {owner: _standing(records, owner) for owner in sorted(owners)}

    def limits(self) -> Limits:
        """The limits that are set for everybody."""
        with self._store.transaction(write=False) as records:
            return limits.from_bytes(records.get(_LIMITS, _EVERYBODY))

    def set_limit(
        self, limit: Limit | None, *, person: str | None = None, purpose: str | None = None
    ) -> Limit | None:
        """Set or remove a limit.

        A person's own limit replaces that of everybody for the same purpose. One for a purpose and
        one for all purposes together have both to be kept.

        Args:
            limit: what may be spent by each person; None to remove it.
            person: for whom; None for everybody.
            purpose: for what; None for all purposes together.

        Returns:
            The limit before; None where there was none. What it promised does not hold any more
            where the new one is larger.
        """
        scope = None if purpose is None else _checked("purpose", purpose)
        owner = _EVERYBODY if person is None else self.pseudonym(person)
        with self._store.transaction(write=True) as records:
            known = limits.from_bytes(records.get(_LIMITS, owner))
            before = known.pop(scope, None)
            if limit is not None:
                known[scope] = limit
            records.put(_LIMITS, owner, limits.to_bytes(known))
        return before

    def forget(self, person: str, *, counts: bool = False) -> Forgotten:
        """Remove what is remembered for a person, and rebuild the file without it.

        Args:
            person: who.
            counts: also what was spent, and own limits. What was released is out in the world: who
                comes back under the same name then spends more than the ledger knows of.

        Raises:
            UsageError: nothing is kept of this person.
        """
        owner = self.pseudonym(person)
        with self._store.transaction(write=True) as records:
            releases = _account(records, owner).releases()
            templates = records.delete(_MEMO, owner)
            if not (releases or templates or records.get(_LIMITS, owner)):
                raise UsageError(f"ledger {self.path}: nothing is kept of {person!r}")
            if counts:
                records.delete(_ACCOUNT, owner)
                records.delete(_LIMITS, owner)
        try:
            self._store.rebuild()
        except SordinoError as error:
            # Deleted bytes are overwritten, but copies that moved within a page are not.
            raise StoreError(
                f"{error}; {person!r} is forgotten, but the file still has to be rebuilt without"
                " traces: forget somebody again"
            ) from error
        return Forgotten(templates, releases if counts else 0)

    def pseudonym(self, person: str) -> str:
        """What a person is called in this ledger: 16 letters and digits."""
        name = _checked("person", person)
        return self._store.key.pseudonym("ledger", self._store.identity, "person", name)

    def _asked(
        self,
        people: Sequence[str],
        purpose: str,
        mechanism: Priced,
        requests: Iterable[memo.Request],
    ) -> list[_Asked]:
        store = self._store
        scope = memo.scope_of(store.key, store.identity, purpose, canonical(mechanism))
        names = [_checked("person", person) for person in people]
        owners = {name: self.pseudonym(name) for name in set(names)}
        return [
            _Asked(name, owners[name], memo.place_of(scope, owners[name], request))
            for name, request in zip(names, requests, strict=True)
        ]

    def _charge(
        self, records: Records, person: str, entry: Entry, number: int, given: Limit | None
    ) -> Account:
        owner = self.pseudonym(person)
        try:
            after = limits.spend(_standing(records, owner), entry, number, given)
        except UsageError as error:
            raise UsageError(f"ledger {self.path}, {person!r}: {error}") from error
        records.put(_ACCOUNT, owner, after.to_bytes())
        return after


def default_ledger() -> Path:
    """Where the ledger lies by default: SORDINO_LEDGER, else the user's data folder."""
    import platformdirs

    chosen = os.environ.get(LEDGER_VARIABLE)
    if chosen:
        return Path(chosen)
    return platformdirs.user_data_path("sordino", appauthor=False) / "ledger.sqlite"


def _account(records: Records, owner: str) -> Account:
    return Account.from_bytes(records.get(_ACCOUNT, owner))


def _standing(records: Records, owner: str) -> Standing:
    everybody = limits.from_bytes(records.get(_LIMITS, _EVERYBODY))
    own = limits.from_bytes(records.get(_LIMITS, owner))
    return Standing(_account(records, owner), everybody | own)


def _remembered(records: Records, asked: Iterable[_Asked]) -> dict[_Asked, Vectors]:
    stored = ((one, records.get(_MEMO, one.owner, one.place)) for one in asked)
    return {one: memo.unpacked(record) for one, record in stored if record is not None}


def _requests(rows: Vectors, names: Sequence[str] | None) -> list[memo.Request]:
    if names is None:
        return [memo.by_input(row) for row in rows]
    if len(names) != len(rows):
        raise UsageError(f"{len(rows)} vectors need as many names of releases, not {len(names)}")
    return _named(names)


def _named(names: Iterable[str]) -> list[memo.Request]:
    return [memo.by_name(_checked("release", name)) for name in names]


def _drawn(mechanism: Releasing, rows: Vectors) -> Vectors:
    drawn = np.asarray(mechanism.release(rows), dtype=np.float64)
    if drawn.ndim != 2 or len(drawn) != len(rows) or not np.isfinite(drawn).all():
        raise UsageError(
            f"{type(mechanism).__name__} did not make a finite vector of each of {len(rows)};"
            " nothing is counted or released"
        )
    return drawn


def _checked_vectors(vectors: npt.ArrayLike, people: Sequence[str]) -> Vectors:
    rows = np.asarray(vectors, dtype=np.float64)
    if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all():
        raise UsageError("vectors to release are finite numbers of the shape (n, d)")
    if len(rows) != len(people):
        raise UsageError(f"{len(rows)} vectors need as many names of people, not {len(people)}")
    return rows


def _checked(what: str, name: str) -> str:
    name = unicodedata.normalize("NFC", name)
    if not name.strip() or len(name) > _LONGEST_NAME:
        raise UsageError(f"the name of a {what} has 1 to {_LONGEST_NAME} characters, not {name!r}")
    return name


def _limit(limit: Limit | float | None) -> Limit | None:
    return limit if limit is None or isinstance(limit, Limit) else Limit(float(limit))
