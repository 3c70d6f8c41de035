from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sordino.corpus.utterance import Utterance
from sordino.evaluate.anonymization.similarity import chosen_speakers, similarity


def spoken(speakers: int, takes: int) -> list[Utterance]:
    return [
        Utterance(f"{who}-{take}", Path("x"), f"s{who:02d}")
        for who in range(speakers)
        for take in range(takes)
    ]


def vectors(utterances: list[Utterance], seed: int, spread: float) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = {u.speaker: rng.normal(size=16) for u in utterances}
    return {
        u.id: (centres[u.speaker] + spread * rng.normal(size=16)).astype(np.float32)
        for u in utterances
    }


def test_at_most_forty_speakers_with_two_to_five_utterances() -> None:
    chosen = chosen_speakers(spoken(50, 7), seed=0)
    speakers = [utterance.speaker for utterance in chosen]
    assert len(set(speakers)) == 40
    assert all(speakers.count(speaker) == 5 for speaker in speakers)


def test_speakers_with_one_utterance_are_not_chosen() -> None:
    utterances = [*spoken(3, 2), Utterance("alone", Path("x"), "alone")]
    assert {u.speaker for u in chosen_speakers(utterances, 0)} == {"s00", "s01", "s02"}
    assert chosen_speakers(spoken(1, 5), 0) == ()
    assert chosen_speakers(spoken(9, 1), 0) == ()


def test_new_but_distinct_voices_keep_their_distinctiveness() -> None:
    utterances = spoken(12, 4)
    found = similarity(
        "x",
        "a",
        utterances,
        vectors(utterances, 0, 0.4),
        vectors(utterances, 1, 0.4),
        seed=0,
    )
    assert found.distinctiveness.value == pytest.approx(0, abs=0.3)
    assert found.deidentification.value is not None
    assert found.deidentification.value > 0.9
    assert found.deidentification.low is not None
    assert np.shape(found.original) == np.shape(found.mixed) == (12, 12)
    assert np.diag(found.original).min() > 0.9


def test_voices_as_they_were_are_not_deidentified() -> None:
    utterances = spoken(12, 4)
    same = vectors(utterances, 0, 0.4)
    found = similarity("x", "a", utterances, same, same, seed=0)
    assert found.distinctiveness.value == pytest.approx(0)
    assert found.deidentification.value == pytest.approx(0)


def test_voices_that_became_one_lose_their_distinctiveness() -> None:
    utterances = spoken(12, 4)
    rng = np.random.default_rng(3)
    alike = {u.id: rng.normal(size=16).astype(np.float32) for u in utterances}
    found = similarity("x", "a", utterances, vectors(utterances, 0, 0.4), alike, seed=0)
    assert found.distinctiveness.value is not None
    assert found.distinctiveness.value < -6


def test_of_few_speakers_there_is_a_figure_without_an_interval() -> None:
    utterances = spoken(2, 4)
    one, other = vectors(utterances, 0, 0.4), vectors(utterances, 1, 0.4)
    found = similarity("x", "a", utterances, one, other, seed=0)
    assert found.distinctiveness.value == pytest.approx(0, abs=3)
    assert found.distinctiveness.low is None
    assert found.deidentification.low is None
