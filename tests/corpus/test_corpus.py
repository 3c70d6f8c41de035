from __future__ import annotations

from pathlib import Path

import pytest

from sordino.corpus.corpus import Corpus
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError


def utterance(name: str, speaker: str, **known: str) -> Utterance:
    return Utterance(name, Path(f"{name}.wav"), speaker, **known)


CORPUS = Corpus(
    (
        utterance("b1", "bob", sex="M", language="en", split="test", corpus="x"),
        utterance("a1", "ann", sex="F", language="en", split="dev", corpus="x"),
        utterance("a2", "ann", sex="F", language="fr", split="dev", corpus="y"),
        utterance("c1", "cem", language="en", split="test"),
        utterance("b2", "bob", sex="M", language="en", split="test", corpus="x"),
    )
)


def ids(corpus: Corpus) -> list[str]:
    return [utterance.id for utterance in corpus]


def test_order_is_kept_and_speakers_are_sorted() -> None:
    assert ids(CORPUS) == ["b1", "a1", "a2", "c1", "b2"]
    assert len(CORPUS) == 5
    assert CORPUS.speakers == ("ann", "bob", "cem")
    grouped = {who: [one.id for one in group] for who, group in CORPUS.by_speaker().items()}
    assert list(grouped.items()) == [("ann", ["a1", "a2"]), ("bob", ["b1", "b2"]), ("cem", ["c1"])]
    assert CORPUS.by_id()["c1"].speaker == "cem"


@pytest.mark.parametrize(
    ("filters", "chosen"),
    [
        ({}, ["b1", "a1", "a2", "c1", "b2"]),
        ({"split": "dev"}, ["a1", "a2"]),
        ({"sex": "M"}, ["b1", "b2"]),
        ({"sex": ["F", "M"]}, ["b1", "a1", "a2", "b2"]),
        ({"corpus": "y"}, ["a2"]),
        ({"speaker": ("cem", "bob")}, ["b1", "c1", "b2"]),
        ({"language": "en", "split": {"test"}}, ["b1", "c1", "b2"]),
    ],
)
def test_select(filters: dict[str, object], chosen: list[str]) -> None:
    assert ids(CORPUS.select(**filters)) == chosen


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"split": "tst"}, "no utterance has the split 'tst'; there are dev, test"),
        ({"split": ["dev", "tst"]}, "no utterance has the split 'tst'; there are dev, test"),
        ({"sex": "F", "split": "test"}, "no utterance has split test and sex F"),
        ({"speaker": []}, "no speaker is asked for; name at least one"),
    ],
)
def test_what_selects_nothing_is_an_error(filters: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        CORPUS.select(**filters)
    assert str(caught.value) == message


def test_an_error_shows_some_of_many_values() -> None:
    many = Corpus(tuple(utterance(f"{n:02}", f"s{n:02}") for n in range(20)))
    with pytest.raises(UsageError, match=r"there are s00, s01, .*s07 and 12 more$"):
        many.select(speaker="s20")
    with pytest.raises(UsageError, match=r"'F'; there is no sex at all$"):
        many.select(sex="F")


@pytest.mark.parametrize(
    ("utterances", "message"),
    [
        ((), "there are no utterances"),
        ((utterance("a", "ann"), utterance("a", "bob")), "two utterances have the id 'a'"),
        (
            (utterance("a", "ann", sex="F"), utterance("b", "ann"), utterance("c", "ann", sex="M")),
            "speaker ann is both F and M (see utterance c)",
        ),
    ],
)
def test_what_is_no_corpus_is_refused(utterances: tuple[Utterance, ...], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Corpus(utterances)
    assert str(caught.value) == message
