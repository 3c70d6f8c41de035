from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.evaluate.attributes.table import AttributeTable
from sordino.evaluate.embeddings.templates import Protected, align
from sordino.speaker.vectors import Vectors
from tests.evaluate.embeddings_of import made


def part(vectors: Vectors, rows: list[int]) -> Vectors:
    chosen = [tuple(names[row] for row in rows) for names in (vectors.keys, vectors.speakers)]
    return Vectors(chosen[0], chosen[0], chosen[1], vectors.vectors[rows])


def test_order_of_rows_does_not_matter():
    original = made(3, 2)
    turned = part(replace(original, vectors=-original.vectors), [5, 0, 3, 1, 4, 2])
    found = align(original, [Protected("turned", (turned, original))])
    assert list(found.systems) == ["original", "turned"]
    np.testing.assert_array_equal(found.systems["turned"][0], -original.vectors)
    np.testing.assert_array_equal(found.systems["turned"][1], original.vectors)


def test_keys_that_do_not_match():
    original = made(3, 2)
    less = part(original, [0, 2, 3, 5])
    with pytest.raises(UsageError, match=r"x: 2 of 6 vectors are missing, the first is s000/1"):
        align(original, [Protected("x", (original, less))])
    with pytest.raises(UsageError, match=r"x: 2 vectors have no original, the first is s000/1"):
        align(less, [Protected("x", (original,))])


def test_what_cannot_be_compared():
    original = made(2, 2)
    short = replace(original, vectors=original.vectors[:, :5])
    with pytest.raises(
        UsageError, match="x: has vectors of 5 numbers, and the original ones have 8"
    ):
        align(original, [Protected("x", (short,))])
    other = replace(original, speakers=("s001", *original.speakers[1:]))
    with pytest.raises(UsageError, match="x: s000/0 is of s001; the original is of s000"):
        align(original, [Protected("x", (other,))])
    for name in ("original", "x"):
        with pytest.raises(UsageError, match=f"two sets of vectors are named {name}"):
            align(original, [Protected("x", (original,)), Protected(name, (original,))])
    with pytest.raises(UsageError, match="x: there is no release"):
        align(original, [Protected("x", ())])
    with pytest.raises(UsageError, match="original: there are no vectors"):
        align(part(original, []), [])


@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "hold NaN or infinity"), (0.0, "have length 0")]
)
def test_vectors_that_are_none(value, message):
    original = made(2, 2)
    spoilt = original.vectors.copy()
    spoilt[2:] = value
    with pytest.raises(UsageError, match=f"x: 2 vectors {message}, the first is s001/0"):
        align(original, [Protected("x", (replace(original, vectors=spoilt),))])


def test_a_table_may_name_speakers():
    original = replace(made(2, 1), speakers=("", "s001"))
    rows = {key: {"key": key, "speaker": "eve"} for key in original.keys}
    table = AttributeTable("t.csv", True, ("key", "speaker"), rows, {})
    assert align(original, [], table).speakers.tolist() == ["eve", "s001"]
    assert align(original, []).speakers.tolist() == ["", "s001"]
