"""Common Voice, one language: `clips/common_voice_cy_1.mp3` with `validated.tsv` beside it."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sordino.corpus.corpus import Corpus
from sordino.corpus.layouts.assemble import assemble
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError

NAME = "commonvoice"
LOOKS_LIKE = "a folder with Common Voice's clips and its validated.tsv or train.tsv"

_CLIPS = "clips"
_SPLITS = ("train", "dev", "test")
_TABLES = ("validated", *_SPLITS)
_DURATIONS = "clip_durations.tsv"
_NEEDED = ("client_id", "path", "sentence")
# Releases up to 16 have the first words, later ones the second.
_SEXES = {"male": "M", "female": "F", "male_masculine": "M", "female_feminine": "F"}
_NO_SEX = frozenset(
    {"", "other", "intersex", "transgender", "non-binary", "non_binary", "do_not_wish_to_say"}
)


@dataclass(frozen=True, slots=True)
class _Clip:
    """What a line of a table says of a clip, and where the line is."""

    speaker: str
    text: str
    sex: str | None
    locale: str
    table: str
    line: int

    @property
    def place(self) -> str:
        return f"{self.table}, line {self.line}"


def recognises(path: Path) -> bool:
    """Whether a path is a folder with `clips` and a table of them."""
    return (path / _CLIPS).is_dir() and any(map(Path.is_file, _tables(path)))


def read(path: Path) -> Corpus:
    """Read Common Voice.

    The clips of `validated.tsv` are read, with the split of those that are in `train.tsv`,
    `dev.tsv` or `test.tsv`; where the first is not there, only those. What listeners rejected or
    have not heard (`invalidated.tsv`, `other.tsv`) is left out. The speaker is the client. The
    language is that of the locale ("zh" for zh-CN). The sex is unknown where a client's clips do
    not agree. Durations are read from `clip_durations.tsv`, where it is.

    Args:
        path: the folder of a language.

    Raises:
        UsageError: there is no table, a line is not right, a clip is in two splits, or clips are
            missing; the message names the table and the line.
    """
    clips: dict[str, _Clip] = {}
    splits: dict[str, str] = {}
    for table in filter(Path.is_file, _tables(path)):
        for name, clip in _read_table(table):
            first = clips.setdefault(name, clip)
            if first.table == table.name and first is not clip:
                raise UsageError(f"{path / clip.place}: {name} stands in line {first.line} too")
            if table.stem in _SPLITS and splits.setdefault(name, table.stem) != table.stem:
                raise UsageError(f"{path / clip.place}: {name} is in {splits[name]}.tsv too")
    sexes = _sexes(clips.values())
    durations = _durations(path / _DURATIONS)
    return assemble(
        path,
        [
            (
                Utterance(
                    Path(name).stem,
                    path / _CLIPS / name,
                    clip.speaker,
                    sex=sexes[clip.speaker],
                    language=clip.locale.partition("-")[0] or None,
                    text=clip.text or None,
                    corpus=NAME,
                    split=splits.get(name),
                    duration=durations.get(name),
                ),
                clip.place,
            )
            for name, clip in clips.items()
        ],
    )


def _tables(path: Path) -> list[Path]:
    return [path / f"{name}.tsv" for name in _TABLES]


def _read_table(table: Path) -> Iterator[tuple[str, _Clip]]:
    for line, row in _rows(table, _NEEDED):
        speaker, name = row["client_id"], row["path"]
        if not speaker or not name:
            raise UsageError(f"{table}, line {line}: client_id or path is empty")
        sex = row.get("gender", "")
        if sex not in _SEXES and sex not in _NO_SEX:
            raise UsageError(f"{table}, line {line}: the gender {sex!r} is not known")
        # The first releases leave the ending out.
        file = name if Path(name).suffix else f"{name}.mp3"
        yield (
            file,
            _Clip(
                sys.intern(speaker),
                row["sentence"],
                _SEXES.get(sex),
                row.get("locale", ""),
                table.name,
                line,
            ),
        )


def _rows(table: Path, needed: Sequence[str]) -> Iterator[tuple[int, Mapping[str, str]]]:
    try:
        with table.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            # Nothing is quoted: a quotation mark belongs to the sentence.
            reader = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            header = next(reader, [])
            if missing := [name for name in needed if name not in header]:
                raise UsageError(f"{table}: has no column {missing[0]!r}")
            width = max(map(header.index, needed)) + 1
            for fields in reader:
                if len(fields) < width:
                    raise UsageError(
                        f"{table}, line {reader.line_num}: has {len(fields)} fields; the columns"
                        f" that are needed go up to {width}"
                    )
                row = zip(header, map(str.strip, fields), strict=False)
                yield reader.line_num, dict(row)
    except OSError as error:
        raise UsageError(f"{table}: {error.strerror}") from error
    except csv.Error as error:
        raise UsageError(f"{table}, line {reader.line_num}: cannot be read ({error})") from error


def _sexes(clips: Iterable[_Clip]) -> Mapping[str, str | None]:
    told: dict[str, set[str]] = {}
    for clip in clips:
        told.setdefault(clip.speaker, set()).update({clip.sex} if clip.sex else ())
    return {speaker: min(sexes) if len(sexes) == 1 else None for speaker, sexes in told.items()}


def _durations(table: Path) -> Mapping[str, float]:
    if not table.is_file():
        return {}
    durations = {}
    for line, row in _rows(table, ("clip", "duration[ms]")):
        try:
            milliseconds = float(row["duration[ms]"])
        except ValueError:
            raise UsageError(
                f"{table}, line {line}: {row['duration[ms]']!r} is not a number of milliseconds"
            ) from None
        if milliseconds > 0:
            durations[row["clip"]] = milliseconds / 1000
    return durations
