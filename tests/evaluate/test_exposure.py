from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from sordino.corpus.corpus import Corpus
from sordino.corpus.trials import Enrolment, Trials, make_trials
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError
from sordino.evaluate.exposure import groups, identification, left_out, worst_cases
from sordino.evaluate.privacy import measure_lists

WHO = {"system": "mute", "scenario": "OA", "attacker": "cosine"}


def people(names, utterances=4, **known) -> list[Utterance]:
    return [
        Utterance(f"{name}-{take}", Path(f"{name}-{take}.wav"), name, **known)
        for name in names
        for take in range(utterances)
    ]


def scored(trials: Trials, distance=2.0, seed=0) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal(len(trials))
    return noise + distance * trials.is_target


def matrix_of(scores, trials):
    """Scores by utterance and enrolment, and the column of each utterance's speaker."""
    matrix = np.full((len(trials.utterances), len(trials.enrolments)), np.nan)
    matrix[trials.utterance, trials.model] = scores
    columns = [enrolment.speaker for enrolment in trials.enrolments]
    return matrix, np.array([columns.index(speaker) for speaker in trials.speakers])


def test_linking_is_what_all_crowds_say():
    trials = make_trials(Corpus(tuple(people("abcdef"))), enrolments_per_speaker=2)
    scores = scored(trials, 1.0)
    found = identification(scores, trials)
    matrix, right = matrix_of(scores, trials)
    assert found.among == (2, 5, 6)
    for size, linked in zip(found.among, found.linked, strict=True):
        hits = [
            row[own] == max(row[[own, *crowd]])
            for row, own in zip(matrix, right, strict=True)
            for crowd in combinations([other for other in range(6) if other != own], size - 1)
        ]
        assert linked == pytest.approx(np.mean(hits))


def test_everybody_and_nobody_is_found():
    trials = make_trials(Corpus(tuple(people("abcdefgh", 5))), enrolments_per_speaker=2)
    sure = identification(trials.is_target.astype(float), trials)
    assert sure.linked == (1.0, 1.0, 1.0)
    assert sure.singled_out == (1.0, 1.0, 1.0)
    blind = identification(np.zeros(len(trials)), trials)
    assert blind.linked == pytest.approx((1 / 2, 1 / 5, 1 / 8))
    assert blind.singled_out == (0.0, 0.0, 0.0)
    assert blind.blind == pytest.approx([(1 - 1 / n) ** (n - 1) for n in (2, 5, 8)])


def test_noise_singles_out_no_better_than_a_guess():
    trials = make_trials(Corpus(tuple(people([f"s{i:02}" for i in range(40)], 8))))
    rates = [identification(scored(trials, 0.0, seed), trials).singled_out[1] for seed in range(8)]
    guess = identification(scored(trials, 0.0), trials).blind[1]
    assert np.mean(rates) == pytest.approx(guess, abs=0.03)
    better = identification(scored(trials, 3.0), trials)
    assert better.singled_out[1] > guess + 0.1


def test_infinite_scores_rank_as_they_are():
    trials = make_trials(Corpus(tuple(people("abcdef"))), enrolments_per_speaker=2)
    scores = scored(trials)
    scores[np.argmax(scores)], scores[np.argmin(scores)] = np.inf, -np.inf
    finite = np.where(np.isinf(scores), np.sign(scores) * 50, scores)
    assert identification(scores, trials).linked == identification(finite, trials).linked
    assert worst_cases(scores, trials, **WHO) == worst_cases(finite, trials, **WHO)


def test_the_largest_collection_is_taken():
    trials = make_trials(
        Corpus((*people("abcde", corpus="one"), *people("vwx", corpus="two"))),
        enrolments_per_speaker=2,
    )
    scores = scored(trials)
    alone = make_trials(Corpus(tuple(people("abcde", corpus="one"))), enrolments_per_speaker=2)
    of_one = np.array(
        [trials.enrolments[model].speaker in "abcde" for model in trials.model.tolist()]
    )
    assert of_one.sum() == len(alone)
    assert identification(scores, trials) == identification(scores[of_one], alone)


def test_lists_that_are_not_crossed_have_no_crowds():
    trials = make_trials(
        Corpus(tuple(people("abcdef"))), enrolments_per_speaker=2, nontargets_per_model=3
    )
    assert identification(scored(trials), trials) is None
    whole = make_trials(Corpus(tuple(people("abc"))), enrolments_per_speaker=2)
    keep = np.ones(len(whole), dtype=bool)
    keep[np.flatnonzero(~whole.is_target)[0]] = False
    less = whole.select(keep)
    assert identification(scored(less), less) is None
    twice = Trials(
        (Enrolment("a1", "a", ("x",)), Enrolment("a2", "a", ("y",)), Enrolment("b", "b", ("z",))),
        ("a-1", "b-1"),
        ("a", "b"),
        np.repeat(np.arange(3, dtype=np.int32), 2),
        np.tile(np.arange(2, dtype=np.int32), 3),
    )
    assert identification(scored(twice), twice) is None
    one = whole.select(whole.model == 0)
    assert identification(scored(one), one) is None


def test_impostors_who_are_not_enrolled_are_no_matter():
    trials = make_trials(Corpus((*people("abcd", 4), *people("xy", 2))), enrolments_per_speaker=2)
    assert len(trials.enrolments) == 4
    scores = scored(trials)
    mine = np.array([speaker in "abcd" for speaker in trials.speakers])[trials.utterance]
    assert identification(scores, trials) == identification(scores[mine], trials.select(mine))


def test_speakers_with_one_utterance_are_not_in_the_crowd():
    trials = make_trials(Corpus((*people("abc", 5), *people("de", 3))), enrolments_per_speaker=2)
    found = identification(scored(trials), trials)
    assert found.among == (2, 5)
    assert found.singled_out[0] is not None
    assert found.singled_out[1] is None
    lone = make_trials(Corpus(tuple(people("abc", 3))), enrolments_per_speaker=2)
    assert identification(scored(lone), lone).singled_out == (None, None)


def test_linking_and_hull_are_those_of_the_legal_framework():
    legal = pytest.importorskip(
        "legal_eval.metrics", reason="voice-anonymization-legal-eval is not installed"
    )
    from legal_eval.io import ScoreMatrix

    trials = make_trials(Corpus(tuple(people([f"s{i:02}" for i in range(15)], 6))))
    scores = scored(trials, 1.0)
    matrix, right = matrix_of(scores, trials)
    names = [enrolment.speaker for enrolment in trials.enrolments]
    theirs = ScoreMatrix(
        scores=matrix.T,
        enroll_speakers=names,
        test_speakers=[names[column] for column in right],
        metadata={},
    )
    found = identification(scores, trials)
    assert found.among == (2, 5, 10, 15)
    for size, linked in zip(found.among, found.linked, strict=True):
        assert [linked] == pytest.approx(legal.linkability(theirs, size, estimator="exact"))
    own, others = scores[trials.is_target], scores[~trials.is_target]
    hull = measure_lists(own, others).eer_hull.value
    assert hull == pytest.approx(legal.rocch_eer(own, others), abs=1e-12)


def test_singling_out_is_near_that_of_the_legal_framework():
    legal = pytest.importorskip(
        "legal_eval.metrics", reason="voice-anonymization-legal-eval is not installed"
    )
    speakers, takes = 24, 6
    names = [f"s{number:02}" for number in range(speakers)]
    trials = make_trials(Corpus(tuple(people(names, takes + 1))), enrolments_per_speaker=1)
    scores = scored(trials, 2.0)
    matrix, right = matrix_of(scores, trials)
    order = np.argsort(right, kind="stable")
    by_speaker = matrix[order].reshape(speakers, takes, speakers)
    rates = []
    for take in range(takes):
        rest = np.delete(by_speaker, take, axis=1).reshape(-1, speakers)
        theirs = legal.ConversationScores(
            enroll_speakers=names,
            dataset_speakers=names,
            test_scores=by_speaker[:, take].T,
            calibration_scores=rest.T,
            calibration_slices=[(s * (takes - 1), (s + 1) * (takes - 1)) for s in range(speakers)],
        )
        rates += [np.mean(runs) for runs in legal.singling_out(theirs, 10, n_runs=20).values()]
    found = identification(scores, trials)
    # Theirs sets a threshold for each crowd, ours one for all crowds of a size.
    ours = found.singled_out[found.among.index(10)]
    assert ours == pytest.approx(np.mean(rates), abs=0.06)
    assert ours > found.blind[found.among.index(10)] + 0.1


def test_worst_cases_by_hand():
    trials = Trials(
        tuple(Enrolment(name, name, (f"{name}-0",)) for name in ("ann", "bob", "cem")),
        ("ann-1", "ann-2", "bob-1", "bob-2", "cem-1", "eve-1"),
        ("ann", "ann", "bob", "bob", "cem", "eve"),
        np.repeat(np.arange(3, dtype=np.int32), 6),
        np.tile(np.arange(6, dtype=np.int32), 3),
    )
    scores = [
        *(0.9, 0.8, 0.1, 0.2, 0.3, 0.4),  # ann: apart
        *(0.5, 0.1, 0.6, 0.2, 0.3, 0.1),  # bob: 0.2 is below 0.5 and 0.3
        *(0.2, 0.8, 0.1, 0.3, 0.7, 0.2),  # cem: one target only
    ]
    found = worst_cases(scores, trials, **WHO)
    assert [(case.speaker, case.targets, case.first, case.eer) for case in found] == [
        ("ann", 2, 1, 0.0),  # the second is level with cem, which is not first
        ("bob", 2, 1, pytest.approx(1 / 2)),
        ("cem", 1, 1, None),
    ]
    assert {(case.system, case.scenario, case.attacker) for case in found} == {
        ("mute", "OA", "cosine")
    }


def test_who_is_only_tried_against_himself_is_never_first():
    trials = Trials(
        (Enrolment("ann", "ann", ("ann-0",)), Enrolment("bob", "bob", ("bob-0",))),
        ("ann-1", "ann-2", "bob-1"),
        ("ann", "ann", "bob"),
        np.array([0, 0, 1], dtype=np.int32),
        np.array([0, 1, 2], dtype=np.int32),
    )
    found = worst_cases([0.9, 0.8, 0.7], trials, **WHO)
    assert [(case.speaker, case.first, case.eer) for case in found] == [
        ("ann", 0, None),
        ("bob", 0, None),
    ]


def test_identical_scores_expose_nobody():
    trials = make_trials(Corpus(tuple(people("abcd", 5))), enrolments_per_speaker=2)
    found = worst_cases(np.zeros(len(trials)), trials, **WHO)
    assert [(case.first, case.eer) for case in found] == [(0, 0.5)] * 4


def test_scores_have_to_be_there():
    trials = make_trials(Corpus(tuple(people("abcd"))), enrolments_per_speaker=2)
    scores = scored(trials)
    for broken in (scores[1:], np.where(np.arange(scores.size) == 3, np.nan, scores)):
        with pytest.raises(UsageError):
            identification(broken, trials)
        with pytest.raises(UsageError):
            worst_cases(broken, trials, **WHO)


@pytest.fixture
def mixed() -> tuple[Trials, Corpus]:
    corpus = Corpus(
        (
            *people(["f1", "f2"], sex="F", language="en", corpus="one"),
            *people(["m1"], sex="M", language="en", corpus="one"),
            *people(["u1"], language="de", corpus="one"),
            *people(["m2", "m3"], sex="M", language="de", corpus="two"),
            *people(["x1"], 2, language="fr", corpus="two"),
        )
    )
    return make_trials(corpus, enrolments_per_speaker=2), corpus


def test_groups_are_those_of_each_trial(mixed):
    trials, corpus = mixed
    sexes = {utterance.speaker: utterance.sex for utterance in corpus}
    known = corpus.by_id()
    found = groups(trials, corpus)
    assert list(found) == [
        "all",
        "same-sex",
        "F-F",
        "M-M",
        "language: de",
        "language: en",
        "corpus: one",
        "corpus: two",
    ]
    for row in range(len(trials)):
        enrolled = trials.enrolments[trials.model[row]]
        tried = trials.utterances[trials.utterance[row]]
        pair = sexes[enrolled.speaker], sexes[trials.speakers[trials.utterance[row]]]
        first, second = known[enrolled.utterances[0]], known[tried]
        assert found["all"][row]
        assert found["same-sex"][row] == (pair in {("F", "F"), ("M", "M")})
        assert found["F-F"][row] == (pair == ("F", "F"))
        assert found["M-M"][row] == (pair == ("M", "M"))
        assert found["language: en"][row] == (first.language == second.language == "en")
        assert found["corpus: two"][row] == (first.corpus == second.corpus == "two")


def test_groups_that_cannot_be_measured_are_named(mixed):
    trials, corpus = mixed
    assert left_out(trials, corpus) == ()
    women = trials.select(groups(trials, corpus)["F-F"])
    assert list(groups(women, corpus)) == ["all", "same-sex", "F-F"]
    own = groups(trials, corpus)["F-F"] | (groups(trials, corpus)["M-M"] & trials.is_target)
    some = trials.select(own)
    assert "M-M" not in groups(some, corpus)
    assert "M-M has no non-target trials and is left out." in left_out(some, corpus)


def test_without_properties_there_is_one_group():
    corpus = Corpus(tuple(people("abcd")))
    trials = make_trials(corpus, enrolments_per_speaker=2)
    assert list(groups(trials, corpus)) == ["all"]
    assert left_out(trials, corpus) == ()


def test_one_language_is_no_group_of_its_own():
    corpus = Corpus(tuple(people("abcd", language="en", corpus="one")))
    trials = make_trials(corpus, enrolments_per_speaker=2)
    assert list(groups(trials, corpus)) == ["all"]
