"""Voice templates on disk: encrypted, complete after a crash, and gone when forgotten."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
import struct
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from sordino.errors import AudioError, StoreError, UsageError
from sordino.privacy.keys import SecretKey
from sordino.speaker import schema
from sordino.speaker.vault import BrokenSealError, Place, Vault, total_of

STORE_VARIABLE = "SORDINO_STORE"
LONGEST_NAME = 256

_TEST = b"this key opens this store"
_RANDOM_BYTES = 16
_HEADER = struct.Struct("<dq")
# The length of a record tells the length of a name only in these steps.
_PADDING = 128

Row = tuple[object, ...]


@dataclass(frozen=True)
class EncoderIdentity:
    """Which encoder made a vector; vectors of different encoders cannot be compared.

    Attributes:
        name: what it is called.
        digest: SHA-256 of its bundle, in hexadecimal digits.
    """

    name: str
    digest: str

    def __str__(self) -> str:
        return f"{self.name} ({self.digest[:8]})"


@dataclass(frozen=True, eq=False)
class Enrolment:
    """One utterance that somebody enrolled with. Its text form never shows the vector.

    Attributes:
        vector: float32, shape (dimension,).
        speech: seconds of speech that it was made from.
        date: when, to the second, in UTC.

    Raises:
        UsageError: the vector is not of finite numbers, not all 0, or the seconds are no length.
    """

    vector: npt.NDArray[np.float32] = field(repr=False)
    speech: float
    date: datetime = field(default_factory=lambda: datetime.now(timezone.utc))

    def __post_init__(self) -> None:
        if self.vector.ndim != 1 or not np.isfinite(self.vector).all() or not self.vector.any():
            raise UsageError("a speaker vector is empty, all 0, or not of finite numbers")
        if not 0 <= self.speech < math.inf:
            raise UsageError(f"{self.speech} is no number of seconds")


@dataclass(frozen=True, eq=False)
class Template:
    """All that is stored of a name.

    Attributes:
        name: whose voice it is.
        encoder: what made the vectors.
        enrolments: at least one, in the order in which they came.
    """

    name: str
    encoder: EncoderIdentity
    enrolments: tuple[Enrolment, ...]

    @property
    def vectors(self) -> npt.NDArray[np.float32]:
        """The vectors, shape (enrolments, dimension)."""
        return np.stack([enrolment.vector for enrolment in self.enrolments])

    @property
    def speech(self) -> float:
        """Seconds of speech, all together."""
        return sum(enrolment.speech for enrolment in self.enrolments)


@dataclass(frozen=True)
class _Person:
    name: str
    encoder: EncoderIdentity
    dimension: int
    enrolments: int
    tag: int


@dataclass(frozen=True)
class _Seal:
    version: int
    people: int
    tag: int


class Store:
    """An open store. Made by `Store.open`; for one thread, with others beside it as needed.

    Every method raises `StoreError` when the file has been moved or replaced since, and
    `UsageError` in another thread or after `close`.

    Example:
        >>> import tempfile
        >>> key = SecretKey.from_secret(b"sixteen bytes or more")
        >>> encoder = EncoderIdentity("example", "00")
        >>> vector = np.array([0.6, 0.8], dtype=np.float32)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Store.open(Path(folder, "voices"), key, create=True) as store:
        ...         _ = store.enroll("anna", encoder, [Enrolment(vector, speech=4.0)])
        ...         [(t.name, t.speech) for t in store.templates()], store.forget("anna")
        ([('anna', 4.0)], 1)
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, vault: Vault) -> None:
        self.path = path
        self._connection = connection
        self._vault = vault
        # The folder where the program runs may change.
        self._file = path.absolute()
        self._identity = _identity(self._file.stat())
        self._checked: tuple[int, ...] | None = None

    @classmethod
    def open(cls, path: Path | str, key: SecretKey, *, create: bool = False) -> Store:
        """Open a store, raise it to the present version, and check that the key is its own.

        Args:
            path: the file.
            key: the secret that it was made with; not one that ends with the process.
            create: make the store where there is none.

        Raises:
            UsageError: there is no store, the key is another one, or the store is for a later
                sordino.
            OutputError: it cannot be made or opened.
            StoreError: it is damaged, or another program holds it.
        """
        if not key.lasting:
            raise UsageError(
                "a store needs a key that lasts; make one with: sordino key FILE, and give it with"
                " --key-file or SORDINO_KEY"
            )
        place = Path(path)
        connection = schema.connect(place, create=create)
        try:
            with schema.clear_errors(place):
                return cls(place, connection, _prepared(connection, place, key, create=create))
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def enroll(
        self,
        name: str,
        encoder: EncoderIdentity,
        enrolments: Sequence[Enrolment],
        *,
        least_speech: float = 0.0,
    ) -> Template:
        """Add utterances to a name, which is made if it is new: all of them or, on error, none.

        Args:
            name: 1 to 256 characters, compared in NFC form.
            encoder: what made the vectors.
            enrolments: at least one.
            least_speech: seconds that the name must have with them.

        Returns:
            The template, with the new enrolments last.

        Raises:
            AudioError: the name would have less speech than that.
            UsageError: the name is not one, the vectors do not fit together, or the name is
                enrolled with another encoder.
            OutputError: the store cannot be written.
            StoreError: the store is damaged, or another program holds it.
        """
        name = checked_name(name)
        sizes = {enrolment.vector.size for enrolment in enrolments}
        if len(sizes) != 1:
            raise UsageError(f"{name!r}: needs vectors, all of one length")
        dimension = sizes.pop()
        with self._transaction(write=True):
            seal = self._checked_seal()
            person = self._vault.name_digest(name)
            old = self._person(person)
            known = old or _Person(name, encoder, dimension, 0, 0)
            if (known.encoder, known.dimension) != (encoder, dimension):
                raise UsageError(other_encoder(name, known.encoder, encoder))
            earlier = self._enrolments(person, old) if old else ()
            template = Template(name, encoder, (*earlier, *enrolments))
            if template.speech < least_speech:
                raise AudioError(
                    f"{name!r}: too little speech: {template.speech:.1f} s in all,"
                    f" needs {least_speech:.1f} s"
                )
            tags = [
                self._insert(person, known.enrolments + offset, encoder, enrolment)
                for offset, enrolment in enumerate(enrolments, start=1)
            ]
            new = _Person(
                name,
                encoder,
                dimension,
                known.enrolments + len(tags),
                total_of([known.tag, *tags]),
            )
            removed = self._tag_of(person) if old else 0
            added = self._write_person(person, new)
            self._write_seal(seal, people=0 if old else 1, tags=(added, -removed))
        return template

    def forget(self, name: str) -> int:
        """Remove a name and all that is stored of it, and rebuild the file without it.

        Returns:
            How many enrolments were removed.

        Raises:
            UsageError: nobody has this name.
            OutputError: the store cannot be written.
            StoreError: the store is damaged, or another program holds it.
        """
        name = checked_name(name)
        with self._transaction(write=True):
            seal = self._checked_seal()
            person = self._vault.name_digest(name)
            if self._person(person) is None:
                raise UsageError(self._unknown(name))
            removed = self._tag_of(person)
            self._connection.execute("DELETE FROM people WHERE person = ?", (person,))
            count = self._connection.execute(
                "DELETE FROM enrolments WHERE person = ?", (person,)
            ).rowcount
            self._write_seal(seal, people=-1, tags=(-removed,))
        self._rebuild(name)
        return count

    def template(self, name: str) -> Template:
        """What is stored of a name.

        Raises:
            UsageError: nobody has this name.
            StoreError: the store is damaged, or another program holds it.
        """
        name = checked_name(name)
        with self._transaction(write=False):
            self._checked_seal()
            person = self._vault.name_digest(name)
            found = self._person(person)
            if found is None:
                raise UsageError(self._unknown(name))
            return Template(found.name, found.encoder, self._enrolments(person, found))

    def templates(self) -> list[Template]:
        """All that is stored, sorted by name, and checked.

        Raises:
            StoreError: the store is damaged, or another program holds it.
        """
        with self._transaction(write=False):
            self._checked_seal()
            rows = self._rows("SELECT person, record FROM people")
            groups: dict[bytes, list[Row]] = {_blob(person): [] for person, _ in rows}
            for person, *rest in self._rows(
                "SELECT person, number, record FROM enrolments ORDER BY person, number"
            ):
                if _blob(person) not in groups:
                    raise self._damaged("it has an enrolment of nobody")
                groups[_blob(person)].append(tuple(rest))
            found = []
            for key, record in rows:
                person = _blob(key)
                known = self._unsealed_person(person, _blob(record))
                opened = self._opened(person, known, groups[person])
                found.append(Template(known.name, known.encoder, opened))
        return sorted(found, key=lambda template: template.name)

    def __len__(self) -> int:
        with self._transaction(write=False):
            return self._checked_seal().people

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[None]:
        with (
            schema.clear_errors(self.path),
            schema.transaction(self._connection, write=write),
        ):
            self._refuse_moved()
            yield

    def _refuse_moved(self) -> None:
        # The open file can still be used, but nobody else will ever see it.
        try:
            same = _identity(self._file.stat()) == self._identity
        except FileNotFoundError:
            same = False
        if not same:
            raise StoreError(
                f"store {self.path}: the file was moved or replaced while it was open; open it anew"
            )

    def _state(self) -> tuple[int, ...]:
        # Changes with what other connections write, and with what is written past SQLite.
        version = int(self._connection.execute("PRAGMA data_version").fetchone()[0])
        status = self._file.stat()
        return version, status.st_ctime_ns, status.st_mtime_ns, status.st_size

    def _rebuild(self, name: str) -> None:
        # Deleted bytes are overwritten, but copies that moved within a page are not.
        try:
            self._connection.execute("VACUUM")
        except sqlite3.Error as error:
            raise StoreError(
                f"store {self.path}: {name!r} is forgotten, but the file could not be rebuilt"
                f" without traces ({error}); the next name that is forgotten has it rebuilt"
            ) from error

    def _rows(self, query: str, *values: object) -> list[Row]:
        return self._connection.execute(query, values).fetchall()

    def _checked_seal(self) -> _Seal:
        # Compares all people with the seal, unless nobody has written since.
        seal = _read_seal(self._connection, self._vault, self.path)
        state = self._state()
        if self._checked == state:
            return seal
        people = [
            (_blob(person), _blob(record))
            for person, record in self._rows("SELECT person, record FROM people")
        ]
        tags = (self._vault.tag(record, _person_place(person)) for person, record in people)
        if total_of(tags) != seal.tag or len(people) != seal.people:
            for person, record in people:
                self._unsealed_person(person, record)
            raise self._damaged(
                f"it should hold {seal.people} names and holds {len(people)}"
                if len(people) != seal.people
                else "an older record of a name was put back"
            )
        self._checked = state
        return seal

    def _person(self, person: bytes) -> _Person | None:
        rows = self._rows("SELECT record FROM people WHERE person = ?", person)
        return self._unsealed_person(person, _blob(rows[0][0])) if rows else None

    def _tag_of(self, person: bytes) -> int:
        ((record,),) = self._rows("SELECT record FROM people WHERE person = ?", person)
        return self._vault.tag(_blob(record), _person_place(person))

    def _unsealed_person(self, person: bytes, record: bytes) -> _Person:
        try:
            said = json.loads(self._vault.unseal(record, _person_place(person)))
        except BrokenSealError as error:
            raise self._damaged("the record of a name does not open") from error
        encoder = EncoderIdentity(said["encoder"], said["digest"])
        return _Person(
            said["name"], encoder, said["dimension"], said["enrolments"], int(said["tag"], 16)
        )

    def _enrolments(self, person: bytes, known: _Person) -> tuple[Enrolment, ...]:
        query = "SELECT number, record FROM enrolments WHERE person = ? ORDER BY number"
        return self._opened(person, known, self._rows(query, person))

    def _opened(self, person: bytes, known: _Person, rows: Sequence[Row]) -> tuple[Enrolment, ...]:
        found, tags = [], []
        for number, (stored, record) in enumerate(rows, start=1):
            place = _enrolment_place(person, number, known.encoder)
            tags.append(self._vault.tag(_blob(record), place))
            try:
                if stored != number:
                    raise BrokenSealError
                found.append(_unpacked(self._vault.unseal(_blob(record), place)))
            except BrokenSealError as error:
                raise self._damaged(
                    f"enrolment {number} of {known.name!r} is missing or does not open",
                    "forget the name and enrol it again, or restore the store from a copy",
                ) from error
        if (len(rows), total_of(tags)) != (known.enrolments, known.tag):
            raise self._damaged(
                f"enrolments of {known.name!r} were removed or put back",
                "forget the name and enrol it again, or restore the store from a copy",
            )
        return tuple(found)

    def _insert(
        self, person: bytes, number: int, encoder: EncoderIdentity, enrolment: Enrolment
    ) -> int:
        place = _enrolment_place(person, number, encoder)
        sealed = self._vault.seal(_packed(enrolment), place)
        self._connection.execute(
            "INSERT INTO enrolments VALUES (?, ?, ?)", (person, number, sealed)
        )
        return self._vault.tag(sealed, place)

    def _write_person(self, person: bytes, known: _Person) -> int:
        text = json.dumps(
            {
                "name": known.name,
                "encoder": known.encoder.name,
                "digest": known.encoder.digest,
                "dimension": known.dimension,
                "enrolments": known.enrolments,
                "tag": f"{known.tag:064x}",
            }
        )
        padded = text.ljust(-(-len(text) // _PADDING) * _PADDING).encode("ascii")
        sealed = self._vault.seal(padded, _person_place(person))
        self._connection.execute("INSERT OR REPLACE INTO people VALUES (?, ?)", (person, sealed))
        return self._vault.tag(sealed, _person_place(person))

    def _write_seal(self, seal: _Seal, *, people: int, tags: Sequence[int]) -> None:
        new = _Seal(seal.version, seal.people + people, total_of([seal.tag, *tags]))
        _write_seal(self._connection, self._vault, new)

    def _unknown(self, name: str) -> str:
        return f"nobody is enrolled as {name!r} in {self.path}"

    def _damaged(self, what: str, remedy: str = schema.RESTORE) -> StoreError:
        return StoreError(f"store {self.path}: is damaged or was changed: {what}; {remedy}")


def checked_name(name: str) -> str:
    """A name in the form in which it is stored, NFC.

    Raises:
        UsageError: it is blank, or longer than 256 characters.

    Example:
        >>> checked_name("Zoe\\u0308") == checked_name("Zo\\u00eb")
        True
    """
    name = unicodedata.normalize("NFC", name)
    if not name.strip():
        raise UsageError("a name is empty")
    if len(name) > LONGEST_NAME:
        raise UsageError(f"a name has {len(name)} characters; at most {LONGEST_NAME} are stored")
    return name


def other_encoder(name: str, stored: EncoderIdentity, given: EncoderIdentity) -> str:
    """What to tell when a name's template is of another encoder than the one in use."""
    return (
        f"{name!r} is enrolled with the encoder {stored}, which cannot be compared with {given};"
        " use that encoder, or forget the name and enrol it again"
    )


def default_store() -> Path:
    """Where the store lies if nothing else is said: SORDINO_STORE, else the user's data folder."""
    import platformdirs

    chosen = os.environ.get(STORE_VARIABLE)
    if chosen:
        return Path(chosen)
    return platformdirs.user_data_path("sordino", appauthor=False) / "voices.sqlite"


def _prepared(connection: sqlite3.Connection, path: Path, key: SecretKey, *, create: bool) -> Vault:
    version = schema.version_of(connection, path)
    if version == len(schema.STEPS):
        return _opened_vault(connection, path, key, version)
    with schema.transaction(connection, write=True):
        # Another program may have done it in the meantime.
        version = schema.version_of(connection, path)
        if version == 0:
            if not create:
                raise UsageError(f"store {path}: is empty; sordino enroll fills it")
            schema.raise_tables(connection, 0)
            vault = _new_vault(connection, key)
        else:
            vault = _opened_vault(connection, path, key, version, tables=False)
            seal = _read_seal(connection, vault, path)
            schema.raise_tables(connection, version)
            new = _Seal(len(schema.STEPS), seal.people, seal.tag)
            _write_seal(connection, vault, new)
        schema.check_tables(connection, path)
    return vault


def _new_vault(connection: sqlite3.Connection, key: SecretKey) -> Vault:
    random = os.urandom(_RANDOM_BYTES)
    identity = random + _checksum(random)
    vault = Vault(key, identity)
    test = vault.seal(_TEST, (b"test",))
    connection.execute("INSERT INTO store VALUES (1, ?, ?, ?)", (identity, test, b""))
    _write_seal(connection, vault, _Seal(len(schema.STEPS), 0, 0))
    return vault


def _opened_vault(
    connection: sqlite3.Connection, path: Path, key: SecretKey, version: int, *, tables: bool = True
) -> Vault:
    if tables:
        schema.check_tables(connection, path)
    rows = connection.execute("SELECT identity, test, seal FROM store").fetchall()
    identity, test, seal = map(_blob, rows[0]) if rows else (b"",) * 3
    if len(rows) != 1 or identity[_RANDOM_BYTES:] != _checksum(identity[:_RANDOM_BYTES]):
        raise StoreError(f"store {path}: its head is damaged; {schema.RESTORE}")
    vault = Vault(key, identity)
    opens = [_opens(vault, test, (b"test",)), _opens(vault, seal, (b"seal",))]
    if not any(opens):
        raise UsageError(
            f"store {path}: this key does not open it; it was made with another one; give"
            " that, or another store"
        )
    if not all(opens):
        raise StoreError(f"store {path}: its head is damaged; {schema.RESTORE}")
    if _read_seal(connection, vault, path).version != version:
        raise StoreError(f"store {path}: its version was changed; {schema.RESTORE}")
    return vault


def _opens(vault: Vault, sealed: bytes, place: Place) -> bool:
    try:
        vault.unseal(sealed, place)
    except BrokenSealError:
        return False
    return True


def _read_seal(connection: sqlite3.Connection, vault: Vault, path: Path) -> _Seal:
    (sealed,) = connection.execute("SELECT seal FROM store").fetchone()
    try:
        said = json.loads(vault.unseal(_blob(sealed), (b"seal",)))
    except BrokenSealError as error:
        raise StoreError(f"store {path}: its head is damaged; {schema.RESTORE}") from error
    return _Seal(said["version"], said["people"], int(said["tag"], 16))


def _write_seal(connection: sqlite3.Connection, vault: Vault, seal: _Seal) -> None:
    text = json.dumps({"version": seal.version, "people": seal.people, "tag": f"{seal.tag:064x}"})
    sealed = vault.seal(text.encode("ascii"), (b"seal",))
    connection.execute("UPDATE store SET seal = ?", (sealed,))


def _packed(enrolment: Enrolment) -> bytes:
    header = _HEADER.pack(enrolment.speech, round(enrolment.date.timestamp()))
    return header + enrolment.vector.astype("<f4").tobytes()


def _unpacked(record: bytes) -> Enrolment:
    speech, seconds = _HEADER.unpack_from(record)
    vector = np.frombuffer(record, dtype="<f4", offset=_HEADER.size).astype(np.float32)
    return Enrolment(vector, speech, datetime.fromtimestamp(seconds, timezone.utc))


def _person_place(person: bytes) -> Place:
    return (b"person", person)


def _enrolment_place(person: bytes, number: int, encoder: EncoderIdentity) -> Place:
    made_by = (encoder.name.encode("utf-8", "surrogatepass"), encoder.digest.encode("ascii"))
    return (b"enrolment", person, number.to_bytes(8, "big"), *made_by)


def _checksum(random: bytes) -> bytes:
    return hashlib.sha256(random).digest()[: len(random)]


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _blob(value: object) -> bytes:
    # A damaged row can hold anything.
    return value if isinstance(value, bytes) else b""
