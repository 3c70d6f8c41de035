"""Who speaks when: RTTM files, as diarization tools write them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sordino.errors import UsageError

SUFFIX = ".rttm"

# NIST, "RTTM file format specification": type, file, channel, start, duration, orthography,
# subtype, name, confidence.
_FILE, _START, _DURATION, _SUBTYPE, _NAME = 1, 3, 4, 6, 7
_SEXES = {"adult_female": "F", "adult_male": "M"}
_UNNAMED = "<NA>"


@dataclass(frozen=True, slots=True)
class Turn:
    """One stretch in which one person speaks.

    Attributes:
        speaker: who speaks.
        start: in seconds from the recording's beginning.
        end: in seconds, after the start.
        sex: of the speaker, "F", "M" or "" where it is not known.
    """

    speaker: str
    start: float
    end: float
    sex: str = ""


@dataclass(frozen=True)
class Turns:
    """The turns of many recordings.

    Attributes:
        place: the file or folder that they were read from.
        by_name: each recording's turns, sorted by their start.
    """

    place: Path
    by_name: Mapping[str, tuple[Turn, ...]]

    def of(self, recording: Path) -> tuple[Turn, ...]:
        """The turns of a recording, found by its name without the ending.

        Raises:
            UsageError: there are none.
        """
        if recording.stem not in self.by_name:
            raise UsageError(f"{recording}: {self.place} has no SPEAKER line of {recording.stem!r}")
        return self.by_name[recording.stem]


def read_rttm(place: Path) -> Turns:
    """Read an RTTM file, or all of a folder.

    The sex is taken from SPKR-INFO lines (adult_male, adult_female); lines of other types are
    passed over.

    Args:
        place: a file, or a folder in which files end in .rttm.

    Raises:
        UsageError: something cannot be read, a line is not as it should be (the message names it),
            or there is no SPEAKER line at all.
    """
    files = sorted(place.glob(f"*{SUFFIX}")) if place.is_dir() else [place]
    found: dict[str, list[Turn]] = {}
    sexes: dict[str, str] = {}
    for file in files:
        for number, fields in _lines(file):
            try:
                if fields[0] == "SPEAKER":
                    found.setdefault(fields[_FILE], []).append(_turn(fields))
                elif fields[0] == "SPKR-INFO":
                    _note_sex(sexes, fields[_NAME], fields[_SUBTYPE])
            except UsageError as error:
                raise UsageError(f"{file}, line {number}: {error}") from error
            except IndexError as error:
                raise UsageError(
                    f"{file}, line {number}: has {len(fields)} fields; a line of RTTM has at least"
                    f" {_NAME + 1}"
                ) from error
    if not found:
        kind = f"no file in it ends in {SUFFIX}" if not files else "there is no SPEAKER line in it"
        raise UsageError(f"{place}: {kind}")
    return Turns(
        place,
        {
            name: tuple(
                sorted(
                    (replace(turn, sex=sexes.get(turn.speaker, "")) for turn in turns),
                    key=lambda turn: (turn.start, -turn.end, turn.speaker),
                )
            )
            for name, turns in found.items()
        },
    )


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not text in UTF-8") from error
    for number, line in enumerate(text.splitlines(), start=1):
        if (fields := line.split()) and not line.startswith(";;"):
            yield number, fields


def _turn(fields: list[str]) -> Turn:
    name = fields[_NAME]
    if name == _UNNAMED:
        raise UsageError("names no speaker")
    if "\0" in name:
        raise UsageError("has a zero byte in the name of the speaker")
    start, duration = _seconds(fields[_START], "start"), _seconds(fields[_DURATION], "duration")
    if duration == 0:
        raise UsageError("the duration is 0")
    return Turn(name, start, start + duration)


def _seconds(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise UsageError(f"the {what} {text!r} is not a time in seconds")
    return value


def _note_sex(sexes: dict[str, str], speaker: str, kind: str) -> None:
    sex = _SEXES.get(kind.lower())
    if sex is not None and sexes.setdefault(speaker, sex) != sex:
        raise UsageError(f"{speaker} is both male and female")
