"""Supervectors of real speech, and what is left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sordino.corpus.corpus import Corpus
from sordino.corpus.layouts.detect import read_corpus
from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError, UsageError
from sordino.federated.features.supervectors import Supervectors, corpus_table, supervectors

pytest.importorskip("hmmlearn", reason="the extra federated is not installed")

PHRASE = "Das will sie am Mittwoch abgeben."


@pytest.fixture(scope="module")
def spoken(speech_root: Path) -> Corpus:
    """One sentence by eight people."""
    emodb = read_corpus(speech_root / "manifest.csv").select(corpus="emodb")
    return Corpus(tuple(one for one in emodb if one.text == PHRASE))


@pytest.fixture(scope="module")
def made(spoken: Corpus) -> Supervectors:
    return supervectors(spoken, phrases=True)


def test_a_phrase_becomes_520_numbers(spoken: Corpus, made: Supervectors) -> None:
    assert made.vectors.vectors.shape == (len(spoken), 520)
    assert np.isfinite(made.vectors.vectors).all()
    assert list(made.models) == [f"emodb: {PHRASE}"]
    assert made.left_out == 0
    assert set(made.table.values("corpus", made.vectors.keys, ())) == {f"emodb: {PHRASE}"}


def test_speakers_are_nearer_to_themselves(made: Supervectors) -> None:
    rows = made.vectors.vectors - made.vectors.vectors.mean(axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    names = np.array(made.vectors.speakers)
    same = names[:, None] == names
    cosines = rows @ rows.T
    others = cosines[same & ~np.eye(len(rows), dtype=bool)]
    # Emotions differ, but the voice stays.
    assert others.mean() > cosines[~same].mean() + 0.1


def test_any_words_do_too_and_only_chosen_speakers_teach(spoken: Corpus) -> None:
    two = spoken.speakers[:2]
    few = Corpus(tuple(one for one in spoken if one.speaker in two)[:5])
    made = supervectors(few, [few.utterances[0].speaker])
    assert made.vectors.vectors.shape == (len(few), 520)
    again = supervectors(Corpus(few.utterances[::-1]), [few.utterances[0].speaker])
    assert set(made.models) == {""}
    assert made.table.values("sex", made.vectors.keys, ()) == tuple(one.sex for one in few)
    assert again.vectors.keys == made.vectors.keys[::-1]


def test_texts_that_too_few_say_are_left_out(spoken: Corpus) -> None:
    with pytest.raises(UsageError, match="too few speakers say the same"):
        supervectors(spoken, spoken.speakers[:2], phrases=True)


def test_names_the_recording_that_cannot_be_read(tmp_path: Path) -> None:
    corpus = Corpus((Utterance("a", tmp_path / "a.wav", "ann"),))
    with pytest.raises(AudioError, match=r"a\.wav"):
        supervectors(corpus)


def test_a_table_knows_what_the_corpus_tells() -> None:
    corpus = Corpus((Utterance("a", Path("a.wav"), "ann", language="en", split="dev"),))
    table = corpus_table(corpus)
    assert table.values("language", ["a"], ["ann"]) == ("en",)
    assert table.values("sex", ["a"], ["ann"]) == ("",)
