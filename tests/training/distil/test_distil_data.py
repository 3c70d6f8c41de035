"""Vectors with side information, and who is heard where."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.training.distil.data import UNKNOWN, side_data
from tests.training.distil.made_up import made_up


def test_labels_follow_the_table() -> None:
    vectors, table = made_up()
    data = side_data(vectors, table, ["sex"], ("split", "test"))
    assert data.classes == ("F", "M")
    told = table.values("sex", vectors.keys, vectors.speakers)
    assert [data.classes[label] for label in data.labels] == list(told)
    assert set(data.speakers[data.tried]).isdisjoint(data.speakers[data.users])


def test_columns_together_and_numbers_in_bands() -> None:
    vectors, table = made_up(speakers=24)
    data = side_data(vectors, table, ["sex", "age:30"], ("split", "test"), least=1)
    assert data.classes == ("F below 30", "F from 30", "M below 30", "M from 30")


def test_a_rare_class_is_not_known() -> None:
    vectors, table = made_up()
    rows = {name: {**row} for name, row in table.rows.items()}
    rows["s00"]["sex"] = "X"
    data = side_data(vectors, replace(table, rows=rows), ["sex"], ("split", "test"))
    assert data.classes == ("F", "M")
    assert set(data.labels[data.speakers == "s00"]) == {UNKNOWN}
    assert "s00" not in data.speakers[data.users]


def test_without_a_column_half_of_the_speakers_are_tried() -> None:
    vectors, table = made_up()
    data = side_data(vectors, table, ["sex"])
    assert len(set(data.speakers[data.tried])) == 12


def test_one_vector_of_each_training_speaker_is_held_back() -> None:
    data = side_data(*made_up(takes=3), ["sex"], ("split", "test"))
    rows = data.training(None, 0)
    back = data.held_back(rows)
    assert sorted(data.speakers[back]) == sorted(set(data.speakers[rows]))
    assert not back[~rows].any()
    few = side_data(*made_up(takes=2), ["sex"], ("split", "test"))
    assert not few.held_back(few.training(None, 0)).any()


def test_fewer_training_speakers_are_drawn_by_the_seed() -> None:
    data = side_data(*made_up(), ["sex"], ("split", "test"))
    chosen = [frozenset(data.speakers[data.training(4, seed)]) for seed in (0, 0, 1)]
    assert chosen[0] == chosen[1] != chosen[2]
    assert len(chosen[0]) == 4


def test_standardised_by_the_training_speakers_alone() -> None:
    data = side_data(*made_up(), ["sex"], ("split", "test"))
    shifted = replace(data, vectors=data.vectors + 100 * data.tried[:, None].astype(np.float32))
    for one in (data, shifted):
        rows = one.training(None, 0)
        flat, mean, deviation = one.standardised()
        assert np.allclose(flat.vectors[rows].mean(axis=0), 0, atol=1e-4)
        assert np.allclose(flat.vectors[rows].std(axis=0), 1, atol=1e-4)
        assert np.allclose(flat.vectors * deviation + mean, one.vectors, atol=1e-3)


@pytest.mark.parametrize(
    ("side", "tried", "message"),
    [
        ([], ("split", "test"), "at least one column"),
        (["hair"], ("split", "test"), "no column"),
        (["sex"], ("split", "none"), "split=none: toy says this of no speaker"),
        (["age:x"], ("split", "test"), "after the column come numbers"),
        (["age:40,30"], ("split", "test"), "should rise"),
        (["age:200"], ("split", "test"), "1 class has 4 speakers"),
    ],
)
def test_refuses_what_cannot_be_done(side: list[str], tried: tuple[str, str], message: str) -> None:
    vectors, table = made_up()
    with pytest.raises(UsageError, match=message):
        side_data(vectors, table, side, tried)


def test_refuses_vectors_that_are_no_numbers() -> None:
    vectors, table = made_up()
    rows = vectors.vectors.copy()
    rows[3, 0] = np.nan
    with pytest.raises(UsageError, match="s00-3: its vector holds NaN"):
        side_data(replace(vectors, vectors=rows), table, ["sex"])
