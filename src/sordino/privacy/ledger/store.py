"""The file of a ledger: sealed records in SQLite, on disk before anybody is told so.

A record can be read only with the ledger's key, and only in its place. Each transaction opens the
file anew, so that threads and processes that were split off can use one `Store`.
"""

from __future__ import annotations

import hmac
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sordino.errors import OutputError, StoreError, UsageError
from sordino.privacy.keys import SecretKey, create_key_file

_APPLICATION = int.from_bytes(b"srdl", "big")
_VERSION = 1
_TABLES = (
    "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), identity BLOB, test BLOB)",
    "CREATE TABLE records (kind TEXT, owner TEXT, place BLOB, record BLOB,"
    " PRIMARY KEY (kind, owner, place)) WITHOUT ROWID",
)
_SETTINGS = (
    "secure_delete = ON",
    # Write-ahead logging needs shared memory, which a network drive does not have.
    "journal_mode = DELETE",
    "synchronous = EXTRA",
    "temp_store = MEMORY",
    "trusted_schema = OFF",
)
_IDENTITY_BYTES = 16
_NONCE_BYTES = 12
# SQLite takes smaller files for empty ones, and would overwrite them.
_SMALLEST = 512
_RESTORE = "restore it from a copy"
_HOW_TO_MAKE = "sordino ledger limit makes one"
_ALL_SQL = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"


class Records:
    """The records as one transaction sees them; made by `Store.transaction`."""

    def __init__(self, connection: sqlite3.Connection, cipher: AESGCM, path: Path) -> None:
        self._connection = connection
        self._cipher = cipher
        self._path = path

    def get(self, kind: str, owner: str, place: bytes = b"") -> bytes | None:
        """A record, or None where there is none.

        Raises:
            StoreError: it was changed by somebody without the key, or is damaged.
        """
        row = self._connection.execute(
            "SELECT record FROM records WHERE kind = ? AND owner = ? AND place = ?",
            (kind, owner, place),
        ).fetchone()
        return None if row is None else self._opened(row[0], kind, owner, place)

    def put(self, kind: str, owner: str, record: bytes, place: bytes = b"") -> None:
        """Write a record; one that is there is replaced."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + self._cipher.encrypt(nonce, record, _bound(kind, owner, place))
        self._connection.execute(
            "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?)", (kind, owner, place, sealed)
        )

    def delete(self, kind: str, owner: str) -> int:
        """Remove all records of an owner; returns how many there were."""
        return self._connection.execute(
            "DELETE FROM records WHERE kind = ? AND owner = ?", (kind, owner)
        ).rowcount

    def owners(self, kind: str) -> list[str]:
        """Who has records, in the order of their pseudonyms."""
        rows = self._connection.execute(
            "SELECT DISTINCT owner FROM records WHERE kind = ? ORDER BY owner", (kind,)
        )
        return [owner for (owner,) in rows]

    def _opened(self, sealed: object, kind: str, owner: str, place: bytes) -> bytes:
        try:
            if not isinstance(sealed, bytes):
                raise InvalidTag
            nonce, rest = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
            return self._cipher.decrypt(nonce, rest, _bound(kind, owner, place))
        except (InvalidTag, ValueError) as error:
            raise StoreError(
                f"ledger {self._path}: a record ({kind} of {owner or 'everybody'}) is damaged or"
                f" was changed; {_RESTORE}"
            ) from error


class Store:
    """An open file of sealed records.

    Args:
        path: the file.
        key: the secret; None for the key file that lies beside it, which is made with the file.
        create: make the file where there is none.
        wait: how many seconds another program may hold it before that is an error.

    Raises:
        UsageError: there is no such file, or the key is missing or another one.
        OutputError: it cannot be made, opened or written.
        StoreError: it is no ledger or damaged, or another program holds it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = Store(Path(folder, "ledger"), create=True)
        ...     with store.transaction(write=True) as records:
        ...         records.put("account", "somebody", b"secret")
        ...     sorted(file.name for file in Path(folder).iterdir())
        ['ledger', 'ledger.key']
    """

    def __init__(
        self, path: Path, key: SecretKey | None = None, *, create: bool = False, wait: float = 30.0
    ) -> None:
        if key is not None and not key.lasting:
            raise UsageError("a ledger needs a key that lasts; make one with: sordino key FILE")
        if not 0 <= wait <= 3600:
            raise UsageError(f"a ledger waits from 0 to 3600 seconds, not {wait:g}")
        self.path = path
        self._wait = wait
        # The folder where the program runs may change.
        self._file = path.absolute()
        if create:
            _make_file(self._file)
        self._refuse_what_is_no_file()
        with self._clear_errors(), closing(self._connection()) as connection:
            made = self._made(connection, key) if create else None
            self._check_file(connection)
            self._head = self._read_head(connection)
        self.key = key or made or self._key_beside()
        self.identity = self._head[0].hex()
        if not hmac.compare_digest(self._head[1], _test_of(self.key, self.identity)):
            raise UsageError(
                f"ledger {path}: this key does not open it; give the one that it was made with"
            )
        self._cipher = AESGCM(self.key.derive("ledger", self.identity, "records"))

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Records]:
        """One state of all records; what is written is complete and on disk afterwards, or nowhere.

        Raises:
            OutputError: the file cannot be opened or written.
            StoreError: it was replaced since, is damaged, or another program holds it.
        """
        begin = "BEGIN IMMEDIATE" if write else "BEGIN"
        with (
            self._clear_errors(),
            closing(self._connection()) as connection,
            _all_or_nothing(connection, begin),
        ):
            if self._read_head(connection) != self._head:
                raise StoreError(
                    f"ledger {self.path}: the file was replaced while it was open; open it anew"
                )
            yield Records(connection, self._cipher, self.path)

    def rebuild(self) -> None:
        """Write the file anew without what was deleted.

        Raises:
            OutputError: the file cannot be written.
            StoreError: it is damaged, or another program holds it.
        """
        with self._clear_errors(), closing(self._connection()) as connection:
            connection.execute("VACUUM")

    def _connection(self) -> sqlite3.Connection:
        address = self._file.as_uri() + "?mode=rw"
        connection = sqlite3.connect(address, uri=True, timeout=self._wait, isolation_level=None)
        try:
            for setting in _SETTINGS:
                connection.execute(f"PRAGMA {setting}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _refuse_what_is_no_file(self) -> None:
        if not self._file.is_file():
            what = "is not a file" if self._file.exists() else "there is none; " + _HOW_TO_MAKE
            raise UsageError(f"ledger {self.path}: {what}")
        if 0 < self._file.stat().st_size < _SMALLEST:
            raise StoreError(f"ledger {self.path}: is not a ledger")

    def _made(self, connection: sqlite3.Connection, key: SecretKey | None) -> SecretKey | None:
        # Others may be making it at the same time; the first one does.
        if not _is_empty(connection):
            return None
        with _all_or_nothing(connection, "BEGIN IMMEDIATE"):
            if not _is_empty(connection):
                return None
            key = key or self._new_key_beside()
            identity = os.urandom(_IDENTITY_BYTES)
            for table in _TABLES:
                connection.execute(table)
            connection.execute(
                "INSERT INTO head VALUES (1, ?, ?)", (identity, _test_of(key, identity.hex()))
            )
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
        return key

    def _check_file(self, connection: sqlite3.Connection) -> None:
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise self._damaged(" ".join(found.split()))
        if _is_empty(connection):
            raise UsageError(f"ledger {self.path}: is empty; {_HOW_TO_MAKE}")
        if _number(connection, "application_id") != _APPLICATION:
            raise StoreError(f"ledger {self.path}: is not a ledger")
        version = _number(connection, "user_version")
        if version != _VERSION:
            raise UsageError(
                f"ledger {self.path}: has version {version}, and this sordino knows {_VERSION};"
                " install another one"
            )
        # A trigger could undo what is counted.
        if {text for (text,) in connection.execute(_ALL_SQL)} != set(_TABLES):
            raise self._damaged("its tables were changed")

    def _read_head(self, connection: sqlite3.Connection) -> tuple[bytes, bytes]:
        rows = connection.execute("SELECT identity, test FROM head").fetchall()
        if len(rows) != 1 or not all(isinstance(value, bytes) for value in rows[0]):
            raise self._damaged("its head")
        identity, test = rows[0]
        return identity, test

    def _key_beside(self) -> SecretKey:
        place = key_file_beside(self._file)
        if not place.exists():
            raise UsageError(
                f"ledger {self.path}: needs the key that it was made with, and there is no"
                f" {place.name} beside it"
            )
        return SecretKey.from_file(place)

    def _new_key_beside(self) -> SecretKey:
        place = key_file_beside(self._file)
        if not place.exists():
            # Complete and on disk before it gets its name: without its key a ledger is lost.
            unfinished = place.with_name(place.name + ".new")
            try:
                unfinished.unlink(missing_ok=True)
                create_key_file(unfinished)
                _flush(unfinished)
                unfinished.replace(place)
                _flush(place.parent)
            except OSError as error:
                raise OutputError(f"key file {place}: cannot be made: {error.strerror}") from error
        return SecretKey.from_file(place)

    def _damaged(self, what: str) -> StoreError:
        return StoreError(f"ledger {self.path}: is damaged ({what}); {_RESTORE}")

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            text = str(error)
            if "locked" in text or "busy" in text:
                raise StoreError(
                    f"ledger {self.path}: another program has held it for {self._wait:g} s; try"
                    " again, and move it to a local disk if this is a network drive"
                ) from error
            if "locking protocol" in text or "I/O" in text:
                raise OutputError(
                    f"ledger {self.path}: cannot be locked or written ({text}); on a network drive,"
                    " move it to a local disk"
                ) from error
            if any(word in text for word in ("readonly", "unable to open", "full")):
                raise OutputError(
                    f"ledger {self.path}: cannot be opened or written: {text}"
                ) from error
            raise self._damaged(text) from error
        except sqlite3.DatabaseError as error:
            if "not a database" in str(error):
                raise StoreError(f"ledger {self.path}: is not a ledger") from error
            raise self._damaged(str(error)) from error


def key_file_beside(path: Path) -> Path:
    """Where the key of a ledger lies if it was not given one.

    Example:
        >>> key_file_beside(Path("data/ledger.sqlite")).as_posix()
        'data/ledger.sqlite.key'
    """
    return path.with_name(path.name + ".key")


@contextmanager
def _all_or_nothing(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # Some errors have ended the transaction already.
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _is_empty(connection: sqlite3.Connection) -> bool:
    if _number(connection, "user_version") or _number(connection, "application_id"):
        return False
    return connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None


def _number(connection: sqlite3.Connection, setting: str) -> int:
    return int(connection.execute(f"PRAGMA {setting}").fetchone()[0])


def _test_of(key: SecretKey, identity: str) -> bytes:
    return key.derive("ledger", identity, "test")


def _bound(kind: str, owner: str, place: bytes) -> bytes:
    parts = (kind.encode(), owner.encode(), place)
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def _make_file(path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # One that is there, perhaps made at the same time by another program, is left as it is.
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise OutputError(f"ledger {path}: cannot be made: {error.strerror}") from error


def _flush(path: Path) -> None:
    # Windows has no descriptors of folders, and needs to write for flushing a file.
    if path.is_dir() and os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
