import csv

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.evaluate.attributes.table import AttributeTable
from sordino.federated.populations.read import labelled, population_of, read_parquet
from sordino.speaker.vectors import Vectors


def vectors_of(speakers):
    keys = tuple(f"{name}/{number}" for number, name in enumerate(speakers))
    rows = np.arange(len(keys), dtype=np.float32)[:, None] * np.ones(3, dtype=np.float32)
    return Vectors(keys, keys, tuple(speakers), rows, "tiny")


def table_of(rows, columns=("sex", "split", "check")):
    known = {
        name: dict(zip(("speaker", *columns), (name, *values), strict=True))
        for name, values in rows.items()
    }
    return AttributeTable("t.csv", False, ("speaker", *columns), known, {})


TABLE = table_of(
    {
        "ann": ("F", "dev", ""),
        "bob": ("M", "dev", ""),
        "cat": ("F", "test", ""),
        "dan": ("M", "test", ""),
        "eve": ("F", "dev", "doubtful"),
        "fay": ("", "dev", ""),
        "gus": ("X", "dev", ""),
    }
)
ALL = ("ann", "ann", "bob", "cat", "dan", "dan", "eve", "fay", "gus")


def test_users_hold_their_labels_and_others_are_held_out():
    data = labelled(
        vectors_of(ALL),
        TABLE,
        ["sex"],
        unknown=[("check", "doubtful")],
        held_out=("split", "test"),
    )
    assert data.classes == ("F", "M")  # X is on one side only
    assert data.speakers == ("ann", "ann", "bob", "cat", "dan", "dan")
    population = population_of(data, seed=0)
    assert population.users == 2
    examples = population.cohort(np.array([0, 1]))
    assert examples.counts.tolist() == [2, 1]
    assert examples.vectors[0, :, 0].tolist() == [0.0, 1.0]
    assert examples.labels[1, 0] == 1
    held_out = population.held_out
    assert held_out.labels.tolist() == [0, 1, 1]
    assert held_out.weights.tolist() == [1.0, 0.5, 0.5]
    assert held_out.accuracy(np.array([0, 1, 0])) == 0.75
    facts = population.facts()
    assert (facts["speakers"], facts["held_out_speakers"]) == (2, 2)


def test_several_columns_make_one_class():
    data = labelled(vectors_of(ALL), TABLE, ["sex", "split"], only=[("check", "")])
    assert data.classes == ("F dev", "F test", "M dev", "M test", "X dev")


def test_without_a_column_a_third_of_speakers_is_held_out_by_the_seed():
    names = [f"s{number}" for number in range(30)]
    table = table_of({name: ("FM"[n % 2], "", "") for n, name in enumerate(names)})
    data = labelled(vectors_of(names * 2), table, ["sex"])
    seen = []
    for seed in (0, 0, 1):
        population = population_of(data, seed, users=50, examples=3)
        held_out = set(population.held_out.vectors[:, 0].astype(int) % 30)
        users = set(population.cohort(np.arange(50)).vectors[:, :, 0].astype(int).ravel() % 30)
        assert len(held_out) == 10
        assert not held_out & users
        assert population.users == 50
        seen.append(held_out)
    assert seen[0] == seen[1] != seen[2]


def test_dirichlet_users():
    names = [f"s{number}" for number in range(30)]
    table = table_of({name: ("FM"[n % 2], "", "") for n, name in enumerate(names)})
    data = labelled(vectors_of(names), table, ["sex"])
    population = population_of(data, 0, users=4, concentration=0.3)
    assert population.cohort(np.arange(population.users)).counts.sum() == 20
    with pytest.raises(UsageError, match="number of users"):
        population_of(data, 0, concentration=0.3)


def test_what_leaves_too_little_is_refused():
    with pytest.raises(UsageError, match="at least 2"):
        labelled(vectors_of(("ann", "bob")), TABLE, ["sex"], least=2)
    with pytest.raises(UsageError, match="no column"):
        labelled(vectors_of(("ann", "bob")), TABLE, ["age"])
    with pytest.raises(UsageError, match="0 classes"):
        labelled(vectors_of(ALL), TABLE, ["sex"], held_out=("split", "neither"))


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="extra federated")
    parquet = pytest.importorskip("pyarrow.parquet", reason="extra federated")
    path = tmp_path / "users.parquet"
    content = {
        "speaker": ["ann", "bob", None],
        "vector": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
        "sex": ["F", None, "M"],
    }
    parquet.write_table(pyarrow.table(content), path)
    vectors, table = read_parquet(path)
    assert vectors.vectors.tolist() == content["vector"]
    assert vectors.speakers == ("ann", "bob", "")
    assert table.values("sex", vectors.keys, vectors.speakers) == ("F", "", "M")
    for broken in (
        {"speaker": ["a", "b"], "vector": [[1.0], [1.0, 2.0]]},
        {"speaker": ["a"]},
        {"vector": [[1.0]]},
        {"speaker": ["a"], "vector": [[float("nan")]]},
    ):
        parquet.write_table(pyarrow.table(broken), path)
        with pytest.raises(UsageError):
            read_parquet(path)
    path.write_bytes(b"no parquet")
    with pytest.raises(UsageError):
        read_parquet(path)


def test_real_speakers(speech_root):
    """All adults of whom the sex is sure have it, and no speaker is on both sides."""
    with (speech_root / "manifest.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    keys = tuple(row["path"].rsplit(".", 1)[0] for row in rows)
    speakers = tuple(row["speaker"] for row in rows)
    numbers = np.arange(len(rows), dtype=np.float32)[:, None]
    vectors = Vectors(keys, keys, speakers, numbers, "none")
    table = AttributeTable.read(speech_root / "speakers.csv")
    data = labelled(
        vectors,
        table,
        ["sex"],
        unknown=[("label_check", "doubtful")],
        held_out=("split", "test"),
    )
    population = population_of(data, 0)
    assert data.classes == ("F", "M")
    assert population.users > 200
    held_out = {speakers[int(row)] for row in population.held_out.vectors[:, 0]}
    chosen = population.cohort(np.arange(population.users))
    users = {speakers[int(row)] for row in chosen.vectors[:, :, 0].ravel()}
    assert not held_out & users


def test_a_table_of_other_people_is_named():
    vectors = vectors_of(tuple(f"{number:02}" for number in range(12)))
    with pytest.raises(
        UsageError, match=r"none of the 12 speakers \(00, 01, ...\) is in .*--speak"
    ):
        labelled(vectors, TABLE, ["sex"])
    with pytest.raises(UsageError, match="no vector names its speaker"):
        labelled(vectors_of(("", "")), TABLE, ["sex"])
