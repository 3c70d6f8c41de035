from __future__ import annotations

from pathlib import Path

import pytest

from sordino.corpus.corpus import Corpus
from sordino.corpus.trials import make_trials
from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError
from sordino.evaluate.anonymization.failing import Failing
from sordino.evaluate.results import Failure

CORPUS = Corpus(
    tuple(
        Utterance(f"{who}{take}", Path(f"{who}{take}.wav"), who)
        for who in "abc"
        for take in range(3)
    )
)
TRIALS = make_trials(CORPUS, enrolments_per_speaker=2)


class Notes:
    def __init__(self) -> None:
        self.said: list[str] = []

    def stage(self, what: str, total: int) -> None: ...

    def step(self) -> None: ...

    def note(self, text: str) -> None:
        self.said.append(text)


def failure(name: str) -> Failure:
    return Failure("heard by x", f"{name}.wav", f"{name}.wav: is digital silence", "")


def test_each_failure_says_what_it_costs() -> None:
    failing = Failing()
    tried, enrolled = TRIALS.utterances[0], TRIALS.enrolments[0].utterances[0]
    names = [tried, enrolled, "other"]
    failing.add("mine", {name: failure(name) for name in names}, TRIALS, ["other"])
    assert failing.tried == {"mine": {tried}}
    assert failing.enrolled == {"mine": {enrolled}}
    assert failing.trained == {"mine": {"other"}}
    effects = [found.effect for found in failing.failures]
    count = int((TRIALS.utterance == 0).sum())
    assert effects == [
        f"{count} trials left out",
        "left out of its speaker's enrolment",
        "left out of the attacker's training",
    ]


def test_a_failure_ends_the_run_unless_it_may_be_left_out() -> None:
    failing, notes = Failing(), Notes()
    failing.add("mine", {"a0": failure("a0")}, TRIALS, [])
    with pytest.raises(AudioError, match=r"1 utterances cannot be used.*--leave-out-failed"):
        failing.settle(notes, leave_out=False)
    assert notes.said == ["heard by x: a0.wav: is digital silence"]
    failing.settle(notes, leave_out=True)


def test_an_utterance_that_no_encoder_hears_counts_once() -> None:
    failing = Failing()
    for encoder in ("x", "y"):
        failing.add("mine", {"a0": Failure(f"heard by {encoder}", "a0.wav", "?", "")}, TRIALS, [])
    with pytest.raises(AudioError, match=r"^1 utterances"):
        failing.settle(Notes(), leave_out=False)


def test_many_failures_are_counted() -> None:
    failing, notes = Failing(), Notes()
    failing.add("mine", {str(n): failure(str(n)) for n in range(30)}, TRIALS, map(str, range(30)))
    failing.settle(notes, leave_out=True)
    assert len(notes.said) == 21
    assert notes.said[-1] == "... and 10 more"


def test_no_failure_says_nothing() -> None:
    notes = Notes()
    failing = Failing()
    failing.add("mine", {}, TRIALS, [])
    failing.settle(notes, leave_out=False)
    assert not notes.said
