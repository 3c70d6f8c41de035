from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.corpus.corpus import Corpus
from sordino.corpus.layouts.detect import read_corpus
from sordino.corpus.trials import PAIRS, Enrolment, Trials, make_trials
from sordino.corpus.utterance import Utterance
from sordino.errors import OutputError, UsageError


def utterances(speaker: str, count: int, **known: str) -> list[Utterance]:
    names = [f"{known.get('corpus', '')}{speaker}-{take}" for take in range(count)]
    return [Utterance(name, Path(f"{name}.wav"), speaker, **known) for name in names]


SPEECH = [
    *utterances("ann", 5, sex="F", corpus="x"),
    *utterances("eve", 4, sex="F", corpus="x"),
    *utterances("bob", 6, sex="M", corpus="x"),
    *utterances("dan", 1, sex="M", corpus="x"),
    *utterances("kim", 5, corpus="x"),
    *utterances("mia", 4, sex="F", corpus="y"),
    *utterances("ned", 2, sex="M", corpus="y"),
    *utterances("zoe", 9, sex="F", corpus="alone"),
]
CORPUS = Corpus(tuple(SPEECH))
KNOWN = CORPUS.by_id()

# Written down once: what is published with a list must stay true of it.
FIXED_ENROLMENTS = {"ann": ("xann-0", "xann-2", "xann-4"), "eve": ("xeve-0", "xeve-2", "xeve-3")}
FIXED_ROWS = [
    ("ann", "xann-3", True),
    ("ann", "xeve-1", False),
    ("eve", "xann-1", False),
    ("eve", "xann-3", False),
    ("eve", "xeve-1", True),
]


def rows(trials: Trials) -> list[tuple[str, str, bool]]:
    return [
        (trials.enrolments[model].model, trials.utterances[utterance], bool(target))
        for model, utterance, target in zip(
            trials.model, trials.utterance, trials.is_target, strict=True
        )
    ]


def test_all_trials_by_hand() -> None:
    corpus = Corpus((*utterances("ann", 2), *utterances("bob", 3), *utterances("cem", 1)))
    trials = make_trials(corpus, enrolments_per_speaker=2)
    assert [enrolment.model for enrolment in trials.enrolments] == ["bob"]
    enrolled = trials.enrolments[0].utterances
    left = [name for name in ("bob-0", "bob-1", "bob-2") if name not in enrolled]
    expected = {("bob", name, name in left) for name in ["ann-0", "ann-1", "cem-0", *left]}
    assert set(rows(trials)) == expected
    assert len(trials) == len(expected)


@pytest.mark.parametrize("pairs", PAIRS)
@pytest.mark.parametrize("count", [1, 3])
def test_every_trial_that_may_be_made_is_made(pairs: str, count: int) -> None:
    trials = make_trials(CORPUS, enrolments_per_speaker=count, pairs=pairs)
    # Who has more utterances than that, and an impostor of the right sex in the same collection.
    sexes = {"mixed": {"F", "M", None}, "same-sex": {"F", "M"}, "F-F": {"F"}, "M-M": {"M"}}[pairs]
    able = [who for who, group in CORPUS.by_speaker().items() if len(group) > count]
    everyone = make_trials(CORPUS, enrolments_per_speaker=count)
    enrolled = {enrolment.model: set(enrolment.utterances) for enrolment in everyone.enrolments}
    used = set().union(*enrolled.values())
    expected = set()
    for who in able:
        model = CORPUS.by_speaker()[who][0]
        may = {
            (who, one.id, one.speaker == who)
            for one in SPEECH
            if one.corpus == model.corpus
            and one.id not in used
            and (pairs == "mixed" or one.sex == model.sex)
            and model.sex in sexes
        }
        if len({target for _, _, target in may}) == 2:
            expected |= may
    found = rows(trials)
    assert set(found) == expected
    assert len(found) == len(set(found))
    assert {enrolment.model for enrolment in trials.enrolments} == {who for who, _, _ in expected}
    for enrolment in trials.enrolments:
        assert set(enrolment.utterances) == enrolled[enrolment.model]
        assert len(enrolment.utterances) == count
        assert {KNOWN[name].speaker for name in enrolment.utterances} == {enrolment.speaker}


def test_no_trial_between_collections_and_none_for_who_is_alone() -> None:
    for name, utterance, _ in rows(make_trials(CORPUS)):
        assert KNOWN[utterance].corpus == CORPUS.by_speaker()[name][0].corpus
        assert name != "zoe"


def test_a_speaker_of_two_collections_is_two_models() -> None:
    speech = [
        *utterances("ann", 4, corpus="x"),
        *utterances("ann", 4, corpus="y"),
        *utterances("bob", 1, corpus="x"),
        *utterances("eve", 1, corpus="y"),
    ]
    trials = make_trials(Corpus(tuple(speech)), enrolments_per_speaker=2)
    assert [one.model for one in trials.enrolments] == ["ann@x", "ann@y"]
    assert [one.speaker for one in trials.enrolments] == ["ann", "ann"]
    for model, utterance, target in rows(trials):
        assert utterance.startswith(model[-1])
        assert target == ("ann" in utterance)


@given(st.randoms(use_true_random=False))
def test_the_order_of_the_utterances_does_not_matter(shuffle: random.Random) -> None:
    shuffled = SPEECH.copy()
    shuffle.shuffle(shuffled)
    settings = {"enrolments_per_speaker": 2, "nontargets_per_model": 5, "targets_per_model": 2}
    first, second = (make_trials(Corpus(tuple(o)), **settings) for o in (SPEECH, shuffled))
    assert first.enrolments == second.enrolments
    assert rows(first) == rows(second)


def test_the_list_is_the_same_in_all_versions() -> None:
    trials = make_trials(CORPUS, nontargets_per_model=2, targets_per_model=1, pairs="F-F", seed=7)
    assert {one.model: one.utterances for one in trials.enrolments} == FIXED_ENROLMENTS
    assert rows(trials) == FIXED_ROWS


def test_another_seed_gives_another_list() -> None:
    one, other = (make_trials(CORPUS, seed=seed, nontargets_per_model=3) for seed in (0, 1))
    assert one.enrolments != other.enrolments
    assert rows(one) != rows(other)


def test_an_enrolment_does_not_depend_on_the_others() -> None:
    everyone = {e.model: e.utterances for e in make_trials(CORPUS).enrolments}
    for enrolment in make_trials(CORPUS.select(speaker=["ann", "bob"])).enrolments:
        assert enrolment.utterances == everyone[enrolment.model]


@pytest.mark.parametrize("cap", [1, 3, 100])
def test_caps_take_some_of_all_trials(cap: int) -> None:
    whole = rows(make_trials(CORPUS, enrolments_per_speaker=1))
    capped = make_trials(
        CORPUS, enrolments_per_speaker=1, targets_per_model=cap, nontargets_per_model=2 * cap
    )
    assert set(rows(capped)) <= set(whole)
    before = Counter((model, target) for model, _, target in whole)
    after = Counter((model, target) for model, _, target in rows(capped))
    assert after == {
        (model, target): min(count, cap if target else 2 * cap)
        for (model, target), count in before.items()
    }
    assert set(capped.utterances) == {utterance for _, utterance, _ in rows(capped)}


def test_samples_are_fair() -> None:
    corpus = Corpus((*utterances("ann", 2), *utterances("bob", 10)))
    drawn = Counter(
        utterance
        for seed in range(400)
        for _, utterance, target in rows(
            make_trials(corpus, enrolments_per_speaker=1, nontargets_per_model=2, seed=seed)
        )
        if not target and utterance.startswith("bob")
    )
    # One of ten is enrolled and two of the other nine are tried: 80 times each, give or take 8.
    assert len(drawn) == 10
    assert all(50 <= count <= 110 for count in drawn.values())


def test_speakers_are_numbered_alike_on_both_sides() -> None:
    trials = make_trials(CORPUS)
    speakers = sorted({KNOWN[one].speaker for one in trials.utterances})
    for row, (model, utterance, target) in enumerate(rows(trials)):
        assert speakers[trials.enrolled[row]] == model
        assert speakers[trials.tried[row]] == KNOWN[utterance].speaker
        assert target == (trials.enrolled[row] == trials.tried[row])


def test_select_keeps_the_chosen_trials() -> None:
    trials = make_trials(CORPUS)
    chosen = trials.is_target | (np.arange(len(trials)) % 3 == 0)
    kept = [row for row, keep in zip(rows(trials), chosen, strict=True) if keep]
    assert rows(trials.select(chosen)) == kept


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pairs": "M-F"}, "the pairs 'M-F' are not one of mixed, same-sex, F-F, M-M"),
        ({"enrolments_per_speaker": 0}, "an enrolment needs at least 1 utterance"),
        ({"targets_per_model": 0}, "the most trials of a model must be at least 1"),
        ({"nontargets_per_model": -1}, "the most trials of a model must be at least 1"),
        ({"enrolments_per_speaker": 9}, "no trials can be made of mixed pairs"),
    ],
)
def test_what_cannot_be_made_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_trials(CORPUS, **settings)


@pytest.mark.parametrize("who", [["zoe"], ["dan", "ned"], ["ann"]])
def test_too_few_speakers_are_refused(who: list[str]) -> None:
    with pytest.raises(UsageError, match="too few speakers or utterances"):
        make_trials(CORPUS.select(speaker=who))


@pytest.mark.parametrize("pairs", PAIRS)
def test_lists_come_back_as_they_were_written(tmp_path: Path, pairs: str) -> None:
    trials = make_trials(CORPUS, pairs=pairs)
    trials.write(tmp_path / "trials", tmp_path / "enrolls")
    again = Trials.read(tmp_path / "trials", tmp_path / "enrolls", CORPUS)
    assert again.enrolments == trials.enrolments
    assert rows(again) == rows(trials)


def test_lists_of_models_come_back(tmp_path: Path) -> None:
    trials = Trials(
        (Enrolment("m1", "ann", ("xann-0", "xann-1")), Enrolment("m2", "ann", ("xann-2",))),
        ("xann-3", "xbob-0"),
        ("ann", "bob"),
        np.array([0, 1, 1], dtype=np.int32),
        np.array([0, 0, 1], dtype=np.int32),
    )
    trials.write(tmp_path / "trials", tmp_path / "enrolls")
    assert (tmp_path / "enrolls").read_text() == "m1 xann-0 xann-1\nm2 xann-2\n"
    again = Trials.read(tmp_path / "trials", tmp_path / "enrolls", CORPUS)
    assert again.enrolments == trials.enrolments
    assert rows(again) == rows(trials)


def write_lists(folder: Path, trials: str, enrolls: str) -> tuple[Path, Path]:
    (folder / "trials").write_text(trials)
    (folder / "enrolls").write_text(enrolls)
    return folder / "trials", folder / "enrolls"


def test_lists_of_the_voiceprivacy_challenge_are_read(tmp_path: Path) -> None:
    lists = write_lists(
        tmp_path,
        "ann xann-3 target\nann xbob-1 nontarget\n\nbob xbob-1 target\n",
        "xann-0\nxann-1\nxbob-0\n",
    )
    trials = Trials.read(*lists, CORPUS)
    assert trials.enrolments == (
        Enrolment("ann", "ann", ("xann-0", "xann-1")),
        Enrolment("bob", "bob", ("xbob-0",)),
    )
    assert rows(trials) == [
        ("ann", "xann-3", True),
        ("ann", "xbob-1", False),
        ("bob", "xbob-1", True),
    ]


@pytest.mark.parametrize(
    ("trials", "enrolls", "message"),
    [
        (
            "ann xann-3\n",
            "xann-0\n",
            "trials, line 1: expected: speaker utterance target|nontarget",
        ),
        ("ann xann-3 yes\n", "xann-0\n", "trials, line 1: expected: speaker utterance"),
        ("\nbob xann-3 target\n", "xann-0\n", "trials, line 2: bob is not enrolled in"),
        ("ann ann-9 target\n", "xann-0\n", "trials, line 1: the utterance ann-9 is not in the"),
        (
            "ann xann-3 target\nann xann-4 nontarget\n",
            "xann-0\n",
            "trials, line 2: is called nontarget, but xann-4 is by ann",
        ),
        ("ann xbob-0 target\n", "xann-0\n", "line 1: is called target, but xbob-0 is by bob"),
        ("ann xann-3 target\n", "xann-0\nann-9\n", "enrolls, line 2: ann-9 is not in the corpus"),
        ("m xann-3 target\n", "m xann-0 xbob-0\n", "the model m has utterances of ann and bob"),
        ("ann xann-3 target\n", "xann-0\nxann-0\n", "utterance of ann xann-0 comes twice"),
        (
            "ann xann-3 target\nann xann-3 target\n",
            "xann-0\n",
            "trials: utterance xann-3 (model ann) is tried twice",
        ),
        (
            "ann xann-3 target\nann xann-0 target\n",
            "xann-0\n",
            "utterance xann-0 (model ann) is part of the enrolment it is tried against",
        ),
    ],
)
def test_wrong_lists_are_told_by_line(
    tmp_path: Path, trials: str, enrolls: str, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        Trials.read(*write_lists(tmp_path, trials, enrolls), CORPUS)
    assert message in str(caught.value)


def test_a_missing_list_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="enrolls: No such file"):
        Trials.read(tmp_path / "trials", tmp_path / "enrolls", CORPUS)


def test_ids_that_a_list_cannot_hold_are_refused(tmp_path: Path) -> None:
    corpus = Corpus((*utterances("two words", 2), *utterances("bob", 2)))
    trials = make_trials(corpus, enrolments_per_speaker=1)
    with pytest.raises(UsageError, match="has white space; a list of trials cannot hold it"):
        trials.write(tmp_path / "trials", tmp_path / "enrolls")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"nowhere.*cannot be written"):
        make_trials(CORPUS).write(tmp_path / "trials", tmp_path / "nowhere" / "enrolls")


def trial(**changed: object) -> Trials:
    right = {
        "enrolments": (Enrolment("ann", "ann", ("a1",)),),
        "utterances": ("a2", "b1"),
        "speakers": ("ann", "bob"),
        "model": np.array([0, 0], dtype=np.int32),
        "utterance": np.array([0, 1], dtype=np.int32),
    }
    return Trials(**{**right, **changed})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"speakers": ("ann",)}, "there are 2 utterances to try and 1 speakers of them"),
        ({"utterances": ("a2", "a2")}, "the utterance to try a2 comes twice"),
        ({"enrolments": (Enrolment("ann", "ann", ()),)}, "the model ann has no enrolment"),
        ({"enrolments": (Enrolment("a", "a", ("x",)),) * 2}, "the model a comes twice"),
        ({"model": np.array([0, 1], dtype=np.int32)}, "a model index is outside 0 to 0"),
        ({"utterance": np.array([0, -1], dtype=np.int32)}, "a utterance index is outside 0 to 1"),
        ({"model": np.array([0, 0])}, "the model indices should be int32"),
        ({"model": np.zeros((1, 2), dtype=np.int32)}, "the model indices should be int32"),
        ({"model": np.array([0], dtype=np.int32)}, "there are 1 models and 2 utterances"),
        ({"utterance": np.array([1, 1], dtype=np.int32)}, r"b1 \(model ann\) is tried twice"),
        ({"utterances": ("a1", "b1")}, r"a1 \(model ann\) is part of the enrolment"),
    ],
)
def test_what_makes_no_trials_is_refused(changed: dict[str, object], message: str) -> None:
    assert trial().is_target.tolist() == [True, False]
    with pytest.raises(UsageError, match=message):
        trial(**changed)


def test_trials_of_real_speech_stay_inside_a_corpus(speech_root: Path) -> None:
    corpus = read_corpus(speech_root / "manifest.csv").select(split="test")
    known = corpus.by_id()
    trials = make_trials(corpus, pairs="same-sex")
    assert trials.is_target.any()
    for enrolment in trials.enrolments:
        assert len(enrolment.utterances) == 3
    for model, utterance in zip(trials.model, trials.utterance, strict=True):
        one = known[trials.enrolments[model].utterances[0]]
        other = known[trials.utterances[utterance]]
        assert (one.corpus, one.sex) == (other.corpus, other.sex)
