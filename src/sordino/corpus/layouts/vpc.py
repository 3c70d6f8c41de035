"""Data of the VoicePrivacy Challenges: Kaldi directories, some to enrol with and some to try.

The challenges of 2020 and 2022 publish `libri_test` and `vctk_test` with the lists of all trials,
and their recipes make a directory for each list; those of 2024 and 2026 have `libri_test_enrolls`,
`libri_test_trials_f`, `libri_test_trials_m` and `libri_test_trials_mixed`. Both ways are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from sordino.corpus.corpus import Corpus
from sordino.corpus.layouts import kaldi
from sordino.corpus.layouts.assemble import assemble
from sordino.corpus.trials import Trials
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError

NAME = "vpc"
LOOKS_LIKE = "a folder with a VoicePrivacy Challenge's libri_test_enrolls, libri_test_trials_f, ..."

# In "vctk_test_trials_f_common_anon", the group is "vctk_test" and the suffix "_anon".
_ROLE = re.compile(
    r"(?:(?P<group>.+?)_)?(?:enrolls|(?P<trials>trials(?:_(?:f|m|mixed|all|common)(?=_|$))*))"
    r"(?P<suffix>(?:_[\w.-]+)?)"
)
_SPLIT = re.compile(r"(.+)_(train|dev|test)")
_ENGLISH = frozenset({"libri", "vctk"})


class VpcSet(NamedTuple):
    """A list of trials and what it is about.

    Attributes:
        name: that of the directory of the trials, such as "libri_test_trials_f".
        corpus: all utterances to enrol and to try.
        trials: the comparisons.
    """

    name: str
    corpus: Corpus
    trials: Trials


@dataclass(frozen=True)
class _Role:
    """What the name of a directory or a list says."""

    path: Path
    group: str
    is_trials: bool
    suffix: str


@dataclass(frozen=True)
class _Pair:
    """Two lists, and the directories that their utterances are in; these may be the same."""

    name: str
    group: str
    enrolled: Path
    enrolls: Path
    tried: Path
    trials: Path


def recognises(path: Path) -> bool:
    """Whether a path is a folder with Kaldi directories that have lists of trials."""
    return any(map(_has_trials, _folders(path)))


def has_trials(path: Path) -> bool:
    """Whether `read_vpc` is the way to read a path: it, or a folder in it, has a list of trials.

    Args:
        path: a file or a folder.
    """
    return _has_trials(path) or recognises(path)


def read_vpc(folder: Path, suffix: str = "") -> tuple[VpcSet, ...]:
    """Read every list of trials of a VoicePrivacy Challenge, with its utterances.

    A directory `X_trials_f` goes with `X_enrolls`, and with a suffix, `X_trials_f_anon` with
    `X_enrolls_anon`; the lists are in them as `trials` and `enrolls`. A Kaldi directory that has
    both lists in it, such as `X` with `enrolls`, `trials_f` and `trials_m`, is read too, except
    where there are directories of `X`. Lists for one microphone (`trials_f_mic2`) go with the
    enrolments of the same. As the recipes make them, `trials_all` holds the trials of the others
    once more. Commands in `wav.scp` are never run.

    Args:
        folder: the folder with these directories (`data`), or one directory with both lists.
        suffix: what the names of the directories end with, such as "_mcadams"; none for the
            original speech. Others are left alone.

    Returns:
        The lists, sorted by name. Of each utterance, `corpus` is the collection ("libri") and
        `split` the part ("test") that its directory is named after.

    Raises:
        UsageError: there are no lists with this suffix, one of two directories or lists is not
            there, they disagree, or something in them is not right; the message names it.

    Example:
        >>> for name, corpus, trials in read_vpc(Path("data")):  # doctest: +SKIP
        ...     print(name, len(corpus), len(trials.enrolments))
        libri_test_trials_f 1172 29
        libri_test_trials_m 1200 29
    """
    read_once = cache(_read_data)
    sets = []
    for pair in sorted(_pairs(folder, suffix), key=attrgetter("name")):
        places = (pair.enrolled, pair.tried)
        corpus = _joined(pair.tried, (read_once(place, pair.group) for place in places))
        sets.append(VpcSet(pair.name, corpus, Trials.read(pair.trials, pair.enrolls, corpus)))
    return tuple(sets)


def read(path: Path) -> Corpus:
    """Read the original utterances of all lists; see `read_vpc`.

    Args:
        path: the folder with the directories.

    Raises:
        UsageError: as `read_vpc`, or an utterance is in two directories with two recordings.
    """
    places = {
        place: pair.group for pair in _pairs(path, "") for place in (pair.enrolled, pair.tried)
    }
    return _joined(path, (_read_data(place, name) for place, name in places.items()))


def _pairs(folder: Path, suffix: str) -> list[_Pair]:
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder")
    pairs = _inside(folder) if (folder / "wav.scp").is_file() else _below(folder, suffix)
    if not pairs:
        raise UsageError(
            f"{folder}: has no lists of trials; expected directories such as libri_test_enrolls"
            " and libri_test_trials_f in it, or wav.scp, enrolls and trials"
        )
    return pairs


def _below(folder: Path, suffix: str) -> list[_Pair]:
    """The pairs of directories in a folder, and those in one directory that was not parted."""
    folders = _folders(folder)
    roles = list(_roles(folders))
    pairs = [_between(*both) for both in _matched(roles) if both[0].suffix == suffix]
    if not suffix:
        parts = {role.path for role in roles}
        parted = {role.group for role in roles}
        for place in folders:
            if place not in parts and place.name not in parted and _has_trials(place):
                pairs += _inside(place)
    others = sorted({role.suffix for role in roles} - {suffix})
    if not pairs and others:
        raise UsageError(
            f"{folder}: has no directories for trials with the suffix {suffix!r}, but with"
            f" {', '.join(map(repr, others))}"
        )
    return pairs


def _between(enrolled: _Role, tried: _Role) -> _Pair:
    return _Pair(
        tried.path.name,
        tried.group,
        enrolled.path,
        enrolled.path / "enrolls",
        tried.path,
        tried.path / "trials",
    )


def _inside(folder: Path) -> list[_Pair]:
    """The pairs of lists in a directory that has the utterances of both."""
    name = folder.absolute().name
    return [
        _Pair(f"{name}_{tried.path.name}", name, folder, enrolled.path, folder, tried.path)
        for enrolled, tried in _matched(list(_lists(folder)))
    ]


def _matched(roles: list[_Role]) -> Iterator[tuple[_Role, _Role]]:
    """Every one with trials and the one with its enrolments; none may be left over."""
    enrolments = {(role.group, role.suffix): role for role in roles if not role.is_trials}
    left = dict(enrolments)
    for role in roles:
        if not role.is_trials:
            continue
        key = (role.group, role.suffix)
        if key not in enrolments:
            name = f"{role.group}_enrolls" if role.group else "enrolls"
            raise UsageError(f"{role.path}: there is no {name}{role.suffix} beside it")
        left.pop(key, None)
        yield enrolments[key], role
    for role in left.values():
        raise UsageError(f"{role.path}: there are no trials beside it")


def _roles(paths: Iterable[Path]) -> Iterator[_Role]:
    for path in paths:
        if named := _ROLE.fullmatch(path.name):
            is_trials = named["trials"] is not None
            yield _Role(path, named["group"] or "", is_trials, named["suffix"])


def _lists(folder: Path) -> Iterator[_Role]:
    files = [entry for entry in _entries(folder) if entry.is_file()]
    return (role for role in _roles(files) if not role.group and not role.path.suffix)


def _has_trials(folder: Path) -> bool:
    return (folder / "wav.scp").is_file() and any(role.is_trials for role in _lists(folder))


def _folders(path: Path) -> list[Path]:
    return [entry for entry in _entries(path) if entry.is_dir()] if path.is_dir() else []


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise UsageError(f"folder {folder} cannot be listed: {error.strerror}") from error


def _read_data(folder: Path, name: str) -> tuple[Utterance, ...]:
    named = _SPLIT.fullmatch(name)
    collection, split = (named[1], named[2]) if named else (name or None, None)
    language = "en" if collection in _ENGLISH else None
    return tuple(
        replace(
            utterance,
            corpus=collection,
            split=split,
            language=utterance.language or language,
        )
        for utterance in kaldi.read(folder)
    )


def _joined(source: Path, parts: Iterable[tuple[Utterance, ...]]) -> Corpus:
    known: dict[str, Utterance] = {}
    for utterances in parts:
        for utterance in utterances:
            first = known.setdefault(utterance.id, utterance)
            if (first.path, first.speaker) != (utterance.path, utterance.speaker):
                raise UsageError(
                    f"{source}: the utterance {utterance.id} is {first.path} by {first.speaker} in"
                    f" one directory and {utterance.path} by {utterance.speaker} in another"
                )
    return assemble(source, [(utterance, "") for utterance in known.values()])
