from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import AudioError, OutputError, SordinoError, StoreError, UsageError
from sordino.privacy.keys import SecretKey
from sordino.speaker import schema
from sordino.speaker.store import (
    EncoderIdentity,
    Enrolment,
    Store,
    Template,
    checked_name,
    default_store,
)
from tests.helpers import open_folder, ordinary_user, tree
from tests.voices import ENCODER, KEY, OTHER_KEY, enrolments


@pytest.fixture
def place(tmp_path) -> Path:
    return tmp_path / "voices"


@pytest.fixture
def filled(place) -> Path:
    """Three names with six enrolments."""
    with Store.open(place, KEY, create=True) as store:
        for number, name in enumerate(("anna", "bruno", "chloé"), start=1):
            store.enroll(name, ENCODER, enrolments(number, seed=number))
    return place


def content(path: Path, key: SecretKey = KEY) -> list[tuple[object, ...]]:
    """All that is stored, in a form that can be compared."""
    with Store.open(path, key) as store:
        return [
            (t.name, t.encoder, [(e.vector.tobytes(), e.speech, e.date) for e in t.enrolments])
            for t in store.templates()
        ]


def content_or_error(path: Path) -> list[tuple[object, ...]] | SordinoError:
    try:
        return content(path)
    except SordinoError as error:
        return error


def edit(path: Path, *statements: str) -> None:
    """What somebody without the key can do to a store."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def records(path: Path, table: str = "enrolments") -> list[bytes]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute(f"SELECT record FROM {table}")]  # noqa: S608


# What goes in comes out


def test_what_is_enrolled_is_there_in_another_process_and_time(place):
    came = datetime(2024, 2, 29, 23, 59, 59, tzinfo=timezone(timedelta(hours=-5)))
    first = [Enrolment(vector.vector, 3.25, came) for vector in enrolments(2)]
    with Store.open(place, KEY, create=True) as store:
        store.enroll("anna", ENCODER, first)
    with Store.open(place, KEY, create=True) as store:
        given = store.enroll("anna", ENCODER, enrolments(1, seed=7))
        store.enroll("aaron", ENCODER, enrolments(1, seed=8))
    with Store.open(place, KEY) as store:
        assert [template.name for template in store.templates()] == ["aaron", "anna"]
        anna = store.template("anna")
        assert len(store) == 2
    assert anna.encoder == ENCODER
    assert [e.date for e in anna.enrolments[:2]] == [came, came]
    assert anna.speech == 3.25 + 3.25 + 2.0
    expected = np.stack([e.vector for e in (*first, *enrolments(1, seed=7))])
    np.testing.assert_array_equal(anna.vectors, expected)
    np.testing.assert_array_equal(given.vectors, expected)
    assert anna.vectors.dtype == np.float32
    assert abs(anna.enrolments[2].date - datetime.now(timezone.utc)) < timedelta(minutes=5)


def test_vectors_do_not_show_in_text():
    enrolment = Enrolment(np.array([0.4321, 0.8765], dtype=np.float32), 2.0)
    template = Template("anna", ENCODER, (enrolment,))
    assert "speech=2.0" in repr(template)
    for text in (repr(template), str(template), repr(enrolment), f"{template}"):
        assert "4321" not in text
        assert "vector" not in text


@settings(max_examples=15, deadline=None)
@given(names=st.sets(st.text(min_size=1, max_size=60).filter(str.strip), min_size=1, max_size=4))
def test_any_name_can_be_stored_found_and_forgotten(names, tmp_path_factory):
    path = tmp_path_factory.mktemp("names") / "voices"
    forms = {checked_name(name) for name in names}
    with Store.open(path, KEY, create=True) as store:
        for name in names:
            store.enroll(name, ENCODER, enrolments())
        assert {template.name for template in store.templates()} == forms
        for name in forms:
            assert store.template(name).name == name
            store.forget(name)
        assert store.templates() == []


def test_names_are_compared_in_one_unicode_form(place):
    with Store.open(place, KEY, create=True) as store:
        store.enroll("Zoe\u0308", ENCODER, enrolments())
        store.enroll("Zo\u00eb", ENCODER, enrolments())
        assert len(store.template("Zo\u00eb").enrolments) == 2
        assert len(store) == 1
        store.enroll("zoë", ENCODER, enrolments())
        assert len(store) == 2


@pytest.mark.parametrize("name", ["", " ", "\n\t", "\u3000"])
def test_blank_names_are_refused(name):
    with pytest.raises(UsageError, match="a name is empty"):
        checked_name(name)


def test_long_names():
    assert checked_name("é" * 256) == "é" * 256
    with pytest.raises(UsageError, match="257 characters; at most 256"):
        checked_name("x" * 257)


@pytest.mark.parametrize(
    "vector", [[], [0.0, 0.0], [1.0, np.nan], [np.inf, 1.0], [[1.0, 2.0], [3.0, 4.0]]]
)
def test_vectors_without_direction_are_refused(vector):
    with pytest.raises(UsageError, match="speaker vector"):
        Enrolment(np.array(vector, dtype=np.float32), 2.0)


@pytest.mark.parametrize("speech", [-1.0, np.nan, np.inf])
def test_impossible_seconds_are_refused(speech):
    with pytest.raises(UsageError, match="number of seconds"):
        Enrolment(np.ones(3, dtype=np.float32), speech)


def test_a_name_has_one_encoder(filled):
    before = content(filled)
    with Store.open(filled, KEY) as store:
        for other in (EncoderIdentity(ENCODER.name, "ffff"), EncoderIdentity("x", ENCODER.digest)):
            with pytest.raises(UsageError, match="'anna' is enrolled with the encoder test-enc"):
                store.enroll("anna", other, enrolments())
        with pytest.raises(UsageError, match="cannot be compared"):
            store.enroll("anna", ENCODER, enrolments(dimension=17))
        with pytest.raises(UsageError, match="all of one length"):
            store.enroll("dora", ENCODER, enrolments(dimension=17) + enrolments())
        with pytest.raises(UsageError, match="all of one length"):
            store.enroll("dora", ENCODER, [])
    assert content(filled) == before


def test_too_little_speech_stores_nothing(place):
    with Store.open(place, KEY, create=True) as store:
        with pytest.raises(AudioError, match=r"2\.0 s in all, needs 2\.5 s"):
            store.enroll("anna", ENCODER, enrolments(1), least_speech=2.5)
        assert len(store) == 0
        store.enroll("anna", ENCODER, enrolments(1))
        store.enroll("anna", ENCODER, enrolments(1), least_speech=4.0)
        assert store.template("anna").speech == 4.0


# Secrecy


def test_nothing_can_be_read_without_the_key(filled):
    raw = filled.read_bytes()
    vectors = [e.vector for number in (1, 2, 3) for e in enrolments(number, seed=number)]
    secrets = [vector[start : start + 2].tobytes() for vector in vectors for start in range(15)]
    secrets += [b"anna", b"bruno", "chloé".encode(), b"chlo", b"test-encoder", b"012345"]
    assert [secret for secret in secrets if secret in raw] == []


def test_another_key_is_told_at_once(filled):
    before = filled.read_bytes()
    for create in (False, True):
        with pytest.raises(UsageError, match="this key does not open it; it was made with another"):
            Store.open(filled, OTHER_KEY, create=create)
    assert filled.read_bytes() == before


def test_a_key_that_ends_with_the_process_is_refused(place):
    with pytest.raises(UsageError, match="sordino key FILE"):
        Store.open(place, SecretKey.random(), create=True)
    assert not place.exists()


def test_equal_records_look_different_everywhere(tmp_path):
    for name in ("one", "two"):
        with Store.open(tmp_path / name, KEY, create=True) as store:
            for person in ("anna", "bruno"):
                store.enroll(person, ENCODER, enrolments() + enrolments())
    found = [record for name in ("one", "two") for record in records(tmp_path / name)]
    assert len(found) == 8
    assert len({record[start : start + 12] for record in found for start in (0, 12, 40)}) == 24
    people = {record for name in ("one", "two") for record in records(tmp_path / name, "people")}
    assert len(people) == 4


def test_rows_tell_neither_short_names_nor_who_came_first(place):
    with Store.open(place, KEY, create=True) as store:
        for name in ("a", "bb" * 8, "c" * 20, "d", "e", "f"):
            store.enroll(name, ENCODER, enrolments())
        order = [
            store._vault.name_digest(name) for name in ("a", "bb" * 8, "c" * 20, "d", "e", "f")
        ]
    assert len({len(record) for record in records(place, "people")}) == 1
    with closing(sqlite3.connect(place)) as connection:
        stored = [row[0] for row in connection.execute("SELECT person FROM people")]
    assert stored == sorted(order)
    assert order != sorted(order)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
def test_only_the_owner_can_read_it(tmp_path):
    path = tmp_path / "new" / "folder" / "voices"
    old = os.umask(0)
    try:
        with Store.open(path, KEY, create=True) as store:
            store.enroll("anna", ENCODER, enrolments())
            with store._transaction(write=True):
                store._connection.execute("DELETE FROM people")
                modes = {
                    name: stat.S_IMODE((path.parent / name).stat().st_mode)
                    for name in tree(path.parent)
                }
                store._connection.execute("ROLLBACK")
                store._connection.execute("BEGIN")
    finally:
        os.umask(old)
    assert modes == {"voices": 0o600, "voices-journal": 0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(tree(path.parent)) == ["voices"]


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
def test_an_empty_file_for_all_to_read_is_made_private(place):
    place.touch()
    place.chmod(0o644)
    with Store.open(place, KEY, create=True) as store:
        store.enroll("anna", ENCODER, enrolments())
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    place.chmod(0o640)
    Store.open(place, KEY, create=True).close()
    assert stat.S_IMODE(place.stat().st_mode) == 0o640


# Damage


def test_every_flipped_bit_is_noticed_or_changes_nothing(filled):
    before, raw = content(filled), filled.read_bytes()
    rng = np.random.default_rng(0)
    noticed = 0
    flips = rng.integers(len(raw) * 8, size=250).tolist() + list(range(0, 800, 3))
    for bit in flips:
        damaged = bytearray(raw)
        damaged[bit // 8] ^= 1 << bit % 8
        filled.write_bytes(damaged)
        found = content_or_error(filled)
        if isinstance(found, SordinoError):
            assert str(filled) in str(found)
            noticed += 1
        else:
            assert found == before, f"bit {bit}"
    # Most of a small file is unused space and counters.
    assert noticed > 60


@pytest.mark.parametrize("table", ["enrolments", "people"])
def test_every_flipped_bit_of_a_record_is_noticed(filled, table):
    raw = filled.read_bytes()
    record = records(filled, table)[1]
    start = raw.index(record)
    for bit in range(0, len(record) * 8, 7):
        damaged = bytearray(raw)
        damaged[start + bit // 8] ^= 1 << bit % 8
        filled.write_bytes(damaged)
        with pytest.raises(StoreError, match="does not open"):
            content(filled)


@pytest.mark.parametrize("column", ["identity", "test", "seal"])
def test_every_flipped_bit_of_the_head_is_noticed(filled, column):
    raw = filled.read_bytes()
    with closing(sqlite3.connect(filled)) as connection:
        ((value,),) = connection.execute(f"SELECT {column} FROM store")  # noqa: S608
    start = raw.index(value)
    for bit in range(0, len(value) * 8, 5):
        damaged = bytearray(raw)
        damaged[start + bit // 8] ^= 1 << bit % 8
        filled.write_bytes(damaged)
        with pytest.raises(StoreError, match="its head is damaged; restore it from a copy"):
            Store.open(filled, KEY)


def test_damage_is_named(filled):
    edit(filled, "UPDATE enrolments SET record = zeroblob(60) WHERE number = 3")
    with Store.open(filled, KEY) as store:
        with pytest.raises(StoreError, match=r"enrolment 3 of 'chloé' .* open; forget the"):
            store.template("chloé")
        assert store.template("anna").name == "anna"
        with pytest.raises(StoreError, match="enrolment 3 of 'chloé'"):
            store.templates()
        # The way out that the message names.
        assert store.forget("chloé") == 3
        store.enroll("chloé", ENCODER, enrolments())
        assert len(store.templates()) == 3


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DELETE FROM enrolments WHERE number = 3", "enrolments of 'chloé' were removed"),
        (
            "DELETE FROM enrolments WHERE number = 1",
            "enrolments? .*of '.*' (is missing|were removed)",
        ),
        ("DELETE FROM people", "should hold 3 names and holds 0"),
        (
            "DELETE FROM people WHERE person IN (SELECT person FROM people LIMIT 1)",
            "should hold 3 names and holds 2",
        ),
        (
            "UPDATE people SET record = (SELECT record FROM people ORDER BY person LIMIT 1)",
            "the record of a name does not open",
        ),
        (
            "UPDATE enrolments SET record = (SELECT e.record FROM enrolments e WHERE"
            " e.person = enrolments.person AND e.number = 1)",
            "enrolment 2 of '.*' .* does not open",
        ),
        (
            "UPDATE enrolments SET record = (SELECT e.record FROM enrolments e WHERE"
            " e.person <> enrolments.person AND e.number = 1)",
            "enrolment 1 of '.*' .* does not open",
        ),
        (
            "UPDATE people SET person = zeroblob(32) WHERE person ="
            " (SELECT min(person) FROM people)",
            "the record of a name does not open",
        ),
        (
            "INSERT INTO enrolments SELECT zeroblob(32), 1, record FROM enrolments LIMIT 1",
            "an enrolment of nobody",
        ),
        ("UPDATE people SET record = 'text'", "the record of a name does not open"),
        ("PRAGMA user_version = 0", "not a store of voices"),
        ("PRAGMA application_id = 0", "not a store of voices"),
        ("DELETE FROM store", "its head is damaged"),
        (
            "CREATE TRIGGER keep BEFORE DELETE ON people BEGIN SELECT RAISE(IGNORE); END",
            "its tables were changed",
        ),
        ("DROP TABLE enrolments", "its tables were changed"),
    ],
)
def test_changes_without_the_key_are_noticed(filled, statement, message):
    edit(filled, statement)
    with pytest.raises(StoreError, match=message) as caught:
        content(filled)
    assert str(filled) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("tables", [("people",), ("people", "enrolments"), ("store",)])
def test_an_older_state_of_some_tables_is_noticed(filled, tmp_path, tables):
    shutil.copy(filled, tmp_path / "old")
    with Store.open(filled, KEY) as store:
        store.enroll("bruno", ENCODER, enrolments())
    edit(
        filled,
        f"ATTACH '{tmp_path / 'old'}' AS old",
        *(f"REPLACE INTO {table} SELECT * FROM old.{table}" for table in tables),  # noqa: S608
    )
    with pytest.raises(StoreError, match="an older record of a name was put back"):
        content(filled)
    with Store.open(filled, KEY) as store:
        with pytest.raises(StoreError, match="put back"):
            store.enroll("dora", ENCODER, enrolments())
        with pytest.raises(StoreError, match="put back"):
            store.forget("anna")


def test_a_forgotten_name_that_is_put_back_is_noticed(filled, tmp_path):
    shutil.copy(filled, tmp_path / "old")
    with Store.open(filled, KEY) as store:
        store.forget("anna")
    edit(
        filled,
        f"ATTACH '{tmp_path / 'old'}' AS old",
        "INSERT OR IGNORE INTO people SELECT * FROM old.people",
        "INSERT OR IGNORE INTO enrolments SELECT * FROM old.enrolments",
    )
    with pytest.raises(StoreError, match="should hold 2 names and holds 3"):
        content(filled)


def test_enrolments_of_a_forgotten_name_that_are_put_back_are_noticed(filled, tmp_path):
    shutil.copy(filled, tmp_path / "old")
    with Store.open(filled, KEY) as store:
        store.forget("chloé")
        store.enroll("chloé", ENCODER, enrolments(3, seed=50))
    edit(
        filled,
        f"ATTACH '{tmp_path / 'old'}' AS old",
        "REPLACE INTO enrolments SELECT * FROM old.enrolments WHERE number = 3",
    )
    with pytest.raises(StoreError, match="enrolments of 'chloé' were removed or put back"):
        content(filled)


def test_the_whole_file_replaced_by_an_older_one_is_not_noticed(filled, tmp_path):
    before = content(filled)
    shutil.copy(filled, tmp_path / "old")
    with Store.open(filled, KEY) as store:
        store.forget("anna")
    shutil.copy(tmp_path / "old", filled)
    assert content(filled) == before


def test_records_of_another_store_with_the_same_key_are_noticed(filled, tmp_path):
    with Store.open(tmp_path / "other", KEY, create=True) as store:
        for number, name in enumerate(("anna", "bruno", "chloé"), start=1):
            store.enroll(name, ENCODER, enrolments(number, seed=number))
    edit(
        filled,
        f"ATTACH '{tmp_path / 'other'}' AS other",
        "UPDATE store SET seal = (SELECT seal FROM other.store)",
    )
    with pytest.raises(StoreError, match="its head is damaged"):
        content(filled)


def test_changes_while_the_store_is_open_are_noticed(filled):
    with Store.open(filled, KEY) as store:
        assert len(store) == 3
        edit(filled, "DELETE FROM people WHERE person = (SELECT min(person) FROM people)")
        with pytest.raises(StoreError, match="should hold 3 names and holds 2"):
            len(store)


@pytest.mark.skipif(os.name != "posix", reason="elsewhere the time of a change can be set")
def test_an_older_record_written_past_sqlite_is_noticed(place):
    # SQLite's own counter stays the same; with few pages in memory, it reads them again.
    with Store.open(place, KEY, create=True) as store:
        for number in range(60):
            store.enroll(f"name {number}", ENCODER, enrolments(seed=number))
        store.enroll("anna", ENCODER, enrolments(seed=100))
        older = place.read_bytes()
        store.enroll("anna", ENCODER, enrolments(seed=101))
    with Store.open(place, KEY) as store:
        store._connection.execute("PRAGMA cache_size = 1")
        assert len(store.template("anna").enrolments) == 2
        times = place.stat()
        time.sleep(0.05)
        behind_the_head = 2 * 4096
        with place.open("r+b") as file:
            file.seek(behind_the_head)
            file.write(older[behind_the_head:])
        os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))
        with pytest.raises(StoreError, match="an older record of a name was put back"):
            store.template("anna")


@pytest.mark.skipif(os.name != "posix", reason="elsewhere an open file cannot be moved")
def test_a_file_that_is_moved_or_replaced_while_it_is_open_is_told(filled, tmp_path):
    copy = shutil.copy(filled, tmp_path / "copy")
    with Store.open(filled, KEY) as store, Store.open(copy, KEY) as other:
        other.forget("anna")
        Path(copy).replace(filled)
        for work in (store.templates, lambda: store.template("anna"), lambda: len(store)):
            with pytest.raises(StoreError, match="was moved or replaced while it was open"):
                work()
        filled.unlink()
        with pytest.raises(StoreError, match="was moved or replaced while it was open"):
            store.forget("bruno")
        with pytest.raises(StoreError, match="was moved or replaced while it was open"):
            other.enroll("anna", ENCODER, enrolments())


def test_the_folder_where_the_program_runs_may_change(filled, tmp_path, monkeypatch):
    monkeypatch.chdir(filled.parent)
    with Store.open(filled.name, KEY) as store:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        store.enroll("dora", ENCODER, enrolments())
        assert len(store) == 4


def test_a_closed_store_and_one_of_another_thread_are_not_called_damaged(filled):
    with Store.open(filled, KEY) as store:
        with ThreadPoolExecutor(1) as pool, pytest.raises(UsageError, match="another thread"):
            pool.submit(store.templates).result()
        assert len(store) == 3
    with pytest.raises(UsageError, match="is closed"):
        store.templates()
    with pytest.raises(UsageError, match="is closed"):
        store.forget("anna")


@pytest.mark.parametrize(
    "data", [b"not a database, but long enough for a head of one" * 20, b"SQLite format 3\0", b"x"]
)
def test_other_files_are_told(place, data):
    place.write_bytes(data)
    for create in (False, True):
        with pytest.raises(StoreError, match="is not a store of voices"):
            Store.open(place, KEY, create=create)
    assert place.read_bytes() == data


def test_other_databases_are_left_alone(place):
    edit(place, "CREATE TABLE mine (x)")
    before = place.read_bytes()
    with pytest.raises(StoreError, match="is not a store of voices"):
        Store.open(place, KEY, create=True)
    assert place.read_bytes() == before


def test_a_cut_file_is_told(filled):
    raw = filled.read_bytes()
    for length in (len(raw) // 2, len(raw) - 4096, 4096, 100):
        filled.write_bytes(raw[:length])
        with pytest.raises(StoreError, match=r"is damaged|is not a store of voices"):
            content(filled)


def test_missing_stores_and_folders(place, tmp_path):
    with pytest.raises(UsageError, match="there is none; sordino enroll makes one"):
        Store.open(place, KEY)
    assert not place.exists()
    for create in (False, True):
        with pytest.raises(UsageError, match="is not a file"):
            Store.open(tmp_path, KEY, create=create)
    link = tmp_path / "link"
    link.symlink_to("nowhere")
    for create in (False, True):
        with pytest.raises(UsageError, match="is a link to nothing"):
            Store.open(link, KEY, create=create)
    with pytest.raises(OutputError, match="cannot be made"):
        Store.open(Path(__file__, "voices"), KEY, create=True)
    place.touch()
    with pytest.raises(UsageError, match="is empty"):
        Store.open(place, KEY)
    Store.open(place, KEY, create=True).close()
    with Store.open(place, KEY) as store:
        assert len(store) == 0


def test_places_that_cannot_be_written():
    with open_folder() as folder, ordinary_user():
        (folder / "closed").mkdir()
        with Store.open(folder / "closed" / "voices", KEY, create=True) as store:
            store.enroll("anna", ENCODER, enrolments())
        (folder / "closed" / "voices").chmod(0o400)
        (folder / "closed").chmod(0o500)
        with pytest.raises(OutputError, match="cannot be made: Permission denied"):
            Store.open(folder / "closed" / "more", KEY, create=True)
        with Store.open(folder / "closed" / "voices", KEY) as store:
            assert store.template("anna").speech == 2.0
            with pytest.raises(OutputError, match="readonly"):
                store.enroll("bruno", ENCODER, enrolments())
        (folder / "closed").chmod(0o700)


# Forgetting


def traces(folder: Path, secrets: list[bytes]) -> int:
    """How many pieces of these records lie in any file of the folder."""
    raw = b"".join(path.read_bytes() for path in folder.iterdir())
    return sum(
        secret[start : start + 16] in raw
        for secret in secrets
        for start in range(0, len(secret) - 16, 16)
    )


@pytest.fixture
def crowd(tmp_path) -> tuple[Path, list[bytes]]:
    """Thirty names over many pages, and the records of one who was enrolled in two sessions."""
    path = tmp_path / "store" / "voices"
    with Store.open(path, KEY, create=True) as store:
        for number in range(30):
            store.enroll(f"name {number}", ENCODER, enrolments(3, seed=number, dimension=192))
        person = store._vault.name_digest("name 7")
        first = store._rows("SELECT record FROM people WHERE person = ?", person)
        store.enroll("name 7", ENCODER, enrolments(2, seed=99, dimension=192))
        rows = store._rows("SELECT record FROM people WHERE person = ?", person)
        rows += store._rows("SELECT record FROM enrolments WHERE person = ?", person)
    assert traces(path.parent, [row[0] for row in first]) == 0
    return path, [person, *(row[0] for row in rows)]


def test_forgetting_leaves_no_byte(crowd):
    path, secrets = crowd
    pieces = sum(len(range(0, len(secret) - 16, 16)) for secret in secrets)
    assert traces(path.parent, secrets) == pieces > 250
    before, size = content(path), path.stat().st_size
    with Store.open(path, KEY) as store:
        assert store.forget("name 7") == 5
        assert traces(path.parent, secrets) == 0
        with pytest.raises(UsageError, match="nobody is enrolled as 'name 7'"):
            store.template("name 7")
    assert traces(path.parent, secrets) == 0
    assert list(tree(path.parent)) == ["voices"]
    assert content(path) == [row for row in before if row[0] != "name 7"]
    assert path.stat().st_size < size
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_search_for_traces_finds_them_where_rows_are_merely_deleted(crowd):
    path, secrets = crowd
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("DELETE FROM people WHERE person = ?", (secrets[0],))
        connection.execute("DELETE FROM enrolments WHERE person = ?", (secrets[0],))
    assert traces(path.parent, secrets) > 10


def test_forgetting_somebody_unknown_changes_nothing(filled):
    before = filled.read_bytes()
    with Store.open(filled, KEY) as store, pytest.raises(UsageError, match="enrolled as 'dora'"):
        store.forget("dora")
    assert filled.read_bytes() == before


def test_a_file_that_cannot_be_rebuilt_is_told_and_rebuilt_later(crowd, monkeypatch):
    monkeypatch.setattr(schema, "BUSY_SECONDS", 0.05)
    path, secrets = crowd
    with closing(sqlite3.connect(path, isolation_level=None)) as other:

        def hold(statement: str) -> None:
            if statement == "VACUUM":
                other.execute("BEGIN")
                other.execute("SELECT * FROM store").fetchall()

        with Store.open(path, KEY) as store:
            store._connection.set_trace_callback(hold)
            with pytest.raises(StoreError, match="'name 7' is forgotten, but the file could not"):
                store.forget("name 7")
            store._connection.set_trace_callback(None)
            other.execute("COMMIT")
            assert len(store) == 29
            store.forget("name 8")
    assert traces(path.parent, secrets) == 0


def test_forgotten_names_can_come_back_with_another_encoder(filled):
    other = EncoderIdentity("another", "ff")
    with Store.open(filled, KEY) as store:
        store.forget("anna")
        store.enroll("anna", other, enrolments(dimension=5))
        assert store.template("anna").encoder == other


# Several writers, and sudden ends


def enroll_many(path: Path, worker: int, count: int) -> None:
    for number in range(count):
        with Store.open(path, KEY, create=True) as store:
            store.enroll(f"worker {worker} name {number}", ENCODER, enrolments(2, seed=number))
            store.enroll("everybody", ENCODER, enrolments(1, seed=100 * worker + number))


def test_eight_processes_at_once_lose_nothing(place):
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=enroll_many, args=(place, n, 4)) for n in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=100)
    assert [process.exitcode for process in processes] == [0] * 8
    with Store.open(place, KEY) as store:
        found = {template.name: template for template in store.templates()}
    together = found.pop("everybody")
    assert found.keys() == {f"worker {w} name {n}" for w in range(8) for n in range(4)}
    for name, template in found.items():
        expected = [e.vector for e in enrolments(2, seed=int(name.split()[-1]))]
        np.testing.assert_array_equal(template.vectors, expected)
    expected_all = {
        enrolments(1, seed=100 * w + n)[0].vector.tobytes() for w in range(8) for n in range(4)
    }
    assert {e.vector.tobytes() for e in together.enrolments} == expected_all
    assert len(together.enrolments) == 32


WRITER = """
import sys
from pathlib import Path
from sordino.speaker.store import Store
from tests.voices import ENCODER, KEY, enrolments
with Store.open(Path(sys.argv[1]), KEY, create=True) as store:
    # Every page goes to the disk before its transaction is complete.
    store._connection.execute("PRAGMA cache_size = 1")
    for number in range(int(sys.argv[2]), 10**6):
        store.enroll(f"name {number}", ENCODER, enrolments(20, dimension=192))
        if number % 3 == 2:
            store.forget(f"name {number - 1}")
        print(number, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_killed_writer_leaves_the_store_whole(place):
    done = 0
    for turn in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(place), str(done)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert process.stdout is not None
        for _ in range(3 + turn):
            done = int(process.stdout.readline()) + 1
        time.sleep(0.003 * turn)
        process.send_signal(signal.SIGKILL)
        done = max([done, *(int(line) + 1 for line in process.stdout.read().split())])
        process.stdout.close()
        process.wait()
        with Store.open(place, KEY) as store:
            names = {template.name for template in store.templates()}
        sure = {f"name {n}" for n in range(done) if n % 3 != 1}
        assert sure <= names
        # What the killed writer was at may be there as well; it has to be whole.
        extra = names - {f"name {n}" for n in range(done)}
        assert extra <= {f"name {done}"}
        done += len(extra)


def test_an_error_in_a_write_leaves_nothing_of_it(filled, monkeypatch):
    before = content(filled)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with Store.open(filled, KEY) as store:
        monkeypatch.setattr("sordino.speaker.store._write_seal", fail)
        with pytest.raises(KeyboardInterrupt):
            store.enroll("dora", ENCODER, enrolments())
        with pytest.raises(KeyboardInterrupt):
            store.forget("anna")
    assert content(filled) == before


def test_a_store_that_another_program_holds_is_told(filled, monkeypatch):
    monkeypatch.setattr(schema, "BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(filled, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with Store.open(filled, KEY) as store:
            assert len(store.templates()) == 3
            with pytest.raises(StoreError, match="another program has held it"):
                store.enroll("dora", ENCODER, enrolments())
        other.execute("ROLLBACK")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="another program has held it"):
            Store.open(filled, KEY)


# Versions


def with_remarks(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE people ADD COLUMN remark BLOB")
    connection.execute("CREATE INDEX by_number ON enrolments (number)")


def test_an_older_store_is_raised(filled, monkeypatch):
    before = content(filled)
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, with_remarks))
    assert content(filled) == before
    with closing(sqlite3.connect(filled)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
        assert connection.execute("SELECT count(remark), count(*) FROM people").fetchone() == (0, 3)
    assert content(filled) == before
    monkeypatch.undo()
    with pytest.raises(UsageError, match="has version 2, and this sordino knows up to 1; install"):
        Store.open(filled, KEY)


def test_a_failed_step_leaves_the_older_store(filled, monkeypatch):
    before, raw = content(filled), filled.read_bytes()

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("DROP TABLE people")
        connection.execute("nonsense")

    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", (*schema.STEPS, with_remarks, fail))
        with pytest.raises(StoreError, match="nonsense"):
            Store.open(filled, KEY)
        assert filled.read_bytes()[100:] == raw[100:]
    assert content(filled) == before


def test_an_older_store_is_not_raised_with_another_key(filled, monkeypatch):
    raw = filled.read_bytes()
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, with_remarks))
    with pytest.raises(UsageError, match="this key does not open it"):
        Store.open(filled, OTHER_KEY)
    assert filled.read_bytes() == raw


def test_a_pretended_version_is_told(filled, monkeypatch):
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, with_remarks))
    Store.open(filled, KEY).close()
    edit(filled, "PRAGMA user_version = 1")
    with pytest.raises(StoreError, match="its version was changed"):
        Store.open(filled, KEY)


def test_a_new_store_has_all_steps(place, monkeypatch):
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, with_remarks))
    Store.open(place, KEY, create=True).close()
    with closing(sqlite3.connect(place)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)


def test_where_the_store_lies(monkeypatch, tmp_path):
    monkeypatch.setenv("SORDINO_STORE", str(tmp_path / "mine"))
    assert default_store() == tmp_path / "mine"
    monkeypatch.delenv("SORDINO_STORE")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    if sys.platform == "linux":
        assert default_store() == tmp_path / "data" / "sordino" / "voices.sqlite"
