"""Vectors with labels: what is read, parted and drawn."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from sordino.errors import UsageError
from sordino.training.concealer.data import Rows, chosen, labelled, parted, without
from tests.training.concealer.toy_vectors import people, table_of


@pytest.fixture(scope="module")
def vectors():
    return people()


@pytest.fixture
def table(vectors, tmp_path):
    return table_of(vectors, tmp_path / "speakers.csv", frozenset({"p003"}))


def test_labels_are_those_of_the_table(vectors, table):
    data = labelled(vectors, table, ["age", "sex"])
    assert [known.name for known in data.attributes] == ["age", "sex"]
    assert data.attributes[0].values == ("middle", "old", "young")
    for row, name in enumerate(vectors.speakers):
        age, sex = (table.rows[name][column] for column in ("age", "sex"))
        assert data.attributes[0].values[data.labels[row, 0]] == age
        if name == "p003":
            assert data.labels[row, 1] == -1
        else:
            assert "FM"[data.labels[row, 1]] == sex
    assert set(data.collections) == {"c0", "c1"}
    np.testing.assert_array_equal(data.vectors, vectors.vectors)


@pytest.mark.parametrize(
    ("change", "attributes", "told"),
    [
        ({}, [], "at least one attribute"),
        ({}, ["sex", "sex"], "each once"),
        ({}, ["height"], "no column 'height'"),
        ({"speakers": ("",) * 120}, ["sex"], "p000/0: nobody says who speaks"),
        ({"vectors": np.zeros((120, 12), np.float32)}, ["sex"], "p000/0: its vector is zero"),
        ({"vectors": np.full((120, 12), np.nan, np.float32)}, ["sex"], "zero, NaN or infinite"),
    ],
)
def test_refusals(vectors, table, change, attributes, told):
    with pytest.raises(UsageError, match=told):
        labelled(replace(vectors, **change), table, attributes)


def test_an_attribute_needs_two_values(vectors, table):
    with pytest.raises(UsageError, match=r"split: .* has 1 value"):
        labelled(chosen(vectors, table, [("split", "dev")]), table, ["split"])
    nobody = without(table, ["sex"], [("corpus", "c0"), ("corpus", "c1")])
    with pytest.raises(UsageError, match="has no value"):
        labelled(vectors, nobody, ["sex"])


def test_chosen_rows(vectors, table):
    dev = chosen(vectors, table, [("split", "dev"), ("age", "old"), ("age", "young")])
    wanted = [
        key
        for key, name in zip(vectors.keys, vectors.speakers, strict=True)
        if table.rows[name]["split"] == "dev" and table.rows[name]["age"] != "middle"
    ]
    assert list(dev.keys) == wanted
    assert dev.digest == vectors.digest
    np.testing.assert_array_equal(
        dev.vectors, vectors.vectors[[vectors.keys.index(key) for key in wanted]]
    )
    assert chosen(vectors, table, []).keys == vectors.keys
    with pytest.raises(UsageError, match="no vector is left"):
        chosen(vectors, table, [("split", "evil")])
    with pytest.raises(UsageError, match="no column 'part'"):
        chosen(vectors, table, [("part", "dev")])


def test_doubtful_labels_are_unknown(vectors, table):
    data = labelled(vectors, without(table, ["sex"], [("label_check", "doubtful")]), ["sex", "age"])
    doubtful = np.array([name[-1] == "9" for name in vectors.speakers])
    assert (data.labels[doubtful, 0] == -1).all()
    assert (data.labels[:, 1] >= 0).all()
    assert (data.labels[~doubtful, 0] == -1).sum() == 3  # p003
    with pytest.raises(UsageError, match="no column 'check'"):
        without(table, ["sex"], [("check", "doubtful")])


def test_speakers_count_the_same():
    vectors = people(speakers=4, each=3)
    some = replace(
        vectors,
        keys=vectors.keys[2:],
        paths=vectors.paths[2:],
        speakers=vectors.speakers[2:],
        vectors=vectors.vectors[2:],
    )
    table = type("Table", (), {"columns": (), "values": lambda *_: ("F", "M") * 5, "name": "t"})()
    data = labelled(some, table, ["sex"])
    shares = data.by_speaker
    assert shares.mean() == pytest.approx(1)
    sums = [shares[data.speakers == name].sum() for name in sorted(set(data.speakers))]
    np.testing.assert_allclose(sums, sums[0])


def test_parts_share_no_speaker_and_hold_all_kinds(vectors, table):
    data = labelled(vectors, table, ["sex"])
    training, validation = parted(data, 0.2, 0)
    assert not set(training.speakers) & set(validation.speakers)
    assert len(training) + len(validation) == len(data)
    assert {0, 1} <= set(validation.labels[:, 0])
    assert set(validation.collections) == {"c0", "c1"}
    other = parted(data, 0.2, 1)[1]
    assert set(other.speakers) != set(validation.speakers)


def test_a_value_that_training_would_not_see(vectors, table):
    data = labelled(vectors, table, ["sex"])
    lonely = replace(data, labels=np.where(data.speakers[:, None] == "p001", 1, 0))
    with pytest.raises(UsageError, match="no speaker of training has the value M"):
        # A share of one speaker is rounded: of more than half of one, it is that one.
        parted(lonely, 0.6, 0)


class TestRows:
    def test_each_vector_once_in_a_pass(self, vectors, table):
        data = labelled(vectors, table, ["sex"])
        rows = Rows(data, "template", 0)
        first = [rows[number] for number in range(120)]
        second = [rows[number] for number in range(120, 240)]
        assert sorted(first) == sorted(second) == list(range(120))
        assert first != second

    def test_each_speaker_once_in_a_pass(self, vectors, table):
        data = labelled(vectors, table, ["sex"])
        few = data.rows(np.concatenate([np.arange(3), np.arange(3, 120, 3)]))
        rows = Rows(few, "speaker", 0)
        found = [rows[number] for number in range(40 * 60)]
        names = Counter(few.speakers[found].tolist())
        assert set(names.values()) == {60}
        assert all(10 <= Counter(found)[row] <= 30 for row in range(3))

    def test_a_function_of_seed_and_number(self, vectors, table):
        data = labelled(vectors, table, ["sex"])
        rows, again, other = (Rows(data, "speaker", seed) for seed in (0, 0, 1))
        numbers = [500, 3, 41, 3]
        assert [rows[n] for n in numbers] == [again[n] for n in sorted(numbers, reverse=True)][
            :1
        ] + [again[n] for n in numbers[1:]]
        assert [rows[n] for n in range(40)] != [other[n] for n in range(40)]
