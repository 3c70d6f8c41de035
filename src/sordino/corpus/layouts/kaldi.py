"""A Kaldi data directory: `wav.scp`, `utt2spk` and what may come with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sordino.corpus.corpus import Corpus
from sordino.corpus.layouts.assemble import assemble
from sordino.corpus.layouts.pipes import decoded_file
from sordino.corpus.layouts.tables import Entry, read_optional_table, read_table
from sordino.corpus.utterance import Utterance, sex_of
from sordino.errors import UsageError

NAME = "kaldi"
LOOKS_LIKE = "a folder with wav.scp and utt2spk"

_TO_THE_END = -1.0


@dataclass(frozen=True)
class _Stretch:
    """Where an utterance lies: a recording of `wav.scp`, and seconds in it."""

    recording: str
    start: float | None
    end: float | None


def recognises(path: Path) -> bool:
    """Whether a path is a folder with a `wav.scp`."""
    return (path / "wav.scp").is_file()


def read(path: Path) -> Corpus:
    """Read a Kaldi data directory.

    Needs `wav.scp` and `utt2spk`; takes the sex from `spk2gender`, the words from `text`, the
    parts of recordings from `segments`, and `utt2lang` and `utt2dur` where they are. Commands in
    `wav.scp` are never run; see `pipes`. A relative path is looked for from the working directory,
    where Kaldi starts its programs, then from the folder itself and each one above it.

    Args:
        path: the folder.

    Raises:
        UsageError: a line is not right, an utterance has no recording or no speaker, or recordings
            are missing; the message names the file and the line.
    """
    return assemble(path / "wav.scp", _utterances(path))


def _utterances(folder: Path) -> Iterator[tuple[Utterance, str]]:
    recordings = read_table(folder / "wav.scp")
    speakers = read_table(folder / "utt2spk")
    stretches = _stretches(folder, recordings)
    for utterance in stretches:
        if utterance not in speakers:
            raise UsageError(f"{folder / 'utt2spk'}: lacks the utterance {utterance}")
    files = _Files(folder)
    paths = {
        recording: files.locate(recordings[recording])
        for recording in dict.fromkeys(stretch.recording for stretch in stretches.values())
    }
    sexes = _sexes(folder / "spk2gender")
    texts, languages, durations = (
        read_optional_table(folder / name) for name in ("text", "utt2lang", "utt2dur")
    )
    for utterance, speaker in speakers.items():
        if utterance not in stretches:
            raise UsageError(
                f"{folder / 'utt2spk'}, line {speaker.line}: there is no recording of {utterance}"
            )
        stretch = stretches[utterance]
        yield (
            Utterance(
                utterance,
                paths[stretch.recording],
                speaker.value,
                sex=sexes.get(speaker.value),
                language=_value(languages, utterance),
                text=_value(texts, utterance),
                duration=_number(folder / "utt2dur", durations.get(utterance)),
                start=stretch.start,
                end=stretch.end,
            ),
            f"line {recordings[stretch.recording].line}",
        )


def _stretches(folder: Path, recordings: Mapping[str, Entry]) -> dict[str, _Stretch]:
    table = folder / "segments"
    if not table.exists():
        return {recording: _Stretch(recording, None, None) for recording in recordings}
    stretches = {}
    for utterance, entry in read_table(table).items():
        where = f"{table}, line {entry.line}"
        try:
            recording, start, end = entry.value.split()
            first, last = float(start), float(end)
        except ValueError:
            raise UsageError(
                f"{where}: expected an utterance, a recording, and two times in seconds"
            ) from None
        if recording not in recordings:
            raise UsageError(f"{where}: {recording} is not in wav.scp")
        if last != _TO_THE_END and not 0 <= first < last:
            raise UsageError(f"{where}: {utterance} goes from {start} to {end} s")
        stretches[utterance] = _Stretch(recording, first, None if last == _TO_THE_END else last)
    return stretches


class _Files:
    """Finds what `wav.scp` names."""

    def __init__(self, folder: Path) -> None:
        self._table = folder / "wav.scp"
        home = folder.absolute()
        self._roots = (Path(), home, *home.parents)

    def locate(self, entry: Entry) -> Path:
        try:
            name = decoded_file(entry.value) if entry.value.endswith("|") else entry.value
            if re.search(r"\.ark:\d+$", name):
                raise UsageError("points into an archive; write its recordings to files first")
        except UsageError as error:
            raise UsageError(f"{self._table}, line {entry.line}: {error}") from error
        places = [root / name for root in self._roots]
        return next((place for place in places if place.is_file()), places[0])


def _sexes(table: Path) -> dict[str, str | None]:
    sexes = {}
    for speaker, entry in read_optional_table(table).items():
        try:
            sexes[speaker] = sex_of(entry.value)
        except UsageError as error:
            raise UsageError(f"{table}, line {entry.line}: {error}") from error
    return sexes


def _value(table: Mapping[str, Entry], key: str) -> str | None:
    return table[key].value if key in table else None


def _number(table: Path, entry: Entry | None) -> float | None:
    if entry is None:
        return None
    try:
        return float(entry.value)
    except ValueError:
        raise UsageError(
            f"{table}, line {entry.line}: {entry.value!r} is not a number of seconds"
        ) from None
