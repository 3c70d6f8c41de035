"""Which speakers training does not hear: the same for every kind of training run."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Sequence

from sordino.corpus.corpus import Corpus
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError


def hold_out(corpus: Corpus, share: float, seed: int) -> tuple[Corpus, Corpus]:
    """Part a corpus by speakers into training and validation.

    The share is taken from each collection and sex, by a hash of the speaker's id: another order of
    the utterances changes nothing, and each speaker that is added moves at most one other.

    Args:
        corpus: at least two speakers.
        share: of the speakers, for validation.
        seed: other seeds choose others.

    Raises:
        UsageError: no speaker would be left on one of the sides.
    """
    strata: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, utterances in corpus.by_speaker().items():
        strata[utterances[0].corpus or "", utterances[0].sex or ""].append(name)
    chosen: set[str] = set()
    for names in strata.values():
        ranked = sorted(names, key=lambda name: zlib.crc32(f"{seed}/{name}".encode()))
        chosen.update(ranked[: round(share * len(ranked))])
    sides = [
        tuple(utterance for utterance in corpus if (utterance.speaker in chosen) is held)
        for held in (False, True)
    ]
    if not all(sides):
        raise UsageError(
            f"{len(corpus.speakers)} speakers cannot be parted into training and a share of"
            f" {share:g} for validation"
        )
    return Corpus(sides[0]), Corpus(sides[1])


def thinned(utterances: Sequence[Utterance], most: int, seed: int) -> list[Utterance]:
    """At most so many utterances, drawn by a hash of their ids, in their order.

    Example:
        >>> thinned([Utterance("a", Path("a.wav"), "anna")], 10, 0)[0].id
        'a'
    """
    ranked = sorted(utterances, key=lambda u: zlib.crc32(f"{seed}/{u.id}".encode()))
    chosen = {utterance.id for utterance in ranked[:most]}
    return [utterance for utterance in utterances if utterance.id in chosen]
