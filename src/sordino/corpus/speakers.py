"""Who speaks in a recording: by its folder, by its name, or by a table."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sordino.corpus.utterance import sex_of
from sordino.errors import UsageError

SpeakerRule = Callable[[Path], str | None]
"""Maps a recording's path to its speaker's id, or to None where the rule leaves it out.

Raises UsageError where the rule cannot tell.
"""


def by_folder(path: Path) -> str:
    """The name of the folder that the recording lies in.

    Example:
        >>> by_folder(Path("corpus/alice/001.wav"))
        'alice'
    """
    return Path(os.path.abspath(path)).parent.name


def by_regex(pattern: str) -> SpeakerRule:
    """A rule that searches the path, with forward slashes, for a regular expression.

    Args:
        pattern: the speaker is the group named `speaker`, else the first group, else the match;
            of several matches the last.

    Raises:
        UsageError: the pattern is not a regular expression. The rule itself raises it for a path
            in which the pattern is not found.

    Example:
        >>> by_regex(r"(p\\d+)_")(Path("wav/p225_003.wav"))
        'p225'
    """
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"speaker pattern {pattern!r} is not valid: {error}") from error

    named = "speaker" in compiled.groupindex
    group: int | str = "speaker" if named else min(1, compiled.groups)

    def rule(path: Path) -> str:
        # The last match: what stands in the file's name comes before what its folders are called.
        found = [match[group] for match in compiled.finditer(path.as_posix())]
        if not found:
            raise UsageError(f"{path}: the speaker pattern {pattern!r} is not found in this path")
        speakers = [speaker for speaker in found if speaker]
        if not speakers:
            raise UsageError(f"{path}: the speaker pattern {pattern!r} matches nothing here")
        return str(speakers[-1])

    return rule


def by_table(table: Path, only: Sequence[tuple[str, str]] = ()) -> SpeakerRule:
    """A rule from a CSV file with the columns `path` and `speaker`.

    Args:
        table: the file, with a header line. Its paths are relative to the folder that it is in.
        only: pairs of column and value; recordings without a row that has them are left out.

    Raises:
        UsageError: the table cannot be read or lacks a column; the message names the line. The
            rule itself raises it for a recording that the table does not list.
    """
    speakers = _read_table(table, only)

    def rule(path: Path) -> str | None:
        place = os.path.abspath(path)
        if place not in speakers:
            raise UsageError(f"{path}: not listed in {table}")
        return speakers[place]

    return rule


def sexes_in_table(table: Path) -> Mapping[str, str]:
    """The sex of speakers, "F" or "M", from the column `sex` of such a table, where it has one.

    Raises:
        UsageError: the table cannot be read, says something else than a sex, or gives a speaker
            both; the message names the line.
    """
    sexes: dict[str, str] = {}
    try:
        with table.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            for row in reader:
                speaker = (row.get("speaker") or "").strip()
                sex = sex_of(row.get("sex") or "")
                if sex is not None and sexes.setdefault(speaker, sex) != sex:
                    raise UsageError(f"speaker {speaker} is both F and M")
    except OSError as error:
        raise UsageError(f"{table}: {error.strerror}") from error
    except (csv.Error, UsageError) as error:
        raise UsageError(f"{table}, line {reader.reader.line_num}: {error}") from error
    return sexes


def _read_table(table: Path, only: Sequence[tuple[str, str]]) -> Mapping[str, str | None]:
    folder = os.path.abspath(table.parent)
    speakers: dict[str, str] = {}
    chosen: set[str] = set()
    try:
        with table.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            needed = ["path", "speaker", *(column for column, _ in only)]
            missing = [name for name in needed if name not in (reader.fieldnames or [])]
            if missing:
                raise UsageError(
                    f"{table}: has no column {missing[0]!r}; it needs path and speaker"
                )
            for row in reader:
                path, speaker = row["path"], (row["speaker"] or "").strip()
                if not path or not speaker:
                    raise UsageError(f"{table}, line {reader.line_num}: path or speaker is empty")
                place = os.path.normpath(os.path.join(folder, path))
                if speakers.setdefault(place, speaker) != speaker:
                    raise UsageError(
                        f"{table}, line {reader.line_num}: {path} is listed with two speakers"
                    )
                if all(row[column] == value for column, value in only):
                    chosen.add(place)
    except OSError as error:
        raise UsageError(f"{table}: {error.strerror}") from error
    except csv.Error as error:
        raise UsageError(
            f"{table}, line {reader.reader.line_num}: is not a CSV table ({error})"
        ) from error
    return {place: speakers[place] if place in chosen else None for place in speakers}
