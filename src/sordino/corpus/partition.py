"""Part a corpus by speaker, so that an attacker is trained on people that nobody is tried with."""

from __future__ import annotations

import math
from collections.abc import Mapping

from sordino.corpus.corpus import Corpus
from sordino.corpus.draws import digest
from sordino.errors import UsageError

_PURPOSE = "partition"
_Stratum = tuple[tuple[str, ...], str]


def split_speakers(corpus: Corpus, share: float = 0.5, seed: int = 0) -> tuple[Corpus, Corpus]:
    """Part a corpus into two with different speakers.

    Speakers of the same sex and the same collections (`Utterance.corpus`) are parted among
    themselves, each kind as near to the share as whole speakers allow, and with at least one
    speaker on either side where there are two. Who goes where depends on the ids and the seed, not
    on the order of the utterances or the libraries' versions.

    Args:
        corpus: the utterances; each part has its own in the same order.
        share: how many of the speakers the first part gets, above 0 and below 1.
        seed: another one gives other parts.

    Returns:
        The part with the share, and the part with all other speakers.

    Raises:
        UsageError: the share is not between 0 and 1, or there are too few speakers for two parts.

    Example:
        >>> from sordino.corpus.utterance import Utterance
        >>> corpus = Corpus(tuple(
        ...     Utterance(f"{who}{take}", Path(f"{who}{take}.wav"), who)
        ...     for who in ("ann", "bob", "cem", "eve") for take in range(2)
        ... ))
        >>> attacker, tried = split_speakers(corpus, seed=1)
        >>> len(attacker.speakers), len(tried.speakers)
        (2, 2)
        >>> set(attacker.speakers) & set(tried.speakers)
        set()
    """
    if not 0 < share < 1:
        raise UsageError(f"the share of speakers is {share}; expected more than 0 and less than 1")
    chosen: set[str] = set()
    owed = 0.0
    strata = _strata(corpus)
    for stratum in sorted(strata, key=lambda names: digest(seed, _PURPOSE, *names[0], names[1])):
        speakers = sorted(strata[stratum], key=lambda speaker: digest(seed, _PURPOSE, speaker))
        wanted = len(speakers) * share + owed
        count = math.floor(wanted + 0.5)
        # What rounding gives or takes here is made good by the next, so that many kinds with one
        # speaker each do not all go the same way.
        owed = wanted - count
        if len(speakers) > 1:
            count = min(max(count, 1), len(speakers) - 1)
        chosen.update(speakers[:count])
    parts = [
        tuple(utterance for utterance in corpus if (utterance.speaker in chosen) == first)
        for first in (True, False)
    ]
    if not all(parts):
        raise UsageError(
            f"{len(corpus.speakers)} speakers are too few to part them with a share of {share:g};"
            " each part needs at least one"
        )
    return Corpus(parts[0]), Corpus(parts[1])


def _strata(corpus: Corpus) -> Mapping[_Stratum, list[str]]:
    """The speakers of each kind: those of the same collections and sex."""
    strata: dict[_Stratum, list[str]] = {}
    for speaker, utterances in corpus.by_speaker().items():
        collections = tuple(sorted({utterance.corpus or "" for utterance in utterances}))
        sex = next((utterance.sex for utterance in utterances if utterance.sex), "")
        strata.setdefault((collections, sex), []).append(speaker)
    return strata
