"""Trials on fixed vectors, against loops over Eq. 1."""

from __future__ import annotations

import numpy as np
import pytest

from sordino.corpus.trials import Enrolment, Trials
from sordino.training.distil.trial_scores import Tried, with_rule


@pytest.fixture
def tried() -> Tried:
    trials = Trials(
        (Enrolment("ann", "ann", ("a1", "a2")), Enrolment("bob", "bob", ("b1", "b2"))),
        ("a3", "b3", "c1"),
        ("ann", "bob", "cem"),
        np.array([0, 0, 0, 1, 1], dtype=np.int32),
        np.array([0, 1, 2, 1, 0], dtype=np.int32),
    )
    return Tried.of(trials, ("c1", "b3", "b2", "b1", "a3", "a2", "a1"))


def test_scores_are_means_of_cosines(tried: Tried) -> None:
    rows = np.random.default_rng(0).normal(size=(7, 4))
    by_key = dict(zip(("c1", "b3", "b2", "b1", "a3", "a2", "a1"), rows, strict=True))

    def cosine(one: np.ndarray, other: np.ndarray) -> float:
        return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))

    pairs = [("a1", "a2", "a3"), ("a1", "a2", "b3"), ("a1", "a2", "c1")]
    pairs += [("b1", "b2", "b3"), ("b1", "b2", "a3")]
    expected = [
        (cosine(by_key[first], by_key[test]) + cosine(by_key[second], by_key[test])) / 2
        for first, second, test in pairs
    ]
    assert tried.scores(rows) == pytest.approx(expected)


def test_the_rule_refuses_where_both_sides_are_sure_and_differ(tried: Tried) -> None:
    sure, other, unsure = [0.98, 0.02], [0.03, 0.97], [0.4, 0.6]
    # c1, b3, b2, b1, a3, a2, a1
    said = np.array([unsure, other, other, other, sure, sure, sure])
    assert tried.other_class(said, 0.9).tolist() == [False, True, False, False, True]
    assert not tried.other_class(said, 0.99).any()


def test_who_is_refused_scores_below_all_others() -> None:
    scores = np.array([-1.0, 1.0, 0.5])
    ruled = with_rule(scores, np.array([False, True, True]))
    assert ruled.argsort().tolist() == [2, 1, 0]
