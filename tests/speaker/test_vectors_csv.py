from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.speaker.vectors import Vectors
from sordino.speaker.vectors_csv import holds_vectors, read_csv, write_csv
from sordino.speaker.vectors_files import is_vectors_file, read_vectors, write_vectors


def test_a_table_for_other_programs(tmp_path):
    rows = np.array([[0.1, -1e-20, 3e10], [1 / 3, 0, -0.0]], dtype=np.float32)
    given = Vectors(("a/1", "ä,2"), ("a/1.wav", ""), ("a", ""), rows, "tiny", "ab")
    write_vectors(given, tmp_path / "out.csv", "csv", tmp_path)
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert list(table[0]) == ["key", "path", "speaker", "encoder", "digest", "0", "1", "2"]
    assert table[1]["key"] == "ä,2"
    assert {(row["encoder"], row["digest"]) for row in table} == {("tiny", "ab")}
    found = np.float32([[row[str(n)] for n in range(3)] for row in table])
    assert found.tobytes() == rows.tobytes()
    assert read_vectors(tmp_path / "out.csv").vectors.tobytes() == rows.tobytes()


def test_the_table_of_another_program():
    # Columns in any order, and more than are known.
    found = read_csv(io.StringIO("1,score,speaker,0\n2,9,ann,-1\n4,9,bob,3e0\n"))
    assert (found.keys, found.speakers, found.digest) == (("1", "2"), ("ann", "bob"), "")
    np.testing.assert_array_equal(found.vectors, [[-1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no columns named 0, 1, 2"),
        ("path,speaker\na.wav,ann\n", "no columns named 0, 1, 2"),
        ("0,2\n1,2\n", "no columns named 0, 1, 2"),
        ("0,0\n1,2\n", "no columns named 0, 1, 2"),
        ("0,1\n1,2\n1\n", "row 2: not all of its numbers can be read"),
        ("0,1\n1,one\n", "row 1: not all of its numbers can be read"),
        ("key,0\na,1\na,2\n", "two vectors have the same key"),
        ("digest,0\naa,1\nbb,2\n", "of several encoders"),
        ('0,1\n1,"2\n', "row 1: "),
    ],
)
def test_what_is_no_table_of_vectors(tmp_path, text, message):
    (tmp_path / "in.csv").write_text(text)
    with pytest.raises(UsageError, match=message):
        read_vectors(tmp_path / "in.csv")


def test_numbers_have_to_be_finite(tmp_path):
    (tmp_path / "in.csv").write_text("0,1\n1,nan\n")
    with pytest.raises(UsageError, match="not finite"):
        read_vectors(tmp_path / "in.csv")


def test_a_list_of_recordings_holds_no_vectors(tmp_path):
    (tmp_path / "manifest.csv").write_text("path,speaker\na.wav,ann\n")
    (tmp_path / "vectors.CSV").write_text("key,0,1\na,1,2\n")
    assert not holds_vectors(tmp_path / "manifest.csv")
    assert not is_vectors_file(tmp_path / "missing.csv")
    assert not is_vectors_file(tmp_path)
    assert is_vectors_file(tmp_path / "vectors.CSV")
    assert is_vectors_file(tmp_path / "vectors.h5")


def test_no_rows():
    some = Vectors((), (), (), np.empty((0, 2), np.float32), "tiny", "ab")
    text = io.StringIO()
    write_csv(some, text)
    assert read_csv(io.StringIO(text.getvalue())).vectors.shape == (0, 2)
