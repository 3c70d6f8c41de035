from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.corpus.corpus import Corpus
from sordino.corpus.trials import Enrolment, Trials, make_trials
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError
from sordino.evaluate.anonymization.subset import spread, usable


def said(counts: dict[str, int]) -> list[Utterance]:
    return [
        Utterance(f"{who}-{take}", Path(f"{who}/{take}.wav"), who)
        for who, count in counts.items()
        for take in range(count)
    ]


@given(
    counts=st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 7), min_size=1),
    count=st.integers(1, 30),
    seed=st.integers(0, 5),
)
def test_spread_gives_speakers_equal_shares(counts: dict[str, int], count: int, seed: int) -> None:
    utterances = said(counts)
    chosen = spread(utterances, count, seed)
    assert len(chosen) == min(count, len(utterances))
    assert set(chosen) <= set(utterances)
    assert chosen == spread(utterances[::-1], count, seed)
    shares = Counter(utterance.speaker for utterance in chosen)
    most = max(shares.values())
    for speaker, there in counts.items():
        # Nobody has two fewer than another unless there are no more.
        assert shares[speaker] >= min(there, most - 1)


def test_another_seed_gives_another_sample() -> None:
    utterances = said({"a": 40})
    assert spread(utterances, 10, 0) != spread(utterances, 10, 1)


CORPUS = Corpus(tuple(said({"a": 5, "b": 5, "c": 5})))
TRIALS = make_trials(CORPUS, enrolments_per_speaker=2)


def rows(trials: Trials) -> set[tuple[str, str, bool]]:
    return {
        (trials.enrolments[model].model, trials.utterances[place], bool(target))
        for model, place, target in zip(
            trials.model, trials.utterance, trials.is_target, strict=True
        )
    }


def test_nothing_unusable_leaves_the_list_as_it_is() -> None:
    assert usable(TRIALS, (), ()) is TRIALS


def test_trials_of_an_unusable_utterance_go_and_no_others() -> None:
    gone = TRIALS.utterances[0]
    left = usable(TRIALS, (), {gone})
    assert rows(left) == {row for row in rows(TRIALS) if row[1] != gone}


def test_an_enrolment_goes_on_without_one_of_its_utterances() -> None:
    first = TRIALS.enrolments[0]
    left = usable(TRIALS, {first.utterances[0]}, ())
    assert rows(left) == rows(TRIALS)
    assert left.enrolments[0].utterances == first.utterances[1:]


def test_an_enrolment_without_any_utterance_goes_with_its_trials() -> None:
    first = TRIALS.enrolments[0]
    left = usable(TRIALS, first.utterances, ())
    assert rows(left) == {row for row in rows(TRIALS) if row[0] != first.model}
    assert first not in left.enrolments


def test_an_utterance_that_fails_in_trials_still_enrols() -> None:
    # The two sides are different recordings once they are anonymized.
    trials = Trials(
        (Enrolment("a", "a", ("a-0",)), Enrolment("b", "b", ("b-0",))),
        ("b-0", "a-1", "a-0"),
        ("b", "a", "a"),
        np.array([0, 0, 1], dtype=np.int32),
        np.array([0, 1, 2], dtype=np.int32),
    )
    left = usable(trials, (), {"a-0"})
    assert left.enrolments[0].utterances == ("a-0",)
    assert rows(left) == {("a", "b-0", False), ("a", "a-1", True)}


def test_nothing_left_is_an_error() -> None:
    targets = {TRIALS.utterances[place] for place in np.unique(TRIALS.utterance[TRIALS.is_target])}
    with pytest.raises(UsageError, match="no trials left"):
        usable(TRIALS, (), targets)
