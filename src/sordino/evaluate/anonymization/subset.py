"""Choosing: a sample that is spread over the speakers, and trials without what cannot be used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import chain, zip_longest

import numpy as np

from sordino.corpus.draws import digest
from sordino.corpus.trials import Trials
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError


def spread(utterances: Iterable[Utterance], count: int, seed: int) -> tuple[Utterance, ...]:
    """A sample in which speakers have as equal shares as they can, in the order of the ids.

    What is chosen depends on the ids and the seed alone, not on the order.

    Args:
        utterances: to choose from.
        count: at most how many.
        seed: another one gives another sample.

    Example:
        >>> from pathlib import Path
        >>> said = [Utterance(f"{who}{n}", Path("x"), who) for who in "ab" for n in range(9)]
        >>> [u.speaker for u in spread(said, 4, seed=0)]
        ['a', 'a', 'b', 'b']
    """
    by_speaker: dict[str, list[Utterance]] = defaultdict(list)
    for utterance in sorted(utterances, key=lambda utterance: digest(seed, utterance.id)):
        by_speaker[utterance.speaker].append(utterance)
    order = sorted(by_speaker, key=lambda speaker: digest(seed, speaker))
    rounds = zip_longest(*(by_speaker[speaker] for speaker in order))
    taken = [utterance for utterance in chain.from_iterable(rounds) if utterance is not None]
    return tuple(sorted(taken[:count], key=lambda utterance: utterance.id))


def usable(trials: Trials, enrolled: Collection[str], tried: Collection[str]) -> Trials:
    """Trials without the utterances that cannot be used.

    An enrolment loses what cannot be used of it; its trials go only where nothing is left.

    Args:
        trials: the whole list.
        enrolled: ids of the utterances that cannot be used in enrolments.
        tried: ids of those that cannot be used in trials.

    Raises:
        UsageError: no targets or no non-targets are left.
    """
    if not enrolled and not tried:
        return trials
    gone = set(enrolled)
    left = [
        tuple(name for name in enrolment.utterances if name not in gone)
        for enrolment in trials.enrolments
    ]
    kept = np.array([bool(names) for names in left])
    heard = np.array([name not in set(tried) for name in trials.utterances])
    chosen = kept[trials.model] & heard[trials.utterance]
    is_target = trials.is_target
    if not (chosen & is_target).any() or not (chosen & ~is_target).any():
        raise UsageError("without the utterances that cannot be used there are no trials left")
    models, utterances = np.flatnonzero(kept), np.flatnonzero(heard)
    return Trials(
        tuple(replace(trials.enrolments[model], utterances=left[model]) for model in models),
        tuple(trials.utterances[number] for number in utterances),
        tuple(trials.speakers[number] for number in utterances),
        (np.cumsum(kept, dtype=np.int32) - 1).astype(np.int32)[trials.model[chosen]],
        (np.cumsum(heard, dtype=np.int32) - 1).astype(np.int32)[trials.utterance[chosen]],
    )
