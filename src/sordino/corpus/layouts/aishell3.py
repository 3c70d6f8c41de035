"""AISHELL-3: `train/wav/SSB0005/SSB00050001.wav` with `train/content.txt` and `spk-info.txt`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from sordino.corpus.corpus import Corpus
from sordino.corpus.discover import find_recordings
from sordino.corpus.layouts.assemble import assemble
from sordino.corpus.layouts.tables import lines, read_optional_table
from sordino.corpus.utterance import Utterance, sex_of
from sordino.errors import UsageError

NAME = "aishell3"
LOOKS_LIKE = "a folder with AISHELL-3's train and test, or one of these (wav/SSB0005, content.txt)"

_SPLITS = ("train", "test")
_SPEAKERS = "spk-info.txt"
_UTTERANCE = re.compile(r"(SSB\d{4})\d{4}")
# A syllable and its tone, as in "zhou1", "nv3" or "dianr3"; the characters stand between them.
_PINYIN = re.compile(r"[a-zü]+\d")


def recognises(path: Path) -> bool:
    """Whether a path is a folder with AISHELL-3's speakers in `wav`, or with such folders."""
    return any(next((part / "wav").glob("SSB[0-9]*"), None) for part in _parts(path))


def read(path: Path) -> Corpus:
    """Read AISHELL-3, or one of its parts.

    The text is the characters of `content.txt` without the pinyin between them. The sex is read
    from a `spk-info.txt` in the folder or the one above it. The split is the part's name; most
    speakers are in both parts, so they are no split by speaker. The language is "zh".

    Args:
        path: the folder of the corpus, or that of a part.

    Raises:
        UsageError: there are no recordings, one does not lie as AISHELL-3's do, or one that has a
            text is missing.
    """
    sexes = _sexes(path)
    listed = []
    for part in _parts(path):
        home, texts = part / "wav", _texts(part / "content.txt")
        for recording in find_recordings(home).recordings:
            named = _UTTERANCE.fullmatch(recording.stem)
            if not named or recording.parent != home / named[1]:
                raise UsageError(f"{recording}: does not lie as wav/SSB0005/SSB00050001.wav does")
            utterance = Utterance(
                recording.stem,
                recording,
                named[1],
                sex=sexes.get(named[1]),
                language="zh",
                text=texts.pop(recording.stem, None),
                corpus=NAME,
                split=part.absolute().name,
            )
            listed.append((utterance, ""))
        if texts:
            raise UsageError(
                f"{part}: {len(texts)} recordings with a text missing, the first is {min(texts)}"
            )
    return assemble(path, listed)


def _parts(path: Path) -> list[Path]:
    """The folders with recordings: the parts in a folder, or the folder itself."""
    return [path / name for name in _SPLITS if (path / name / "wav").is_dir()] or [path]


def _texts(table: Path) -> dict[str, str]:
    texts = {}
    for name, entry in read_optional_table(table).items():
        text = "".join(word for word in entry.value.split() if not _PINYIN.fullmatch(word))
        if not text:
            raise UsageError(f"{table}, line {entry.line}: {name} has no characters")
        texts[name.removesuffix(".wav")] = text
    return texts


def _sexes(path: Path) -> Mapping[str, str | None]:
    home = path.absolute()
    tables = [folder / _SPEAKERS for folder in (home, home.parent)]
    table = next((table for table in tables if table.is_file()), None)
    if table is None:
        return {}
    sexes = {}
    for number, line in lines(table):
        if line.startswith("#"):
            continue
        try:
            speaker, _, label, *_ = line.split()
            sexes[speaker] = sex_of(label)
        except (ValueError, UsageError) as error:
            raise UsageError(f"{table}, line {number}: has no sex that is F or M") from error
    return sexes
