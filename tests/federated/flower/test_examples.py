from __future__ import annotations

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.federated.flower.examples import read_examples, shapes_of, write_examples
from sordino.federated.populations.synthetic import SyntheticPopulation
from sordino.federated.task import ClassifierTask

TASK = ClassifierTask(inputs=3, classes=("F", "M"))


def test_npz_and_csv_give_the_same(tmp_path):
    vectors = np.array([[0.5, -1.0, 2.0], [0.25, 0.0, 1.0]], dtype=np.float32)
    np.savez(tmp_path / "a.npz", vectors=vectors, label=np.array(["M", "F"]))
    (tmp_path / "a.csv").write_text("0,label,1,2\n0.5,M,-1,2\n0.25,F,0,1\n")

    for name in ("a.npz", "a.csv"):
        examples = read_examples(tmp_path / name, TASK)
        assert np.array_equal(examples.vectors, vectors[None])
        assert examples.labels.tolist() == [[1, 0]]
    assert shapes_of([tmp_path / "a.npz", tmp_path / "a.csv"]) == (("F", "M"), 3)


def test_a_label_of_another_name_and_of_numbers(tmp_path):
    task = ClassifierTask(inputs=1, classes=("0", "1"))
    np.savez(tmp_path / "a.npz", vectors=np.ones((2, 1)), sex=np.array([1, 0]))

    assert read_examples(tmp_path / "a.npz", task, "sex").labels.tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"vectors": np.ones((2, 4)), "label": ["F", "F"]}, r"shape \(2, 4\); expected \(n, 3\)"),
        ({"vectors": np.ones((0, 3)), "label": np.zeros(0, "U1")}, "n from 1"),
        ({"vectors": np.full((1, 3), np.nan), "label": ["F"]}, "not finite"),
        ({"vectors": np.ones((1, 3)), "label": ["X"]}, "'X' are none of the classes F, M"),
        ({"vectors": np.ones((2, 3)), "label": ["F"]}, "examples of a user have shapes"),
        ({"vectors": np.ones((1, 3)), "label": [["F"]]}, "not one dimension"),
        ({"vectors": np.ones((1, 3)), "sex": ["F"]}, "expected vectors and label"),
        ({"vectors": np.ones((1, 3)), "label": np.array(["F"], dtype=object)}, "cannot be read"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, content, reason):
    np.savez(tmp_path / "a.npz", **content)
    with pytest.raises(UsageError, match=reason):
        read_examples(tmp_path / "a.npz", TASK)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("0,1,2\n1,2,3\n")
    with pytest.raises(UsageError, match="no column 'label'"):
        read_examples(tmp_path / "a.csv", TASK)
    (tmp_path / "a.npz").write_text("no archive")
    with pytest.raises(UsageError, match="is not an NPZ of plain arrays"):
        read_examples(tmp_path / "a.npz", TASK)
    with pytest.raises(UsageError, match="No such file"):
        read_examples(tmp_path / "b.npz", TASK)
    with pytest.raises(UsageError, match=r"come from \.npz or \.csv"):
        read_examples(tmp_path / "a.txt", TASK)


def test_a_population_becomes_a_file_for_each_user(tmp_path):
    population = SyntheticPopulation(3, 4, 2)
    paths = write_examples(tmp_path, population)
    classes, inputs = shapes_of(paths)

    assert inputs == 4
    assert set(classes) <= set(population.classes)
    task = ClassifierTask(inputs=4, classes=population.classes)
    for user, path in enumerate(paths):
        mine = population.cohort(np.array([user]))
        assert np.array_equal(read_examples(path, task).vectors, mine.vectors)
        assert np.array_equal(read_examples(path, task).labels, mine.labels)


def test_files_without_examples_are_named(tmp_path):
    (tmp_path / "none.csv").write_text("label,0,1\n")
    with pytest.raises(UsageError, match=r"none\.csv: holds no examples"):
        shapes_of([tmp_path / "none.csv"])
    (tmp_path / "junk.npz").write_text("junk")
    with pytest.raises(UsageError, match=r"junk\.npz: is not an NPZ of plain arrays"):
        shapes_of([tmp_path / "junk.npz"])
