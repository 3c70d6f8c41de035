from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import UsageError
from sordino.evaluate.attributes.folds import given_fold, require_disjoint, speaker_folds


def people(sizes: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Some rows of each speaker, in no order; the value is that of the speaker."""
    names = np.repeat([f"s{number}" for number in range(len(sizes))], sizes)
    order = np.random.default_rng(len(names)).permutation(len(names))
    labels = np.repeat(np.arange(len(sizes)) % 2, sizes)
    return names[order], labels[order]


@given(st.lists(st.integers(1, 5), min_size=8, max_size=30), st.integers(2, 8), st.integers(0, 9))
def test_speakers_are_apart_and_all_are_guessed_once(sizes, count, seed):
    speakers, labels = people(sizes)
    folds = speaker_folds(speakers, labels, count, seed)
    assert len(folds) == count
    guessed = np.concatenate([fold.test for fold in folds])
    assert sorted(guessed) == list(range(len(speakers)))
    for fold in folds:
        assert not set(speakers[fold.train]) & set(speakers[fold.test])
        assert sorted(np.concatenate([fold.train, fold.test])) == list(range(len(speakers)))


@given(st.lists(st.integers(1, 5), min_size=8, max_size=30), st.integers(2, 4))
def test_values_are_dealt_out_evenly(sizes, count):
    speakers, labels = people(sizes)
    for value in (0, 1):
        counts = [
            np.unique(speakers[fold.test][labels[fold.test] == value]).size
            for fold in speaker_folds(speakers, labels, count, 0)
        ]
        assert max(counts) - min(counts) <= 1


def test_order_of_rows_does_not_matter_and_the_seed_does():
    speakers, labels = people([2] * 20)
    turned = np.arange(len(speakers))[::-1]

    def parts(names, values, seed):
        return [set(names[fold.test]) for fold in speaker_folds(names, values, 4, seed)]

    assert parts(speakers, labels, 0) == parts(speakers[turned], labels[turned], 0)
    assert parts(speakers, labels, 0) != parts(speakers, labels, 1)


def test_too_few_speakers():
    speakers, labels = people([3, 3])
    with pytest.raises(UsageError, match="there are 2 speakers for 3 folds"):
        speaker_folds(speakers, labels, 3, 0)
    with pytest.raises(UsageError, match="1 folds are too few"):
        speaker_folds(speakers, labels, 1, 0)


def test_given_split():
    speakers = np.array(["a", "b", "a", "c"])
    fold = given_fold(speakers, np.array([True, False, True, False]))
    assert (fold.train.tolist(), fold.test.tolist()) == ([0, 2], [1, 3])
    with pytest.raises(UsageError, match=r"1 of the speakers to guess .* the first is a"):
        given_fold(speakers, np.array([True, False, False, False]))
    with pytest.raises(UsageError, match="no vectors to train on, or none to guess"):
        given_fold(speakers, np.ones(4, dtype=bool))


def test_overlap_names_the_first_and_how_many():
    with pytest.raises(UsageError, match=r"2 of the speakers .* the first is bob"):
        require_disjoint({"ann", "bob", "cem"}, ["dan", "cem", "bob"])
