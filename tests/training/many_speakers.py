"""Utterances of many speakers that are nowhere but on paper."""

from __future__ import annotations

from pathlib import Path

from sordino.corpus.utterance import Utterance


def named(speaker: str, sex: str, corpus: str) -> list[Utterance]:
    """Three of a speaker."""
    return [
        Utterance(f"{speaker}-{n}", Path(f"{speaker}-{n}.wav"), speaker, sex=sex, corpus=corpus)
        for n in range(3)
    ]


def many(count: int = 20, corpora: str = "AB") -> list[Utterance]:
    """Of so many speakers of each sex in each collection, three each."""
    return [
        utterance
        for corpus in corpora
        for sex in "FM"
        for number in range(count)
        for utterance in named(f"{corpus}{sex}{number}", sex, corpus)
    ]
