"""What is known of templates and speakers, from a CSV table."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sordino.errors import UsageError


@dataclass(frozen=True)
class AttributeTable:
    """Attributes by key of a template, or by speaker.

    Attributes:
        name: of the file, for messages.
        by_key: whether a row is of one template; else it is of all templates of a speaker.
        columns: names of the columns.
        rows: for each key or speaker the value of each column; "" where it is not known.
        conflicts: speakers with rows of different values in a column, by column.
    """

    name: str
    by_key: bool
    columns: tuple[str, ...]
    rows: Mapping[str, Mapping[str, str]]
    conflicts: Mapping[str, str]

    @classmethod
    def read(cls, path: Path) -> AttributeTable:
        """Read a table with a column `key`, as files of vectors have them, or else `speaker`.

        Args:
            path: CSV with a header line. By speaker, several rows of one speaker are as one, as
                long as they do not differ in an attribute that is asked for.

        Raises:
            UsageError: the file cannot be read, has neither column, a row has no key, or a key
                comes twice; the message names the line.
        """
        try:
            with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
                return _table(path, csv.DictReader(file, strict=True))
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from error
        except csv.Error as error:
            raise UsageError(f"{path}: is not a CSV table ({error})") from error

    def values(self, column: str, keys: Sequence[str], speakers: Sequence[str]) -> tuple[str, ...]:
        """The value of a column for each template; "" where the table does not tell it.

        Args:
            column: its name.
            keys: of the templates.
            speakers: who each is of.

        Raises:
            UsageError: there is no such column, or a speaker has two values in it.
        """
        if column not in self.columns:
            there = ", ".join(self.columns)
            raise UsageError(f"{self.name}: has no column {column!r}; there are: {there}")
        if column in self.conflicts:
            raise UsageError(
                f"{self.name}: speaker {self.conflicts[column]} has rows with different {column};"
                " use a table with a column key"
            )
        wanted = keys if self.by_key else speakers
        return tuple(self.rows.get(name, {}).get(column, "") for name in wanted)

    def lists(self, key: str, speaker: str) -> bool:
        """Whether there is a row for a template."""
        return (key if self.by_key else speaker) in self.rows


def without(
    table: AttributeTable, attributes: Sequence[str], unknown: Sequence[tuple[str, str]]
) -> AttributeTable:
    """A table that does not know attributes where it says something that makes them doubtful.

    Args:
        table: as it is.
        attributes: columns that become "" in such rows.
        unknown: columns with values; a row with any of them is such a row.

    Raises:
        UsageError: the table has no such column.

    Example:
        >>> rows = {"ann": {"sex": "F", "check": "doubtful"}, "bob": {"sex": "M", "check": ""}}
        >>> table = AttributeTable("t.csv", False, ("speaker", "sex", "check"), rows, {})
        >>> without(table, ["sex"], [("check", "doubtful")]).values("sex", "12", ["ann", "bob"])
        ('', 'M')
    """
    for column, _ in unknown:
        table.values(column, (), ())
    silent = dict.fromkeys(attributes, "")
    rows = {
        name: {**row, **silent}
        if any(row.get(column) == value for column, value in unknown)
        else row
        for name, row in table.rows.items()
    }
    return replace(table, rows=rows)


def _table(path: Path, reader: csv.DictReader[str]) -> AttributeTable:
    columns = tuple(reader.fieldnames or ())
    by_key = "key" in columns
    if not by_key and "speaker" not in columns:
        raise UsageError(f"{path}: has neither a column key nor a column speaker")
    index = "key" if by_key else "speaker"
    rows: dict[str, dict[str, str]] = {}
    conflicts: dict[str, str] = {}
    for row in reader:
        where = f"{path}, line {reader.line_num}"
        if None in row:
            raise UsageError(f"{where}: has more fields than the header")
        found = {column: (row[column] or "").strip() for column in columns}
        name = found[index]
        if not name:
            raise UsageError(f"{where}: the {index} is empty")
        known = rows.setdefault(name, found)
        if known is found:
            continue
        if by_key:
            raise UsageError(f"{where}: the key {name} comes twice")
        for column in columns:
            if known[column] != found[column]:
                conflicts.setdefault(column, name)
    return AttributeTable(str(path), by_key, columns, rows, conflicts)
