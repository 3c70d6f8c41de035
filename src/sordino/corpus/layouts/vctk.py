"""VCTK: `wav48_silence_trimmed/p225/p225_001_mic1.flac`, with `txt` and `speaker-info.txt`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from sordino.corpus.corpus import Corpus
from sordino.corpus.discover import find_recordings
from sordino.corpus.layouts.assemble import assemble
from sordino.corpus.layouts.tables import lines
from sordino.corpus.utterance import Utterance, sex_of
from sordino.errors import UsageError

NAME = "vctk"
LOOKS_LIKE = "a folder with VCTK's wav48_silence_trimmed (release 0.92) or wav48 (release 0.80)"

_TRIMMED = "wav48_silence_trimmed"
_HOMES = (_TRIMMED, "wav48")
_SPEAKER = re.compile(r"p\d+|s5")
_UTTERANCE = re.compile(r"((p\d+|s5)_\d+)(?:_(mic\d))?")
# Speakers of release 0.92 who have more texts than recordings with a microphone.
_GAPS: Mapping[str, frozenset[str]] = {
    "mic1": frozenset({"p362"}),
    "mic2": frozenset({"p280", "p362"}),
}


def recognises(path: Path) -> bool:
    """Whether a path is a folder with VCTK's recordings, or that of the recordings."""
    home = _home(path)
    return home.is_dir() and any(
        _SPEAKER.fullmatch(entry.name) and entry.is_dir() for entry in home.iterdir()
    )


def read(path: Path, mic: str = "mic1") -> Corpus:
    """Read VCTK, release 0.92 or 0.80.

    Release 0.92 has each utterance twice, since two microphones recorded it at once: the first
    (omni-directional) is read, which release 0.80 was made with and which all speakers have; the
    second failed for p280 and p315. An utterance's id is `p225_001` whichever it is. The sex is
    read from `speaker-info.txt`. The language is "en". Speaker p315 has no texts.

    Args:
        path: the folder that holds `wav48_silence_trimmed` or `wav48`, or that folder itself.
        mic: "mic1" or "mic2"; for release 0.92.

    Raises:
        UsageError: the microphone is another word, there are no recordings, one does not lie as
            VCTK's do, or one that has a text is missing, where the published corpus has it.
    """
    if mic not in _GAPS:
        raise UsageError(f"the microphone {mic!r} is not one of {', '.join(_GAPS)}")
    home = _home(path)
    sexes = _sexes(home.parent / "speaker-info.txt")
    texts = {text.stem: text for text in sorted((home.parent / "txt").glob("*/*.txt"))}
    listed = []
    for recording, name, speaker in _recordings(home, mic):
        text = texts.pop(name, None)
        utterance = Utterance(
            name,
            recording,
            speaker,
            sex=sexes.get(speaker),
            language="en",
            text=_words(text) if text else None,
            corpus=NAME,
        )
        listed.append((utterance, ""))
    # Which texts of release 0.80 have no recording is not known: there, a speaker must have some.
    heard = {utterance.speaker for utterance, _ in listed}
    gaps = _GAPS[mic] if home.name == _TRIMMED else heard
    if missing := [name for name in texts if name.partition("_")[0] not in gaps]:
        raise UsageError(
            f"{home}: {len(missing)} recordings with a text missing, the first is {min(missing)}"
        )
    return assemble(home, listed)


def _home(path: Path) -> Path:
    """The folder of the recordings."""
    for place in (path, path.absolute()):
        if place.name in _HOMES:
            return place
    return next((path / name for name in _HOMES if (path / name).is_dir()), path / _TRIMMED)


def _recordings(home: Path, mic: str) -> Iterator[tuple[Path, str, str]]:
    """Each recording of a microphone, with the names of the utterance and the speaker."""
    for recording in find_recordings(home).recordings:
        named = _UTTERANCE.fullmatch(recording.stem)
        if not named or recording.parent != home / named[2]:
            raise UsageError(f"{recording}: does not lie as p225/p225_001_mic1.flac does")
        if named[3] in {None, mic}:
            yield recording, named[1], named[2]


def _words(path: Path) -> str | None:
    return " ".join(line for _, line in lines(path)) or None


def _sexes(table: Path) -> Mapping[str, str | None]:
    sexes: dict[str, str | None] = {}
    if not table.exists():
        return sexes
    for number, line in lines(table):
        speaker, *known = line.split()
        if speaker == "ID":
            continue
        try:
            # Release 0.80 writes 225 for p225.
            sexes[f"p{speaker}" if speaker.isdigit() else speaker] = sex_of(known[1])
        except (IndexError, UsageError) as error:
            raise UsageError(f"{table}, line {number}: has no sex that is F or M") from error
    return sexes
