"""The SQLite file behind a store: how it is opened, its tables, how older ones are raised.

Nothing here can read a record.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from sordino.errors import OutputError, StoreError, UsageError

APPLICATION = int.from_bytes(b"srdn", "big")
BUSY_SECONDS = 60.0
RESTORE = "restore it from a copy"

# SQLite takes smaller files for empty ones, and would overwrite them.
_SMALLEST = 512

Step = Callable[[sqlite3.Connection], None]
"""Raises the tables by one version, within a transaction that it does not end."""


def _first(connection: sqlite3.Connection) -> None:
    connection.execute(
        "CREATE TABLE store (one INTEGER PRIMARY KEY CHECK (one = 1),"
        " identity BLOB NOT NULL, test BLOB NOT NULL, seal BLOB NOT NULL)"
    )
    # Ordered by keyed digests, the rows do not tell who was enrolled first.
    connection.execute(
        "CREATE TABLE people (person BLOB PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID"
    )
    connection.execute(
        "CREATE TABLE enrolments (person BLOB, number INTEGER, record BLOB NOT NULL,"
        " PRIMARY KEY (person, number)) WITHOUT ROWID"
    )


STEPS: tuple[Step, ...] = (_first,)
"""From an empty file to the present version; a version is never changed, only followed."""


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into those of the project; the message names the store.

    Raises:
        UsageError: it is closed, or belongs to another thread.
        OutputError: it cannot be written.
        StoreError: it is damaged, or another program holds it.
    """
    try:
        yield
    except sqlite3.ProgrammingError as error:
        raise UsageError(
            f"store {path}: is closed, or was opened by another thread; open one in each thread"
        ) from error
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text or "busy" in text:
            raise StoreError(
                f"store {path}: another program has held it for {BUSY_SECONDS:.0f} s; try again"
            ) from error
        if any(word in text for word in ("readonly", "unable to open", "full", "I/O")):
            raise OutputError(f"store {path}: cannot be opened or written: {text}") from error
        raise StoreError(f"store {path}: is damaged ({text}); {RESTORE}") from error
    except sqlite3.DatabaseError as error:
        if "not a database" in str(error):
            raise StoreError(
                f"store {path}: is not a store of voices, or its head is damaged"
            ) from error
        raise StoreError(f"store {path}: is damaged ({error}); {RESTORE}") from error


def connect(path: Path, *, create: bool) -> sqlite3.Connection:
    """Open the file of a store; a new one can be read and written by its owner only.

    Args:
        path: the file.
        create: whether to make it, and folders above it, where it is missing.

    Raises:
        UsageError: there is none and none is to be made.
        OutputError: it cannot be made or opened.
        StoreError: it is no database, or a damaged one.
    """
    if create:
        _make_file(path)
    if not path.is_file():
        kind = "is not a file" if path.exists() else "there is none; sordino enroll makes one"
        raise UsageError(f"store {path}: {'is a link to nothing' if _dangles(path) else kind}")
    if 0 < path.stat().st_size < _SMALLEST:
        raise StoreError(f"store {path}: is not a store of voices")
    with clear_errors(path):
        address = path.absolute().as_uri() + "?mode=rw"
        connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            # Text in place of a record is then bytes that do not unseal.
            connection.text_factory = bytes
            for setting in (
                "secure_delete = ON",
                "journal_mode = DELETE",
                "synchronous = EXTRA",
                "temp_store = MEMORY",
                "trusted_schema = OFF",
            ):
                connection.execute(f"PRAGMA {setting}")
            check_file(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection, *, write: bool) -> Iterator[None]:
    """One state of the file for all that is read, and all or nothing of what is written."""
    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # Some errors have ended the transaction already.
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def check_file(connection: sqlite3.Connection, path: Path) -> None:
    """Have SQLite check the structure of the file.

    Raises:
        StoreError: it is damaged.
    """
    found = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found is None or found[0] != b"ok":
        text = found[0].decode("utf-8", "replace") if found else "no answer"
        raise StoreError(f"store {path}: is damaged ({' '.join(text.split())}); {RESTORE}")


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """Which version of the tables the file has; 0 where it is still empty.

    Raises:
        UsageError: a later one than this program knows.
        StoreError: it is the file of another program.
    """
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    if version == application == 0 and not _tables(connection):
        return 0
    if application != APPLICATION or version < 1:
        raise StoreError(f"store {path}: is not a store of voices, or its head is damaged")
    if version > len(STEPS):
        raise UsageError(
            f"store {path}: has version {version}, and this sordino knows up to {len(STEPS)};"
            " install a later one"
        )
    return version


def raise_tables(connection: sqlite3.Connection, version: int) -> None:
    """Bring tables of a version to the present one, within the caller's transaction."""
    for step in STEPS[version:]:
        step(connection)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {len(STEPS)}")


def check_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Compare the tables with those of the present version: a trigger could undo a deletion.

    Raises:
        StoreError: they are others.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as model:
        model.text_factory = bytes
        for step in STEPS:
            step(model)
        expected = _tables(model)
    if _tables(connection) != expected:
        raise StoreError(f"store {path}: its tables were changed; {RESTORE}")


def _tables(connection: sqlite3.Connection) -> Sequence[object]:
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
    return connection.execute(query).fetchall()


def _dangles(path: Path) -> bool:
    return path.is_symlink() and not path.exists()


def _make_file(path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            # Another program may have made it at the same time, or left it empty for all to read.
            if path.is_file() and path.stat().st_size == 0:
                path.chmod(0o600)
    except OSError as error:
        raise OutputError(f"store {path}: cannot be made: {error.strerror}") from error
