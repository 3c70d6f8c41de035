from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.corpus.corpus import Corpus
from sordino.corpus.layouts.detect import read_corpus
from sordino.corpus.partition import split_speakers
from sordino.corpus.trials import make_trials
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError


def people(prefix: str, count: int, takes: int = 2, **known: str) -> list[Utterance]:
    return [
        Utterance(
            f"{prefix}{who}-{take}", Path(f"{prefix}{who}-{take}.wav"), f"{prefix}{who}", **known
        )
        for who in range(count)
        for take in range(takes)
    ]


SPEECH = [
    *people("a", 6, sex="F", corpus="x"),
    *people("b", 5, sex="M", corpus="x"),
    *people("c", 2, sex="F", corpus="y"),
    *people("d", 1, sex="M", corpus="y"),
    *people("e", 3),
]
CORPUS = Corpus(tuple(SPEECH))

# Written down once: what is published with a part must stay true of it.
FIXED = ("a1", "a4", "a5", "b0", "b3", "c0", "d0", "e1", "e2")

kinds = st.tuples(st.sampled_from(["x", "y", None]), st.sampled_from(["F", "M", None]))
corpora = st.lists(kinds, min_size=2, max_size=30).map(
    lambda drawn: Corpus(
        tuple(
            Utterance(f"{who}-{take}", Path(f"{who}.wav"), f"s{who}", corpus=corpus, sex=sex)
            for take in range(2)
            for who, (corpus, sex) in enumerate(drawn)
        )
    )
)


def speakers_by_kind(corpus: Corpus) -> Counter[tuple[str | None, str | None]]:
    return Counter((group[0].corpus, group[0].sex) for group in corpus.by_speaker().values())


@given(corpora, st.floats(0.01, 0.99), st.integers(0, 50))
def test_parts_are_disjoint_complete_and_near_the_share(
    corpus: Corpus, share: float, seed: int
) -> None:
    try:
        first, second = split_speakers(corpus, share, seed)
    except UsageError:
        # No speaker is left for one part; then no kind has two.
        assert max(speakers_by_kind(corpus).values()) == 1
        return
    assert not set(first.speakers) & set(second.speakers)
    assert set(first.speakers) | set(second.speakers) == set(corpus.speakers)
    chosen = set(first.speakers)
    assert first.utterances == tuple(one for one in corpus if one.speaker in chosen)
    assert second.utterances == tuple(one for one in corpus if one.speaker not in chosen)
    before, after = speakers_by_kind(corpus), speakers_by_kind(first)
    for kind, count in before.items():
        assert abs(after[kind] - count * share) <= 1
        if count > 1:
            assert 0 < after[kind] < count


@given(st.lists(st.sampled_from("uvwxyz"), min_size=2, max_size=6, unique=True), st.integers(0, 9))
def test_kinds_with_one_speaker_do_not_all_go_the_same_way(names: list[str], seed: int) -> None:
    corpus = Corpus(tuple(one for name in names for one in people(name, 1, corpus=name)))
    first, second = split_speakers(corpus, 0.5, seed)
    assert abs(len(first.speakers) - len(second.speakers)) <= 1


@given(st.randoms(use_true_random=False), st.sampled_from([0.2, 0.5, 0.7]))
def test_the_order_of_the_utterances_does_not_matter(shuffle: random.Random, share: float) -> None:
    shuffled = SPEECH.copy()
    shuffle.shuffle(shuffled)
    first, second = (split_speakers(Corpus(tuple(o)), share, 3) for o in (SPEECH, shuffled))
    assert [part.speakers for part in first] == [part.speakers for part in second]


def test_the_parts_are_the_same_in_all_versions() -> None:
    first, _ = split_speakers(CORPUS, 0.5, seed=7)
    assert first.speakers == FIXED


def test_another_seed_gives_other_parts() -> None:
    drawn = Counter(
        who for seed in range(200) for who in split_speakers(CORPUS, 0.5, seed)[0].speakers
    )
    # Each is in the first part in half of the draws, give or take 7 at one deviation.
    assert set(drawn) == set(CORPUS.speakers)
    assert all(70 <= count <= 130 for count in drawn.values())


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_large_kinds_have_the_share(share: float) -> None:
    corpus = Corpus((*people("a", 40, sex="F"), *people("b", 60, sex="M")))
    first, _ = split_speakers(corpus, share)
    assert speakers_by_kind(first) == {(None, "F"): 40 * share, (None, "M"): 60 * share}


def test_a_speaker_of_two_collections_stays_whole() -> None:
    both = [
        Utterance(f"{corpus}{who}", Path("1.wav"), f"s{who}", corpus=corpus)
        for who in range(4)
        for corpus in "xy"
    ]
    first, second = split_speakers(Corpus((*both, *people("z", 4, corpus="x"))))
    for part in (first, second):
        assert len(part.speakers) == 4
        homes = [Counter(one.corpus for one in group) for group in part.by_speaker().values()]
        assert homes.count(Counter({"x": 1, "y": 1})) == 2


@pytest.mark.parametrize("share", [0, 1, -0.5, 1.5, float("nan")])
def test_shares_that_are_none_are_refused(share: float) -> None:
    with pytest.raises(
        UsageError, match=f"^the share of speakers is {share}; expected more than 0"
    ):
        split_speakers(CORPUS, share)


@pytest.mark.parametrize(
    ("corpus", "share"),
    [
        (Corpus(tuple(people("a", 1))), 0.5),
        (Corpus((*people("a", 1, corpus="x"), *people("b", 1, corpus="y"))), 0.1),
        (Corpus((*people("a", 1, corpus="x"), *people("b", 1, corpus="y"))), 0.9),
    ],
)
def test_too_few_speakers_are_refused(corpus: Corpus, share: float) -> None:
    count = len(corpus.speakers)
    message = f"^{count} speakers are too few to part them with a share of {share}; each part needs"
    with pytest.raises(UsageError, match=message):
        split_speakers(corpus, share)


def test_both_parts_of_real_speech_make_trials(speech_root: Path) -> None:
    corpus = read_corpus(speech_root / "manifest.csv").select(corpus=["emodb", "speechocean762"])
    attacker, tried = split_speakers(corpus)
    for part in (attacker, tried):
        trials = make_trials(part, enrolments_per_speaker=2, pairs="same-sex")
        assert trials.is_target.any()
        assert not trials.is_target.all()
    before, after = speakers_by_kind(corpus), speakers_by_kind(attacker)
    assert all(abs(2 * after[kind] - count) <= 1 for kind, count in before.items())
