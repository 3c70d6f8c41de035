from __future__ import annotations

import os
import sqlite3
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from sordino.errors import OutputError, SordinoError, StoreError, UsageError
from sordino.privacy.keys import SecretKey, create_key_file
from sordino.privacy.ledger import store as store_module
from sordino.privacy.ledger.store import Store, key_file_beside
from tests.helpers import open_folder, ordinary_user, tree
from tests.privacy.ledger.mechanisms import KEY, OTHER_KEY

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")


@pytest.fixture
def place(tmp_path) -> Path:
    return tmp_path / "ledger"


@pytest.fixture
def store(place) -> Store:
    """With three records."""
    made = Store(place, KEY, create=True)
    with made.transaction(write=True) as records:
        records.put("account", "anna", b"anna's account")
        records.put("memo", "anna", b"anna's first", b"1")
        records.put("memo", "anna", b"anna's second", b"2")
    return made


def edit(path: Path, statement: str, *values: object) -> None:
    """What somebody without the key can do."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def account(store: Store) -> bytes | None:
    with store.transaction(write=False) as records:
        return records.get("account", "anna")


# What goes in comes out


def test_records_are_kept_apart_by_kind_owner_and_place(store, place):
    with Store(place, KEY).transaction(write=True) as records:
        assert records.get("account", "anna") == b"anna's account"
        assert records.get("memo", "anna", b"1") == b"anna's first"
        assert records.get("memo", "anna", b"3") is None
        assert records.get("account", "bruno") is None
        assert records.owners("memo") == records.owners("account") == ["anna"]
        records.put("memo", "anna", b"", b"1")
        assert records.get("memo", "anna", b"1") == b""
        assert records.delete("memo", "anna") == 2
        assert records.delete("memo", "anna") == 0
        assert records.owners("memo") == []
        assert records.get("account", "anna") == b"anna's account"


def test_an_error_leaves_nothing(store):
    def fail() -> None:
        with store.transaction(write=True) as records:
            records.put("account", "anna", b"other")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert account(store) == b"anna's account"


def test_nothing_is_kept_until_it_is_on_disk(store):
    # EXTRA also flushes the folder after the journal is gone, which FULL does not.
    with closing(store._connection()) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert connection.execute("PRAGMA secure_delete").fetchone() == (1,)


def test_the_folder_where_the_program_runs_may_change(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = Store(Path("ledger"), KEY, create=True)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert account(store) is None
    assert list(tree(tmp_path)) == ["ledger"]


# Keys


def test_a_key_is_made_beside_it(place):
    Store(place, create=True)
    assert set(tree(place.parent)) == {"ledger", "ledger.key"}
    for file in (place, key_file_beside(place)):
        assert os.name == "nt" or stat.S_IMODE(file.stat().st_mode) == 0o600
    key = SecretKey.from_file(key_file_beside(place))
    assert Store(place).key == Store(place, key).key == key


def test_a_key_file_that_is_there_is_used(place):
    create_key_file(key_file_beside(place))
    before = key_file_beside(place).read_bytes()
    Store(place, create=True)
    assert key_file_beside(place).read_bytes() == before


def test_what_was_left_of_a_key_is_made_anew(place):
    left = place.with_name("ledger.key.new")
    left.write_bytes(b"half a k")
    Store(place, create=True)
    assert not left.exists()
    assert len(key_file_beside(place).read_bytes()) == 65


def test_a_given_key_leaves_no_file(store, place):
    assert list(tree(place.parent)) == ["ledger"]
    with pytest.raises(UsageError, match=r"needs the key that it was made with.* no ledger\.key"):
        Store(place)


def test_another_key_is_told(store, place):
    with pytest.raises(UsageError, match="this key does not open it"):
        Store(place, OTHER_KEY)
    create_key_file(key_file_beside(place))
    for create in (False, True):
        with pytest.raises(UsageError, match="this key does not open it"):
            Store(place, create=create)
    assert account(store) == b"anna's account"


def test_a_key_that_ends_with_the_process_is_refused(place):
    with pytest.raises(UsageError, match="needs a key that lasts"):
        Store(place, SecretKey.random(), create=True)
    assert not place.exists()


def test_nothing_can_be_read_without_the_key(store, place):
    raw = place.read_bytes()
    assert b"anna's" not in raw
    assert KEY.material not in raw


# Files that are no ledgers


def test_a_missing_ledger_is_not_made_by_accident(place, tmp_path):
    with pytest.raises(UsageError, match="there is none; sordino ledger limit makes one"):
        Store(place, KEY)
    with pytest.raises(UsageError, match="is not a file"):
        Store(tmp_path, KEY)
    assert tree(tmp_path) == {}


def test_an_empty_file_is_told_or_filled(place):
    # Also what a program leaves that ended while it made one.
    place.touch()
    with pytest.raises(UsageError, match="is empty"):
        Store(place, KEY)
    assert account(Store(place, KEY, create=True)) is None


def test_folders_are_made(tmp_path):
    place = tmp_path / "a" / "b" / "ledger"
    Store(place, KEY, create=True)
    assert os.name == "nt" or stat.S_IMODE(place.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("content", [b"x", b"name,epsilon\n" * 100])
def test_other_files_are_left_alone(place, content):
    place.write_bytes(content)
    for create in (False, True):
        with pytest.raises(StoreError, match="is not a ledger"):
            Store(place, KEY, create=create)
    assert place.read_bytes() == content


def test_other_databases_are_left_alone(place):
    edit(place, "CREATE TABLE people (name TEXT)")
    before = place.read_bytes()
    for create in (False, True):
        with pytest.raises(StoreError, match="is not a ledger"):
            Store(place, KEY, create=create)
    assert place.read_bytes() == before


def test_a_later_version_is_told(store, place):
    edit(place, "PRAGMA user_version = 2")
    with pytest.raises(UsageError, match="has version 2, and this sordino knows 1"):
        Store(place, KEY)


@posix
def test_places_that_cannot_be_written():
    with open_folder() as folder:
        place = folder / "ledger"
        Store(place, KEY, create=True)
        place.chmod(0o444)
        closed = folder / "closed"
        closed.mkdir(mode=0o500)
        with ordinary_user():
            found = Store(place, KEY)
            assert account(found) is None
            with (
                pytest.raises(OutputError, match="attempt to write a readonly database"),
                found.transaction(write=True) as records,
            ):
                records.put("account", "anna", b"")
            with pytest.raises(OutputError, match="cannot be made: Permission denied"):
                Store(closed / "ledger", KEY, create=True)


# Damage


def test_every_flipped_bit_of_a_record_is_noticed(store, place):
    with closing(sqlite3.connect(place)) as connection:
        (sealed,) = connection.execute(
            "SELECT record FROM records WHERE kind = 'account'"
        ).fetchone()
    for index in range(len(sealed)):
        changed = bytearray(sealed)
        changed[index] ^= 1 << index % 8
        edit(place, "UPDATE records SET record = ? WHERE kind = 'account'", bytes(changed))
        with pytest.raises(StoreError, match="account of anna"):
            account(store)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE records SET record = (SELECT record FROM records WHERE place = x'31')"
        " WHERE place = x'32'",
        "UPDATE records SET kind = 'memo', place = x'32' WHERE kind = 'account'",
        "UPDATE records SET record = NULL WHERE place = x'32'",
        "UPDATE records SET record = 'text' WHERE place = x'32'",
        "UPDATE records SET record = x'' WHERE place = x'32'",
    ],
)
def test_a_record_opens_only_in_its_place(store, place, statement):
    if "kind =" in statement.partition("WHERE")[0]:
        edit(place, "DELETE FROM records WHERE place = x'32'")
    edit(place, statement)
    with (
        store.transaction(write=False) as records,
        pytest.raises(StoreError, match=r"a record \(memo of anna\) is damaged or was changed"),
    ):
        records.get("memo", "anna", b"2")


def test_records_of_another_ledger_with_the_same_key_do_not_open(store, place, tmp_path):
    other = Store(tmp_path / "other", KEY, create=True)
    with other.transaction(write=True) as records:
        records.put("account", "anna", b"less")
    with closing(sqlite3.connect(other.path)) as connection:
        (sealed,) = connection.execute("SELECT record FROM records").fetchone()
    edit(place, "UPDATE records SET record = ? WHERE kind = 'account'", sealed)
    with pytest.raises(StoreError, match="is damaged or was changed"):
        account(store)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DELETE FROM head", "head"),
        ("UPDATE head SET identity = NULL", "head"),
        (
            "CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM records; END",
            "its tables were changed",
        ),
        ("DROP TABLE records", "its tables were changed"),
        ("ALTER TABLE records ADD COLUMN more", "its tables were changed"),
    ],
)
def test_changes_of_the_whole_are_noticed(store, place, statement, message):
    edit(place, statement)
    with pytest.raises(StoreError, match=message):
        Store(place, KEY)


def test_a_changed_head_is_another_ledger(store, place):
    edit(place, "UPDATE head SET identity = randomblob(16)")
    with pytest.raises(UsageError, match="this key does not open it"):
        Store(place, KEY)


def test_a_cut_file_is_told(store, place):
    with place.open("r+b") as file:
        file.truncate(place.stat().st_size - 4096)
    with pytest.raises(StoreError, match="is damaged"):
        Store(place, KEY)


def test_a_file_that_is_moved_or_replaced_is_told(store, place, tmp_path):
    place.rename(tmp_path / "moved")
    with pytest.raises(OutputError, match="unable to open"):
        account(store)
    Store(place, KEY, create=True)
    with pytest.raises(StoreError, match="was replaced while it was open"):
        account(store)


# Others who use it


def test_a_ledger_that_another_program_holds_is_told(store, place):
    brief = Store(place, KEY, wait=0.05)
    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert account(brief) == b"anna's account"
        with (
            pytest.raises(StoreError, match=r"another program has held it for 0\.05 s; try again"),
            brief.transaction(write=True),
        ):
            pass
        other.execute("ROLLBACK")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match=r"another program has held it for 0\.05 s"):
            account(brief)
        with pytest.raises(StoreError, match=r"another program has held it for 0\.05 s"):
            Store(place, KEY, wait=0.05)


def test_it_is_waited_as_long_as_was_said(place, monkeypatch):
    connect, waits = sqlite3.connect, []

    def noted(*arguments: object, **settings: object) -> sqlite3.Connection:
        waits.append(settings["timeout"])
        return connect(*arguments, **settings)

    monkeypatch.setattr(store_module.sqlite3, "connect", noted)
    account(Store(place, KEY, create=True, wait=2.5))
    assert waits == [2.5, 2.5]


def test_a_reader_at_the_end_of_a_write_is_waited_for(store, place):
    brief = Store(place, KEY, wait=0.05)

    def write() -> None:
        with brief.transaction(write=True) as records:
            records.put("account", "anna", b"other")

    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM head").fetchall()
        with pytest.raises(StoreError, match="another program has held it"):
            write()
    assert account(brief) == b"anna's account"
    write()
    assert account(brief) == b"other"


@pytest.mark.parametrize("wait", [-1.0, float("nan"), 1e9])
def test_impossible_waits(place, wait):
    with pytest.raises(UsageError, match="waits from 0 to 3600 seconds"):
        Store(place, KEY, create=True, wait=wait)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("disk I/O error", OutputError, "cannot be locked or written .* local disk"),
        ("locking protocol", OutputError, "cannot be locked or written .* local disk"),
        ("database is locked", StoreError, "another program has held it for 30 s; .* local disk"),
        ("database or disk is full", OutputError, "cannot be opened or written"),
        ("no such table: records", StoreError, "is damaged"),
    ],
)
def test_what_sqlite_says_is_told_in_one_line(store, monkeypatch, text, kind, message):
    def fail(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError(text)

    monkeypatch.setattr(store_module.sqlite3, "connect", fail)
    with pytest.raises(kind, match=message) as caught:
        account(store)
    assert "\n" not in str(caught.value)
    assert str(store.path) in str(caught.value)


def test_many_threads_make_one_ledger(place):
    barrier = threading.Barrier(4)

    def make(_: int) -> str:
        barrier.wait()
        return Store(place, create=True).identity

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(make, range(4)))) == 1
    assert set(tree(place.parent)) == {"ledger", "ledger.key"}


def test_one_store_serves_many_threads(store):
    def count(_: int) -> None:
        with store.transaction(write=True) as records:
            known = records.get("account", "bruno") or b""
            records.put("account", "bruno", known + b"x")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, range(20)))
    with store.transaction(write=False) as records:
        assert records.get("account", "bruno") == b"x" * 20


def test_forgotten_records_leave_no_byte(store, place):
    with closing(sqlite3.connect(place)) as connection:
        sealed = [row[0] for row in connection.execute("SELECT record FROM records")]
    raw = place.read_bytes()
    assert all(record in raw for record in sealed)
    with store.transaction(write=True) as records:
        records.delete("memo", "anna")
    store.rebuild()
    raw = place.read_bytes()
    assert sum(record in raw for record in sealed) == 1
    assert account(store) == b"anna's account"


def test_all_errors_are_of_the_project(place):
    for key in (KEY, None):
        with pytest.raises(SordinoError):
            Store(place, key)
